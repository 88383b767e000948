#include "api/storage/file_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>
#include <variant>

#include "api/wire/error_reply.h"
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

// How much of a file is in memory for one client.
constexpr size_t kPieceBytes = size_t{256} << 10;

// Nothing: it is no number. One too large to count counts as the largest.
std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

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
                        : PartAnswer(form_.failure(read.error())));
}

WantedRange wanted_range(const std::optional<std::string_view>& header, uint64_t size) {
  const WantedRange whole{.kind = RangeKind::kWhole, .range = {0, size}};
  constexpr std::string_view kUnit = "bytes=";
  if (!header || !header->starts_with(kUnit)) return whole;
  const std::string_view asked = header->substr(kUnit.size());
  const size_t dash = asked.find('-');
  if (dash == std::string_view::npos || asked.find(',') != std::string_view::npos) return whole;
  const std::string_view first = asked.substr(0, dash);
  const std::string_view last = asked.substr(dash + 1);
  const std::optional<uint64_t> from = number(first);
  const std::optional<uint64_t> to = number(last);
  WantedRange part{.kind = RangeKind::kPart, .range = {}};
  if (first.empty()) {
    if (!to) return whole;
    part.range = {size - std::min(size, *to), size};
  } else {
    if (!from || (!to && !last.empty()) || (to && *to < *from)) return whole;
    part.range = {*from, to && *to < size ? *to + 1 : size};
  }
  if (part.range.begin >= part.range.end) part.kind = RangeKind::kNone;
  return part;
}

std::string content_range(const WantedRange& wanted, uint64_t size) {
  if (wanted.kind == RangeKind::kNone) return fmt::format("bytes */{}", size);
  return fmt::format("bytes {}-{}/{}", wanted.range.begin, wanted.range.end - 1, size);
}

void FileDownload::start(const std::shared_ptr<StorageRequest>& request, batches::FileStore& files,
                         async::Executor& workers) {
  auto opened = files.open_content(request->viewer(), request->id);
  if (const auto* failure = std::get_if<llm::Failure>(&opened)) return request->answer(*failure);
  auto& content = std::get<batches::FileContent>(opened);
  const auto size = static_cast<uint64_t>(content.file.bytes);
  const WantedRange wanted = wanted_range(request->range, size);
  if (wanted.kind == RangeKind::kNone) {
    http::ServerReply reply = error_reply(llm::Failure{
        .status = 416,
        .code = "range_not_satisfiable",
        .message =
            fmt::format("the Range begins after the end of the file, which has {} bytes", size)});
    request->context.record().code = "range_not_satisfiable";
    reply.headers.add("Content-Range", content_range(wanted, size));
    return request->answer(std::move(reply));
  }
  http::Headers headers{{"Content-Type", "application/octet-stream"}, {"Accept-Ranges", "bytes"}};
  if (wanted.kind == RangeKind::kPart) headers.add("Content-Range", content_range(wanted, size));
  std::make_shared<FileDownload>(request, std::move(content), wanted.range, workers)
      ->send_head(wanted.kind == RangeKind::kPart ? 206 : 200, std::move(headers));
}

FileDownload::FileDownload(std::shared_ptr<StorageRequest> request, batches::FileContent content,
                           ByteRange range, async::Executor& workers)
    : request_(std::move(request)), content_(std::move(content)), left_(range), workers_(workers) {}

void FileDownload::send_head(int status, http::Headers headers) {
  request_->context.record().status = status;
  request_->context.add_headers(headers);
  request_->exchange.start(status, std::move(headers), left_.end - left_.begin);
  if (request_->head_only) return request_->exchange.finish();
  send_next();
}

void FileDownload::send_next() {
  try {
    send_piece();
  } catch (const std::bad_alloc&) {
    request_->exchange.reset();  // the answer has begun
  }
}

void FileDownload::send_piece() {
  std::string piece(static_cast<size_t>(std::min<uint64_t>(kPieceBytes, left_.end - left_.begin)),
                    '\0');
  const Result<size_t> read = content_.bytes->read_at(left_.begin, piece.data(), piece.size());
  // The file was cut after it was opened; the answer, which promised more, is cut as well.
  if (!read || *read < piece.size()) return request_->exchange.reset();
  left_.begin += piece.size();
  request_->exchange.write(std::move(piece));
  if (left_.begin == left_.end) return request_->exchange.finish();
  // If the client leaves, this is destroyed with the exchange.
  request_->exchange.on_drained(
      0, [self = shared_from_this()] { self->workers_.post([self] { self->send_next(); }); });
}

}  // namespace windrow::api
