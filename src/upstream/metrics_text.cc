#include "upstream/metrics_text.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace windrow::upstream {
namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

bool is_in_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9');
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

void skip_blanks(std::string_view& line) {
  while (!line.empty() && is_blank(line.front()))
    line.remove_prefix(1);
}

// Empty: there is none.
std::string_view take_name(std::string_view& line) {
  size_t count = 0;
  if (!line.empty() && begins_name(line.front())) {
    while (count < line.size() && is_in_name(line[count]))
      ++count;
  }
  const std::string_view name = line.substr(0, count);
  line.remove_prefix(count);
  return name;
}

// `line` begins behind the "{". What is in quotes may hold anything, a "}" too, and "\"" for a
// quote. False: it never ends.
bool skip_labels(std::string_view& line) {
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '\\') {
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == '}' && !quoted) {
      line.remove_prefix(at + 1);
      return true;
    }
  }
  return false;
}

// "0.5", "1e+06", "+Inf", "NaN"; a time may follow.
std::optional<double> take_value(std::string_view line) {
  size_t count = 0;
  while (count < line.size() && !is_blank(line[count]))
    ++count;
  std::string_view word = line.substr(0, count);
  if (word.starts_with('+')) {
    word.remove_prefix(1);
    if (word.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<MetricSample> sample_of(std::string_view line) {
  skip_blanks(line);
  MetricSample sample;
  sample.name = take_name(line);
  if (sample.name.empty()) return std::nullopt;
  const bool separated = !line.empty() && is_blank(line.front());
  skip_blanks(line);
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    if (!skip_labels(line)) return std::nullopt;
    skip_blanks(line);
  } else if (!separated) {
    return std::nullopt;
  }
  const std::optional<double> value = take_value(line);
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

std::optional<MetricSample> MetricsText::next() {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (const std::optional<MetricSample> sample = sample_of(line)) return sample;
  }
  return std::nullopt;
}

}  // namespace windrow::upstream
