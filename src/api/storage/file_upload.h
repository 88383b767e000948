// FileUpload: a file on its way from a client to the disk. The client is read no faster than the
// disk writes: the next piece is asked for when the one before has been written, so an upload takes
// little memory however large it is.
//
// FileForm: the multipart form around it, part by part:
//   purpose, expires_after[anchor], expires_after[seconds], file; in any order
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/storage/storage_request.h"
#include "async/executor.h"
#include "batches/file_store.h"
#include "http/multipart.h"
#include "http/server.h"
#include "llm/answer.h"

namespace windrow::api {

// Used by one thread at a time. `files` outlives it. A form that is not finished leaves nothing
// behind.
class FileForm final : public http::PartSink {
 public:
  explicit FileForm(batches::FileStore& files) : files_(files) {}

  // After an error failure() says why in the terms of the API.
  Result<void> begin(const http::PartHead& head) override;
  Result<void> bytes(std::string_view bytes) override;
  Result<void> end() override;

  // The form is complete.
  batches::Reply<batches::StoredFile> finish(const batches::Viewer& owner);

  // Why the form could not be read; `error` is what its reader returned.
  llm::Failure failure(const Error& error) const;

 private:
  Result<void> refuse(llm::Failure failure);

  batches::FileStore& files_;
  std::unique_ptr<batches::FileStore::Upload> upload_;
  batches::UploadForm form_;
  std::string* field_ = nullptr;  // of the current part; null: it is the file
  std::optional<llm::Failure> failure_;
};

class FileUpload : public std::enable_shared_from_this<FileUpload> {
 public:
  // Takes the upload from its head on: on the loop's thread, once it is admitted. Answers at once
  // if the announced size is too large or the Content-Type is no form; otherwise when the file is
  // safe on disk. `files` and `workers` outlive the request.
  static void start(std::shared_ptr<StorageRequest> request, const http::ServerRequest& head,
                    http::RequestBody body, batches::FileStore& files, async::Executor& workers);

  // For start().
  FileUpload(std::shared_ptr<StorageRequest> request, http::RequestBody body,
             http::MultipartReader reader, batches::FileStore& files, async::Executor& workers);

 private:
  void ask_for_more();
  void take(const http::BodyPiece& piece);        // on a worker
  void take_piece(const http::BodyPiece& piece);  // on a worker

  const std::shared_ptr<StorageRequest> request_;
  http::RequestBody body_;
  http::MultipartReader reader_;
  FileForm form_;
  async::Executor& workers_;
};

}  // namespace windrow::api
