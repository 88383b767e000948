#include "http/reply_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "http/limits.h"

namespace windrow::http {
namespace {

constexpr size_t kChunkLineBytesMax = 4096;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// A whole number and nothing else: no sign, no blanks.
std::optional<uint64_t> number(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The next line without its end, or nothing when it is not complete.
std::optional<std::string_view> take_line(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Where the empty line ends that ends a head, or npos.
size_t head_end(std::string_view bytes, size_t from) {
  for (size_t at = bytes.find('\n', from); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    const std::string_view rest = bytes.substr(at + 1);
    if (rest.starts_with('\n')) return at + 2;
    if (rest.starts_with("\r\n")) return at + 3;
  }
  return std::string_view::npos;
}

}  // namespace

ReplyReader::Event ReplyReader::next(std::string_view& bytes) {
  switch (part_) {
    case Part::kHead:
      return read_head(bytes);
    case Part::kLength:
      return take_piece(bytes, Part::kEnd);
    case Part::kUntilClose:
      if (bytes.empty()) return Event::kMore;
      piece_ = bytes;
      bytes = {};
      return Event::kBody;
    case Part::kChunkSize:
      return read_chunk_size(bytes);
    case Part::kChunk:
      return take_piece(bytes, Part::kChunkEnd);
    case Part::kChunkEnd:
      return read_chunk_end(bytes);
    case Part::kTrailer:
      return read_trailer(bytes);
    case Part::kEnd:
      return Event::kEnd;
  }
  return Event::kEnd;
}

ReplyReader::Event ReplyReader::read_head(std::string_view& bytes) {
  constexpr std::string_view kProtocol = "HTTP/1.";
  for (;;) {
    // Said early: what answers with something else may never send an empty line.
    const std::string_view start = bytes.substr(0, kProtocol.size());
    if (start != kProtocol.substr(0, start.size())) return bad("it does not begin with HTTP/1");
    const size_t end = head_end(bytes, searched_);
    if (std::min(end, bytes.size()) > kReplyHeadBytesMax) return Event::kHeadTooLarge;
    if (end == std::string_view::npos) {
      // The empty line may have begun: its line end and a carriage return.
      searched_ = bytes.size() < 2 ? 0 : bytes.size() - 2;
      return Event::kMore;
    }
    searched_ = 0;
    const std::string_view text = bytes.substr(0, end);
    bytes.remove_prefix(end);
    const Event event = read_fields(text);
    if (event != Event::kHead) return event;
    if (head_.status == 101) return bad("it changes to another protocol");
    if (head_.status >= 200) return choose_body();
  }
}

ReplyReader::Event ReplyReader::read_fields(std::string_view text) {
  const std::string_view status_line = take_line(text).value_or("");
  // "HTTP/1.1 200 OK": the reason may be missing, with its blank.
  const std::optional<uint64_t> status =
      status_line.size() >= 12 ? number(status_line.substr(9, 3), 10) : std::nullopt;
  if (!status || *status < 100 || status_line[8] != ' ' ||
      (status_line.size() > 12 && status_line[12] != ' ')) {
    return bad("its status line is broken");
  }
  head_.status = static_cast<int32_t>(*status);
  head_.version = status_line[7] == '0' ? HttpVersion::k1_0 : HttpVersion::k1_1;
  head_.headers.clear();
  while (const std::optional<std::string_view> line = take_line(text)) {
    if (line->empty()) break;
    const size_t colon = line->find(':');
    // A name followed by a blank, or a line that continues another: two readers may differ on it.
    if (colon == std::string_view::npos || !is_header_name(line->substr(0, colon))) {
      return bad("a line of its header is broken");
    }
    head_.headers.add(line->substr(0, colon), trimmed(line->substr(colon + 1)));
  }
  return Event::kHead;
}

ReplyReader::Event ReplyReader::choose_body() {
  std::optional<uint64_t> length;
  bool is_chunked = false;
  bool is_coded = false;
  bool wants_close = false;
  bool wants_keep = false;
  for (const Headers::Field field : head_.headers) {
    if (same_ignoring_case(field.name, "Content-Length")) {
      const std::optional<uint64_t> value = number(field.value, 10);
      if (!value || (length && *length != *value)) return bad("its Content-Length is broken");
      length = value;
    } else if (same_ignoring_case(field.name, "Transfer-Encoding")) {
      is_coded = true;
      is_chunked = same_ignoring_case(field.value, "chunked");
    } else if (same_ignoring_case(field.name, "Connection")) {
      wants_close = wants_close || list_has(field.value, "close");
      wants_keep = wants_keep || list_has(field.value, "keep-alive");
    }
  }
  keeps_ = !wants_close && (head_.version == HttpVersion::k1_1 || wants_keep);
  if (to_head_ || head_.status == 204 || head_.status == 304) {
    part_ = Part::kEnd;
  } else if (is_coded) {
    if (!is_chunked) return bad("its Transfer-Encoding is not known");
    // Both lengths at once are how one reply is smuggled into another: never go on behind it.
    if (length) keeps_ = false;
    part_ = Part::kChunkSize;
  } else if (length) {
    left_ = *length;
    part_ = left_ == 0 ? Part::kEnd : Part::kLength;
  } else {
    keeps_ = false;
    part_ = Part::kUntilClose;
  }
  return Event::kHead;
}

ReplyReader::Event ReplyReader::take_piece(std::string_view& bytes, Part after) {
  if (bytes.empty()) return Event::kMore;
  piece_ = bytes.substr(0, left_);
  bytes.remove_prefix(piece_.size());
  left_ -= piece_.size();
  if (left_ == 0) part_ = after;
  return Event::kBody;
}

ReplyReader::Event ReplyReader::read_chunk_size(std::string_view& bytes) {
  const std::optional<std::string_view> line = take_line(bytes);
  if (!line) return bytes.size() > kChunkLineBytesMax ? Event::kHeadTooLarge : Event::kMore;
  // An extension may follow; nobody uses them.
  const std::optional<uint64_t> size = number(trimmed(line->substr(0, line->find(';'))), 16);
  if (!size) return bad("the size of a chunk is broken");
  left_ = *size;
  part_ = left_ == 0 ? Part::kTrailer : Part::kChunk;
  return next(bytes);
}

ReplyReader::Event ReplyReader::read_chunk_end(std::string_view& bytes) {
  if (bytes.empty() || bytes == "\r") return Event::kMore;
  if (!bytes.starts_with("\r\n") && !bytes.starts_with('\n')) return bad("a chunk has no end");
  bytes.remove_prefix(bytes.front() == '\r' ? 2 : 1);
  part_ = Part::kChunkSize;
  return next(bytes);
}

ReplyReader::Event ReplyReader::read_trailer(std::string_view& bytes) {
  while (const std::optional<std::string_view> line = take_line(bytes)) {
    if (line->empty()) {
      part_ = Part::kEnd;
      return Event::kEnd;
    }
    trailer_bytes_ += line->size();
    if (trailer_bytes_ > kReplyHeadBytesMax) return Event::kHeadTooLarge;
  }
  return bytes.size() > kReplyHeadBytesMax ? Event::kHeadTooLarge : Event::kMore;
}

}  // namespace windrow::http
