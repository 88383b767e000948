#include "batch/log_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cstring>
#include <optional>

#include "batch/result_line.h"
#include "batch/row.h"
#include "json/parse.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

constexpr size_t kLogReadBytes = size_t{1} << 16;

}  // namespace

Result<std::optional<std::string_view>> LogLines::next() {
  for (;;) {
    const char* const found = searched_ == end_
                                  ? nullptr
                                  : static_cast<const char*>(std::memchr(buffer_.data() + searched_,
                                                                         '\n', end_ - searched_));
    if (found != nullptr) {
      const std::string_view line(buffer_.data() + begin_,
                                  static_cast<size_t>(found - buffer_.data()) - begin_);
      begin_ += line.size() + 1;
      searched_ = begin_;
      offset_ += line.size() + 1;
      return std::optional(line);
    }
    // Returned lines are dropped here, so that bytes move once a block and not once a line.
    if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    searched_ = end_;
    if (buffer_.size() - end_ < kLogReadBytes) {
      buffer_.resize(buffer_.empty() ? 2 * kLogReadBytes : buffer_.size() * 2);
    }
    const auto got = file_.read_at(offset_ + end_, buffer_.data() + end_, buffer_.size() - end_);
    if (!got) return got.error();
    if (*got == 0) return std::optional<std::string_view>();
    end_ += *got;
  }
}

namespace {

// No server has a greater one.
constexpr uint64_t kStatusMax = 999;

Error not_ours(const std::string& path, uint64_t number, std::string_view why) {
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{}: line {} is not one that Windrow wrote there ({}); nothing was changed. Take "
                  "the line out, so that its row runs again, or put back what was there before it "
                  "was edited; or give another output with -o; or use --fresh, which keeps the "
                  "file under another name and starts over",
                  path, number, why)};
}

const json::object* member_object(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

bool read_count(const json::object& object, std::string_view name, uint64_t& count) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return false;
  count = static_cast<uint64_t>(value->get_int64());
  return true;
}

// To name the row of a line that another version wrote.
constexpr size_t kStrayDepthMax = 4096;

// Empty when it has none that can be used.
std::string_view custom_id_in(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* id = object == nullptr ? nullptr : object->if_contains("custom_id");
  return id != nullptr && id->is_string() ? std::string_view(id->get_string()) : std::string_view();
}

// A torn end may be any beginning of a line, with blocks in it that never reached the disk: those
// read as zeros, which no line of ours holds.
bool may_be_torn(std::string_view tail) {
  const std::string_view begin = tail.substr(0, tail.find('\0'));
  return begin.starts_with(kLineStart.substr(0, std::min(begin.size(), kLineStart.size())));
}

}  // namespace

std::optional<std::string_view> read_log_line(const json::value& value, LogKind kind,
                                              LogLine& line) {
  const json::object* object = value.if_object();
  if (object == nullptr) return "it is not a JSON object";
  const json::object* windrow = member_object(*object, "windrow");
  const json::value* custom_id = object->if_contains("custom_id");
  const json::value* response = object->if_contains("response");
  const json::value* error = object->if_contains("error");
  if (windrow == nullptr) return "it has no object \"windrow\"";
  if (custom_id == nullptr || response == nullptr || error == nullptr) {
    return "it lacks custom_id, response or error";
  }
  const json::value* fingerprint = windrow->if_contains("fingerprint");
  if (!read_count(*windrow, "line", line.input_line) || fingerprint == nullptr ||
      !fingerprint->is_string() || !parse_hex64(fingerprint->get_string(), line.fingerprint)) {
    return "its object \"windrow\" lacks line or fingerprint";
  }
  if (custom_id->is_string()) line.custom_id = custom_id->get_string();
  uint64_t status = 0;
  if (response->is_object() && read_count(response->get_object(), "status_code", status)) {
    line.status = static_cast<int32_t>(std::min<uint64_t>(status, kStatusMax));
  }
  if (const json::object* failure = error->if_object()) {
    const json::value* code = failure->if_contains("code");
    if (code != nullptr && code->is_string()) line.code = code->get_string();
  }
  if (kind == LogKind::kResults && !error->is_null()) return "it is an error among results";
  if (kind == LogKind::kErrors && !error->is_object()) return "it is a result among errors";
  const json::value* row = windrow->if_contains("row");
  const bool of_row = row != nullptr && row->is_bool() && row->get_bool();
  if (kind == LogKind::kErrors && response->is_null() && !of_row) {
    line.of_line = true;
    line.identity = line_identity(line.input_line, line.fingerprint);
    return std::nullopt;
  }
  if (line.custom_id.empty()) return "it has no custom_id";
  line.identity = row_identity(line.custom_id);
  return std::nullopt;
}

Result<LogScan> scan_log(store::ReadFile& file, const std::string& path, LogKind kind,
                         const LogVisit& each, uint64_t begin, const StrayVisit& stray) {
  LogScan scan{.whole_bytes = begin};
  LogLines lines(file, begin);
  JsonLineParser parsed;
  uint64_t number = 0;
  for (;;) {
    const auto text = lines.next();
    if (!text) return text.error();
    if (!*text) break;
    LogLine line;
    line.number = ++number;
    line.offset = scan.whole_bytes;
    line.size = (*text)->size() + 1;
    scan.whole_bytes = lines.offset();
    const json::value* value = parsed.parse(**text);
    std::optional<std::string_view> why;
    if (value != nullptr) {
      why = read_log_line(*value, kind, line);
    } else if (parsed.too_deep()) {
      value = parsed.parse(**text, kStrayDepthMax);
      why = "it is nested too deep";
    }
    if (value == nullptr) return not_ours(path, number, "it is not JSON");
    if (!why) {
      if (auto done = each(line); !done) return done.error();
      ++scan.lines;
      continue;
    }
    line.custom_id = custom_id_in(*value);
    if (!stray || line.custom_id.empty()) return not_ours(path, number, *why);
    stray(line, *why);
  }
  if (!may_be_torn(lines.torn())) {
    return not_ours(path, number + 1, "it does not begin like one");
  }
  scan.torn_bytes = lines.torn().size();
  return scan;
}

}  // namespace windrow::batch
