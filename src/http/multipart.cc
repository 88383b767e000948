#include "http/multipart.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text_encoding.h"
#include "base/utf8.h"
#include "http/headers.h"

namespace windrow::http {
namespace {

constexpr size_t kBoundaryBytesMax = 70;

// Whether this may be between a boundary and its line end.
constexpr size_t kPaddingMax = 128;

std::string_view trimmed_part(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Takes the next parameter, `; name=value` or `; name="value"`, from the front of `rest`; false:
// there is none. A quoted value has a backslash before quotes and backslashes.
bool next_parameter(std::string_view& rest, std::string_view& name, std::string& value) {
  const size_t begin = rest.find_first_not_of("; \t");
  if (begin == std::string_view::npos) return false;
  rest.remove_prefix(begin);
  const size_t sign = rest.find_first_of("=;");
  if (sign == std::string_view::npos || rest[sign] == ';') {
    name = trimmed_part(rest.substr(0, sign));
    value.clear();
    rest.remove_prefix(std::min(rest.size(), name.size()));
    return !name.empty();
  }
  name = trimmed_part(rest.substr(0, sign));
  rest.remove_prefix(sign + 1);
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
  value.clear();
  if (!rest.starts_with('"')) {
    const size_t end = std::min(rest.size(), rest.find(';'));
    value = trimmed_part(rest.substr(0, end));
    rest.remove_prefix(end);
    return true;
  }
  size_t i = 1;
  for (; i < rest.size() && rest[i] != '"'; ++i) {
    const bool escapes =
        rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\');
    if (escapes) ++i;
    value += rest[i];
  }
  rest.remove_prefix(std::min(rest.size(), i + 1));
  return true;
}

// "UTF-8'en'na%C3%AFve.jsonl" (RFC 8187): how clients write a text that is not ASCII. Nothing: it
// is in another encoding.
std::optional<std::string> extended_text(std::string_view value) {
  const size_t encoding = std::min(value.size(), value.find('\''));
  const size_t language = value.find('\'', std::min(value.size(), encoding + 1));
  if (language == std::string_view::npos) return std::nullopt;
  if (!same_ignoring_case(value.substr(0, encoding), "UTF-8")) return std::nullopt;
  return utf8_repair(percent_decoded(value.substr(language + 1)));
}

// "form-data; name=..." -> the rest behind the type; nothing: it is another type.
std::optional<std::string_view> parameters_of(std::string_view value, std::string_view type) {
  const size_t end = std::min(value.size(), value.find(';'));
  if (!same_ignoring_case(trimmed_part(value.substr(0, end)), type)) return std::nullopt;
  return value.substr(end);
}

// Nothing: it names no field.
std::optional<PartHead> read_head(std::string_view text) {
  PartHead head;
  bool named = false;
  while (!text.empty()) {
    const size_t end = std::min(text.size(), text.find("\r\n"));
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 2));
    const size_t colon = std::min(line.size(), line.find(':'));
    const std::string_view field = trimmed_part(line.substr(0, colon));
    const std::string_view value = trimmed_part(line.substr(std::min(line.size(), colon + 1)));
    if (same_ignoring_case(field, "Content-Type")) head.content_type = value;
    if (!same_ignoring_case(field, "Content-Disposition")) continue;
    std::optional<std::string_view> rest = parameters_of(value, "form-data");
    std::string_view name;
    std::string of_name;
    std::optional<std::string> extended;
    while (rest && next_parameter(*rest, name, of_name)) {
      if (same_ignoring_case(name, "name")) {
        head.name = of_name;
        named = true;
      }
      if (same_ignoring_case(name, "filename")) head.filename = of_name;
      if (same_ignoring_case(name, "filename*")) extended = extended_text(of_name);
    }
    if (extended) head.filename = std::move(extended);
  }
  return named ? std::optional(std::move(head)) : std::nullopt;
}

}  // namespace

MultipartReader::MultipartReader(std::string boundary, MultipartLimits limits)
    : boundary_(std::move(boundary)), limits_(limits), kept_("\r\n") {}

Result<MultipartReader> MultipartReader::of(std::string_view content_type, MultipartLimits limits) {
  std::optional<std::string_view> rest = parameters_of(content_type, "multipart/form-data");
  if (!rest) {
    return Error{ErrorKind::kInvalid,
                 "the Content-Type must be multipart/form-data with a boundary"};
  }
  std::string_view name;
  std::string value;
  while (next_parameter(*rest, name, value)) {
    if (!same_ignoring_case(name, "boundary")) continue;
    if (value.empty() || value.size() > kBoundaryBytesMax) break;
    return MultipartReader("\r\n--" + value, limits);
  }
  return Error{
      ErrorKind::kInvalid,
      fmt::format("the Content-Type names no boundary of 1 to {} characters", kBoundaryBytesMax)};
}

Result<void> MultipartReader::feed(std::string_view bytes, PartSink& sink) {
  if (failed_) return *failed_;
  kept_ += bytes;
  size_t taken = 0;
  Result<bool> goes_on = true;
  while (goes_on && *goes_on)
    goes_on = step(taken, sink);
  kept_.erase(0, taken);
  at_ += taken;
  if (goes_on) return {};
  failed_ = goes_on.error();
  return *failed_;
}

Error MultipartReader::fault(std::string_view what, size_t taken) const {
  const uint64_t place = at_ + taken;
  return Error{ErrorKind::kInvalid, fmt::format("the form is no multipart/form-data: {} at byte {}",
                                                what, place > 2 ? place - 2 : 0)};
}

// One step further in what is kept, behind `taken`. False: more bytes are needed.
Result<bool> MultipartReader::step(size_t& taken, PartSink& sink) {
  const std::string_view left = std::string_view(kept_).substr(taken);
  const auto take = [&](size_t count) { taken += count; };
  switch (state_) {
    case State::kPreamble:
    case State::kBytes: {
      const size_t found = left.find(boundary_);
      const bool is_part = state_ == State::kBytes;
      // Keeps the possible beginning of a boundary.
      const size_t safe = found != std::string_view::npos   ? found
                          : left.size() >= boundary_.size() ? left.size() - boundary_.size() + 1
                                                            : 0;
      if (is_part && safe > 0) {
        if (Result<void> done = sink.bytes(left.substr(0, safe)); !done) return done.error();
      }
      take(safe);
      if (found == std::string_view::npos) return false;
      if (is_part) {
        if (Result<void> done = sink.end(); !done) return done.error();
      }
      take(boundary_.size());
      state_ = State::kAfterBoundary;
      return true;
    }
    case State::kAfterBoundary: {
      if (left.size() < 2) return false;
      if (left.starts_with("--")) {
        state_ = State::kEpilogue;
        return true;
      }
      const size_t end = left.find("\r\n");
      const std::string_view padding = left.substr(0, std::min(end, left.size() - 1));
      if (padding.find_first_not_of(" \t") != std::string_view::npos ||
          padding.size() > kPaddingMax)
        return fault("there is text behind a boundary", taken);
      if (end == std::string_view::npos) return false;
      // The line end stays: a head may be empty, and then ends with the next one.
      take(end);
      state_ = State::kHead;
      return true;
    }
    case State::kHead: {
      const size_t end = left.find("\r\n\r\n");
      if (std::min(end, left.size()) > limits_.head_bytes_max)
        return fault("a part has too long a head", taken);
      if (end == std::string_view::npos) return false;
      const std::optional<PartHead> head = read_head(left.substr(0, end));
      if (!head) return fault("a part has no name", taken);
      if (++parts_ > limits_.parts_max) return fault("it has too many parts", taken);
      if (Result<void> done = sink.begin(*head); !done) return done.error();
      take(end + 4);
      state_ = State::kBytes;
      return true;
    }
    case State::kEpilogue:
      break;
  }
  take(left.size());
  return false;
}

Result<void> MultipartReader::finish() {
  if (!failed_ && state_ != State::kEpilogue)
    failed_ = fault("it ends before its closing boundary", kept_.size());
  if (failed_) return *failed_;
  return {};
}

}  // namespace windrow::http
