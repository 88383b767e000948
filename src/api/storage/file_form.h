// FileForm: the form of an upload, part by part, on its way into a FileStore.
//
//   purpose, expires_after[anchor], expires_after[seconds], file; in any order
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "batches/file_store.h"
#include "http/multipart.h"
#include "llm/answer.h"

namespace windrow::api {

// Used by one thread at a time. `files` outlives it. What is not finished leaves nothing behind.
class FileForm final : public http::PartSink {
 public:
  explicit FileForm(batches::FileStore& files) : files_(files) {}

  // Where one fails, failure() says why in the words of the API.
  Result<void> begin(const http::PartHead& head) override;
  Result<void> bytes(std::string_view bytes) override;
  Result<void> end() override;

  // The form is whole.
  batches::Reply<batches::StoredFile> finish(const batches::Viewer& owner);

  // Of a form that could not be read on: `error` is what its reader said.
  llm::Failure failure(const Error& error) const;

 private:
  Result<void> refuse(llm::Failure failure);

  batches::FileStore& files_;
  std::unique_ptr<batches::FileStore::Upload> upload_;
  batches::UploadForm form_;
  std::string* field_ = nullptr;  // of the part that comes; null: it is the file
  std::optional<llm::Failure> failure_;
};

}  // namespace windrow::api
