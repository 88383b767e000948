// The files that a table of answers is written to. Pure: rows go in, text comes out.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::table {

enum class TableFormat : uint8_t {
  kCsv,   // RFC 4180 with LF as the line end; the first line names the columns
  kTsv,   // the same with tabs
  kJson,  // an array of objects
  kNpy,   // numpy's format 1.0: the embeddings as float32, a row each
};

// By the ending of a file's name: .csv, .tsv, .json, .npy.
std::optional<TableFormat> table_format_of(std::string_view name);

// Appends the text of a table, row by row. Used by one thread.
class TableWriter {
 public:
  virtual ~TableWriter() = default;

  virtual void begin(std::string& text) = 0;

  // A value for each column; null is an empty cell.
  virtual void add(const std::vector<boost::json::value>& cells, std::string& text) = 0;

  virtual void end(std::string& text) = 0;
};

// For all but kNpy.
std::unique_ptr<TableWriter> make_table_writer(TableFormat format,
                                               std::vector<std::string> columns);

// A value of CSV: in quotes where it needs them.
void append_csv_value(std::string_view value, char delimiter, std::string& text);

// --- npy ---

// The header of an array of float32 in C order: 64 bytes or a multiple of it.
std::string npy_header(uint64_t rows, uint64_t numbers);

// A row, little-endian.
void append_npy_row(const std::vector<float>& numbers, std::string& bytes);

}  // namespace windrow::table
