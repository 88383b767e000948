// Record: one row of a table: a line of a CSV file, an element of a JSON array, an object of a
// JSONL file or a line of a text. A value.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "batch/line_source.h"

namespace windrow::table {

struct Record {
  // Where it begins in the file, from 1. Of the elements of a JSON array, of which several may be
  // on one line, it is the number of the element. No two records have the same.
  uint64_t line = 0;
  uint64_t number = 0;    // from 1
  bool of_array = false;  // `line` is the number of an element

  // By column, in the order of the file. Of a CSV file the values are texts.
  boost::json::object values;

  // Why it cannot become a row; then `values` has what could be read.
  std::optional<batch::LineProblem> problem;
};

}  // namespace windrow::table
