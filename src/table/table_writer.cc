#include "table/table_writer.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "json/writer.h"

namespace windrow::table {
namespace {

// Nested values are written as their JSON.
void append_cell(const boost::json::value& value, char delimiter, std::string& text) {
  if (value.is_null()) return;
  if (value.is_string()) return append_csv_value(value.get_string(), delimiter, text);
  std::string written;
  append_compact_json(value, written);
  append_csv_value(written, delimiter, text);
}

class CsvWriter final : public TableWriter {
 public:
  CsvWriter(std::vector<std::string> columns, char delimiter)
      : columns_(std::move(columns)), delimiter_(delimiter) {}

  void begin(std::string& text) override {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += delimiter_;
      append_csv_value(columns_[i], delimiter_, text);
    }
    text += '\n';
  }

  void add(const std::vector<boost::json::value>& cells, std::string& text) override {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += delimiter_;
      append_cell(cells[i], delimiter_, text);
    }
    text += '\n';
  }

  void end(std::string&) override {}

 private:
  const std::vector<std::string> columns_;
  const char delimiter_;
};

class JsonWriter final : public TableWriter {
 public:
  explicit JsonWriter(const std::vector<std::string>& columns) {
    for (const std::string& column : columns) {
      std::string key;
      append_json(std::string_view(column), key);
      keys_.push_back(key + ':');
    }
  }

  void begin(std::string& text) override { text += '['; }

  void add(const std::vector<boost::json::value>& cells, std::string& text) override {
    text += std::exchange(first_, false) ? "\n{" : ",\n{";
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += ',';
      text += keys_[i];
      append_compact_json(cells[i], text);
    }
    text += '}';
  }

  void end(std::string& text) override { text += "\n]\n"; }

 private:
  std::vector<std::string> keys_;
  bool first_ = true;
};

}  // namespace

std::optional<TableFormat> table_format_of(std::string_view name) {
  constexpr auto kEndings =
      std::to_array<std::pair<std::string_view, TableFormat>>({{".csv", TableFormat::kCsv},
                                                               {".tsv", TableFormat::kTsv},
                                                               {".json", TableFormat::kJson},
                                                               {".npy", TableFormat::kNpy}});
  for (const auto& [ending, format] : kEndings) {
    if (name.ends_with(ending) && name.size() > ending.size()) return format;
  }
  return std::nullopt;
}

std::unique_ptr<TableWriter> make_table_writer(TableFormat format,
                                               std::vector<std::string> columns) {
  if (format == TableFormat::kJson) return std::make_unique<JsonWriter>(columns);
  return std::make_unique<CsvWriter>(std::move(columns), format == TableFormat::kTsv ? '\t' : ',');
}

void append_csv_value(std::string_view value, char delimiter, std::string& text) {
  const bool plain = value.find_first_of("\"\r\n") == std::string_view::npos &&
                     value.find(delimiter) == std::string_view::npos && !value.starts_with(' ') &&
                     !value.ends_with(' ');
  if (plain) {
    text += value;
    return;
  }
  text += '"';
  for (const char byte : value) {
    if (byte == '"') text += '"';
    text += byte;
  }
  text += '"';
}

std::string npy_header(uint64_t rows, uint64_t numbers) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kPreambleBytes = 10;  // magic, version, and the length of what follows
  std::string words =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, numbers);
  const size_t used = kPreambleBytes + words.size() + 1;
  words.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  words += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(words.size() & 0xFF);
  header += static_cast<char>(words.size() >> 8);
  return header + words;
}

void append_npy_row(const std::vector<float>& numbers, std::string& bytes) {
  static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");
  const size_t had = bytes.size();
  bytes.resize(had + numbers.size() * sizeof(float));
  if (!numbers.empty())
    std::memcpy(bytes.data() + had, numbers.data(), numbers.size() * sizeof(float));
}

}  // namespace windrow::table
