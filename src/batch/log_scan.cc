#include "batch/log_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstring>
#include <optional>
#include <vector>

#include "batch/result_line.h"
#include "batch/row.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

constexpr size_t kReadBytes = size_t{1} << 16;

// Deeper than any line of ours.
constexpr size_t kDepthMax = 32;

Error not_ours(const std::string& path, uint64_t number, std::string_view why) {
  return Error{
      ErrorKind::kInvalid,
      fmt::format("{}: line {} is not one that Windrow wrote there ({}); nothing was changed. Give "
                  "another output with -o, or put back what was there before it was edited, or use "
                  "--fresh, which keeps the file under another name and starts over",
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

// Fills what the JSON says; the reason when it is not a line of this kind of log.
std::optional<std::string_view> read_line(const json::value& value, LogKind kind, LogLine& line) {
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
  if (kind == LogKind::kResults && !error->is_null()) return "it is an error among results";
  if (kind == LogKind::kErrors && !error->is_object()) return "it is a result among errors";
  if (kind == LogKind::kErrors && response->is_null()) {
    line.identity = line_identity(line.input_line, line.fingerprint);
    return std::nullopt;
  }
  if (line.custom_id.empty()) return "it has no custom_id";
  line.identity = row_identity(line.custom_id);
  return std::nullopt;
}

// A torn end may be any beginning of a line, with blocks in it that never reached the disk: those
// read as zeros, which no line of ours holds.
bool may_be_torn(std::string_view tail) {
  const std::string_view begin = tail.substr(0, tail.find('\0'));
  return begin.starts_with(kLineStart.substr(0, std::min(begin.size(), kLineStart.size())));
}

}  // namespace

Result<LogScan> scan_log(store::ReadFile& file, const std::string& path, LogKind kind,
                         const std::function<Result<void>(const LogLine&)>& each) {
  LogScan scan;
  std::vector<char> buffer(kReadBytes);
  std::array<unsigned char, size_t{1} << 14> arena = {};
  json::parse_options options;
  options.max_depth = kDepthMax;
  size_t held = 0;      // bytes in the buffer, the first of which is at scan.whole_bytes
  size_t searched = 0;  // of these, known to hold no line end
  for (;;) {
    const char* const found =
        static_cast<const char*>(std::memchr(buffer.data() + searched, '\n', held - searched));
    if (found == nullptr) {
      searched = held;
      if (buffer.size() - held < kReadBytes) buffer.resize(buffer.size() * 2);
      const auto got =
          file.read_at(scan.whole_bytes + held, buffer.data() + held, buffer.size() - held);
      if (!got) return got.error();
      if (*got == 0) break;
      held += *got;
      continue;
    }
    // Every line up to the last line end in the buffer, then what is left moves to the front.
    size_t begin = 0;
    for (const char* end = found; end != nullptr;) {
      const std::string_view text(buffer.data() + begin,
                                  static_cast<size_t>(end - buffer.data()) - begin);
      LogLine line;
      line.number = static_cast<uint64_t>(scan.lines) + 1;
      line.offset = scan.whole_bytes;
      line.size = text.size() + 1;
      json::monotonic_resource resource(arena.data(), arena.size());
      boost::system::error_code error;
      const json::value value =
          json::parse(json::string_view(text.data(), text.size()), error, &resource, options);
      if (error) return not_ours(path, line.number, "it is not JSON");
      if (const auto why = read_line(value, kind, line)) return not_ours(path, line.number, *why);
      if (auto done = each(line); !done) return done.error();
      ++scan.lines;
      scan.whole_bytes += line.size;
      begin += text.size() + 1;
      end = static_cast<const char*>(std::memchr(buffer.data() + begin, '\n', held - begin));
    }
    std::memmove(buffer.data(), buffer.data() + begin, held - begin);
    held -= begin;
    searched = held;
  }
  if (!may_be_torn(std::string_view(buffer.data(), held))) {
    return not_ours(path, static_cast<uint64_t>(scan.lines) + 1, "it does not begin like one");
  }
  scan.torn_bytes = held;
  return scan;
}

}  // namespace windrow::batch
