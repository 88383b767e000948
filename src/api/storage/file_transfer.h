// Files on their way between clients and the disk, piece by piece, so that a transfer takes little
// memory however large the file is.
//
// FileUpload: the client is read no faster than the disk writes: the next piece is asked for when
// the one before has been written.
//
// FileDownload: the file is read no faster than the client takes it: the next piece is read when
// the one before has been taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/storage/storage_request.h"
#include "async/executor.h"
#include "batches/file_store.h"
#include "http/headers.h"
#include "http/multipart.h"
#include "http/server.h"
#include "llm/answer.h"

namespace windrow::api {

// FileForm: the multipart form around an upload, part by part:
//   purpose, expires_after[anchor], expires_after[seconds], file; in any order
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

// --- the part of a file that the header Range asks for (RFC 9110, section 14); pure ---

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // one behind the last

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

enum class RangeKind : uint8_t {
  kWhole,  // none is asked for, or what is asked for is passed over: several at once, other units
  kPart,
  kNone,  // it begins behind the end: 416
};

struct WantedRange {
  RangeKind kind = RangeKind::kWhole;
  ByteRange range;

  friend bool operator==(const WantedRange&, const WantedRange&) = default;
};

// "bytes=0-499", "bytes=500-", "bytes=-500" of so many.
WantedRange wanted_range(const std::optional<std::string_view>& header, uint64_t size);

// "bytes 0-499/1234"; for kNone "bytes */1234".
std::string content_range(const WantedRange& wanted, uint64_t size);

class FileDownload : public std::enable_shared_from_this<FileDownload> {
 public:
  // Opens the file that the request names and begins to send it; on a worker. Answers 404 or 416 if
  // there is nothing to send. `files` and `workers` outlive the request.
  static void start(const std::shared_ptr<StorageRequest>& request, batches::FileStore& files,
                    async::Executor& workers);

  // For start().
  FileDownload(std::shared_ptr<StorageRequest> request, batches::FileContent content,
               ByteRange range, async::Executor& workers);

 private:
  void send_head(int status, http::Headers headers);
  void send_next();
  void send_piece();

  const std::shared_ptr<StorageRequest> request_;
  batches::FileContent content_;
  ByteRange left_;
  async::Executor& workers_;
};

}  // namespace windrow::api
