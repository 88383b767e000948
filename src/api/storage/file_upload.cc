#include "api/storage/file_upload.h"

#include <fmt/format.h>

#include <charconv>
#include <new>
#include <utility>
#include <variant>

#include "api/wire/refusals.h"
#include "batches/reply.h"
#include "llm/field_values.h"

namespace windrow::api {
namespace {

// Bounds a field of the form that is not the file.
constexpr size_t kFieldBytesMax = 1024;

// A form may be this much larger than the file in it.
constexpr int64_t kFormBytesMax = int64_t{1} << 20;

// For the log: the client left in the middle.
constexpr int kUploadAborted = 499;

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

void FileUpload::start(std::shared_ptr<StorageRequest> request, const http::ServerRequest& head,
                       http::RequestBody body, batches::FileStore& files,
                       async::Executor& workers) {
  // A file that announces itself as too large is refused before it is sent.
  int64_t announced = 0;
  const std::string_view length = head.headers.get("Content-Length").value_or("");
  std::from_chars(length.data(), length.data() + length.size(), announced);
  if (const auto failure = files.refuse_bytes(announced - kFormBytesMax))
    return request->answer(*failure);
  Result<http::MultipartReader> reader = http::MultipartReader::of(request->content_type);
  if (!reader) return request->answer(batches::invalid(reader.error().message, "Content-Type"));
  std::make_shared<FileUpload>(std::move(request), std::move(body), *std::move(reader), files,
                               workers)
      ->ask_for_more();
}

FileUpload::FileUpload(std::shared_ptr<StorageRequest> request, http::RequestBody body,
                       http::MultipartReader reader, batches::FileStore& files,
                       async::Executor& workers)
    : request_(std::move(request)),
      body_(std::move(body)),
      reader_(std::move(reader)),
      form_(files),
      workers_(workers) {}

void FileUpload::ask_for_more() {
  body_.next([self = shared_from_this()](http::BodyPiece piece) mutable {
    // The last piece waits until everything is safe on the disk.
    const auto length = piece.state == http::BodyPiece::State::kEnd
                            ? async::Executor::Length::kLong
                            : async::Executor::Length::kShort;
    async::Executor& workers = self->workers_;
    workers.post([self = std::move(self), piece = std::move(piece)] { self->take(piece); }, length);
  });
}

void FileUpload::take(const http::BodyPiece& piece) {
  try {
    take_piece(piece);
  } catch (const std::bad_alloc&) {
    request_->answer(no_memory("for this"));
  }
}

// Without finish() the form removes what it wrote when it is destroyed.
void FileUpload::take_piece(const http::BodyPiece& piece) {
  RequestRecord& record = request_->context.record();
  if (piece.state == http::BodyPiece::State::kBroken) {
    record.status = piece.status != 0 ? piece.status : kUploadAborted;
    return;
  }
  record.body_bytes += piece.bytes.size();
  Result<void> read = reader_.feed(piece.bytes, form_);
  if (read && piece.state == http::BodyPiece::State::kMore) return ask_for_more();
  if (read) read = reader_.finish();
  request_->answer(read ? reply_of(form_.finish(request_->viewer()))
                        : StorageAnswer(form_.failure(read.error())));
}

}  // namespace windrow::api
