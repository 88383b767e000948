// Compares the results of two jobs, or of two other programs that write OpenAI Batch output: which
// rows are in both, whether their answers are the same, how they ended, what they cost in tokens
// and time, and, with a key, how many answers are right.
//
// Rows meet by custom_id, in any order. A row with a result and a failure has the result; of
// several lines of one kind the last counts. Memory: about 150 bytes for each row of the two.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "llm/prices.h"
#include "report/latency_histogram.h"
#include "store/disk.h"

namespace windrow::report {

struct CompareOptions {
  std::string key;          // a file; empty: none
  size_t examples_max = 5;  // of rows whose answers differ
};

// One of the two.
struct CompareSide {
  std::string results;
  std::string errors;  // beside it; empty: there is no such file
  int64_t rows = 0;
  int64_t failed = 0;
  int64_t odd_lines = 0;  // that are no results; not compared
  llm::TokenCount tokens;
  LatencyHistogram latency;
  std::map<std::string, int64_t> finish_reasons;  // of choices
  std::map<std::string, int64_t> failures;        // by code

  int64_t right = 0;  // rows of the key whose answer is the key's
};

struct CompareExample {
  std::string custom_id;
  std::array<std::string, 2> texts;  // the answer, or "(failed: CODE)"
};

struct Comparison {
  std::array<CompareSide, 2> sides;

  int64_t rows_both = 0;
  std::array<int64_t, 2> rows_only = {};
  std::array<std::vector<std::string>, 2> ids_only;  // the first few of those

  int64_t equal = 0;                        // answered in both, and alike
  int64_t different = 0;                    // answered in both, and not alike
  std::array<int64_t, 2> failed_only = {};  // in one, and answered in the other
  int64_t failed_both = 0;
  int64_t failed_otherwise = 0;  // in both, with another code
  int64_t finish_changed = 0;    // answered in both, and ended for another reason
  std::vector<CompareExample> examples;

  // Of rows with vectors that differ.
  std::optional<double> cosine_min;
  double cosine_sum = 0;
  int64_t cosines = 0;

  // With a key:
  bool has_key = false;
  int64_t key_rows = 0;
  int64_t right_both = 0;
  int64_t right_neither = 0;

  // Whether anything but tokens and times differs.
  bool differs() const {
    return rows_only[0] + rows_only[1] + different + failed_only[0] + failed_only[1] +
               failed_otherwise + finish_changed >
           0;
  }
};

// Reads each file once, and the lines of examples and vectors again. kNotFound, kIo; kInvalid for a
// file without any result, and for a key that is none, with its line.
Result<Comparison> compare_results(store::Disk& disk, const std::string& one,
                                   const std::string& other, const CompareOptions& options);

// Whether both are the same JSON value, or else the same text without the blanks around it.
bool is_right(std::string_view answer, std::string_view expected);

std::string comparison_to_text(const Comparison& comparison);
boost::json::object comparison_to_json(const Comparison& comparison);

}  // namespace windrow::report
