#include "api/storage/file_download.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>
#include <variant>

#include "api/wire/error_reply.h"

namespace windrow::api {
namespace {

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
