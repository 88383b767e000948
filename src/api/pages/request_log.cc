#include "api/pages/request_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "api/calls/envelope.h"
#include "base/utf8.h"

namespace windrow::api {
namespace {

// "2026-11-22T07:31:05Z"
std::string iso_time(int64_t unix_s) {
  using std::chrono::floor;
  const std::chrono::sys_seconds at{std::chrono::seconds(unix_s)};
  const auto day = floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

// Escapes all control characters, so that a line stays one line and cannot control a terminal.
// `value` may be any bytes.
void append_text(std::string_view value, std::string& line) {
  const std::string text = utf8_repair(value);
  line += '"';
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == '"' || byte == '\\') {
      line += '\\';
      line += text[i];
    } else if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\u{:04x}", byte);
    } else if (byte == 0xC2 && next < 0xA0) {  // U+0080 to U+009F
      line += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      line += text[i];
    }
  }
  line += '"';
}

class Line {
 public:
  void add_text(std::string_view name, std::string_view value) {
    begin(name);
    append_text(value, text_);
  }
  void add(std::string_view name, int64_t value) {
    begin(name);
    text_ += fmt::format("{}", value);
  }
  void add(std::string_view name, bool value) {
    begin(name);
    text_ += value ? "true" : "false";
  }
  void add_texts(std::string_view name, const std::vector<std::string>& values) {
    begin(name);
    text_ += '[';
    for (const std::string& value : values) {
      if (text_.back() != '[') text_ += ',';
      append_text(value, text_);
    }
    text_ += ']';
  }
  void add_text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) add_text(name, value);
  }
  std::string finish() { return std::move(text_) + '}'; }

 private:
  void begin(std::string_view name) {
    text_ += text_.empty() ? "{\"" : ",\"";
    text_ += name;
    text_ += "\":";
  }

  std::string text_;
};

// Does not cut a character in the middle.
std::string_view beginning(std::string_view text, size_t bytes_max) {
  size_t end = std::min(text.size(), bytes_max);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return text.substr(0, end);
}

}  // namespace

std::string shown_in_log(std::string_view text) {
  if (text.size() <= kLoggedBytesMax) return std::string(text);
  return fmt::format("{}... ({} bytes)", beginning(text, kLoggedBytesMax), text.size());
}

void add_answer(RequestRecord& record, size_t choice, std::string_view text) {
  constexpr size_t kChoicesMax = 4096;
  if (choice >= kChoicesMax) return;
  size_t logged = 0;
  for (const std::string& answer : record.answers)
    logged += answer.size();
  if (record.answers.size() <= choice) record.answers.resize(choice + 1);
  record.answers[choice] += beginning(text, kLoggedBytesMax - std::min(logged, kLoggedBytesMax));
}

void set_answers(RequestRecord& record, const llm::Answer& answer) {
  record.answers.clear();
  if (!answer.raw.empty()) return add_answer(record, 0, answer.raw);
  for (size_t i = 0; i < answer.choices.size(); ++i)
    add_answer(record, i, answer.choices[i].text);
}

std::string slow_reader_line(int64_t unix_s, std::string_view peer, size_t unsent_bytes,
                             Duration quiet) {
  Line line;
  line.add_text("time", iso_time(unix_s));
  line.add_text("event", "slow_reader_dropped");
  line.add_text("peer", peer);
  line.add("unsent_bytes", static_cast<int64_t>(unsent_bytes));
  line.add("quiet_ms", milliseconds(quiet));
  return line.finish();
}

std::string log_line(const RequestRecord& record, Duration duration) {
  Line line;
  line.add_text("time", iso_time(record.arrived_unix_s));
  line.add_text("id", record.id);
  line.add_text_if("key", record.key);
  line.add_text_if("peer", record.peer);
  line.add_text("method", record.method);
  line.add_text("path", record.path);
  line.add("status", int64_t{record.status});
  line.add_text_if("code", record.code);
  line.add("duration_ms", milliseconds(duration));
  line.add("body_bytes", static_cast<int64_t>(record.body_bytes));
  if (record.endpoint) {
    line.add_text_if("call", record.call);
    line.add_text_if("model", record.model);
    line.add_text("priority", priority_text(record.priority));
    line.add("stream", record.stream);
    line.add("prompt_tokens", int64_t{record.usage.prompt_tokens});
    line.add("cached_tokens", int64_t{record.usage.cached_tokens});
    line.add("completion_tokens", int64_t{record.usage.completion_tokens});
    if (record.queue) line.add("queue_ms", milliseconds(*record.queue));
    if (record.ttft) line.add("ttft_ms", milliseconds(*record.ttft));
  }
  line.add_text_if("body", record.body);
  if (!record.answers.empty()) line.add_texts("answers", record.answers);
  return line.finish();
}

}  // namespace windrow::api
