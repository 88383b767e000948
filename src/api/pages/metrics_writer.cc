#include "api/pages/metrics_writer.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "base/utf8.h"

namespace windrow::api {
namespace {

// The value of a label: backslash, quote and newline are escaped, and invalid UTF-8 is repaired.
void append_label_value(std::string_view value, std::string& page) {
  for (const char c : utf8_repair(value)) {
    if (c == '\n') {
      page += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') page += '\\';
    page += c;
  }
}

}  // namespace

void MetricsWriter::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  page_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsWriter::sample(Labels labels, int64_t value) {
  add("", labels, {}, fmt::format("{}", value));
}

void MetricsWriter::sample(Labels labels, double value) {
  add("", labels, {}, fmt::format("{}", value));
}

void MetricsWriter::histogram(Labels labels, const Histogram::Reading& reading) {
  for (size_t i = 0; i < reading.bounds.size(); ++i)
    add("_bucket", labels, fmt::format("{}", reading.bounds[i]),
        fmt::format("{}", reading.counts[i]));
  const std::string all = fmt::format("{}", reading.counts.back());
  add("_bucket", labels, "+Inf", all);
  add("_sum", labels, {}, fmt::format("{}", reading.sum));
  add("_count", labels, {}, all);
}

std::string MetricsWriter::finish() {
  return std::exchange(page_, {});
}

void MetricsWriter::add(std::string_view ending, Labels labels, std::string_view bound,
                        std::string_view value) {
  page_ += name_;
  page_ += ending;
  char before = '{';
  const auto add_label = [&](std::string_view name, std::string_view text) {
    page_ += before;
    before = ',';
    page_ += name;
    page_ += "=\"";
    append_label_value(text, page_);
    page_ += '"';
  };
  for (const Label& label : labels)
    add_label(label.name, label.value);
  if (!bound.empty()) add_label("le", bound);
  if (before == ',') page_ += '}';
  page_ += ' ';
  page_ += value;
  page_ += '\n';
}

}  // namespace windrow::api
