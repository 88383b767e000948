#include "api/storage/file_form.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "batches/reply.h"
#include "llm/field_values.h"

namespace windrow::api {
namespace {

// Of what is no file.
constexpr size_t kFieldBytesMax = 1024;

}  // namespace

Result<void> FileForm::refuse(llm::Failure failure) {
  failure_ = std::move(failure);
  return Error{ErrorKind::kInvalid, failure_->message};
}

Result<void> FileForm::begin(const http::PartHead& head) {
  if (head.name == "file") {
    if (upload_) return refuse(batches::invalid("the form has two files; send one", "file"));
    auto begun = files_.begin_upload();
    if (auto* failure = std::get_if<llm::Failure>(&begun)) return refuse(std::move(*failure));
    upload_ = std::get<std::unique_ptr<batches::FileStore::Upload>>(std::move(begun));
    form_.filename = head.filename.value_or("");
    field_ = nullptr;
    return {};
  }
  if (head.name == "purpose") {
    field_ = &form_.purpose;
  } else if (head.name == "expires_after[anchor]") {
    field_ = &form_.expires_anchor.emplace();
  } else if (head.name == "expires_after[seconds]") {
    field_ = &form_.expires_seconds.emplace();
  } else {
    return refuse(batches::invalid(
        fmt::format("the form of a file has no field \"{}\"", llm::shown(head.name)),
        llm::shown(head.name)));
  }
  field_->clear();
  return {};
}

Result<void> FileForm::bytes(std::string_view bytes) {
  if (field_ != nullptr) {
    if (field_->size() + bytes.size() > kFieldBytesMax)
      return refuse(batches::invalid("a field of the form is too long", ""));
    *field_ += bytes;
    return {};
  }
  auto appended = upload_->append(bytes);
  if (auto* failure = std::get_if<llm::Failure>(&appended)) return refuse(std::move(*failure));
  return {};
}

Result<void> FileForm::end() {
  return {};
}

batches::Reply<batches::StoredFile> FileForm::finish(const batches::Viewer& owner) {
  if (!upload_)
    return batches::invalid("the form has no field \"file\" with the requests in it", "file");
  return upload_->finish(owner, form_);
}

llm::Failure FileForm::failure(const Error& error) const {
  return failure_ ? *failure_ : batches::invalid(error.message, "");
}

}  // namespace windrow::api
