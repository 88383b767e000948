#include "batch/failure_watch.h"

#include <fmt/format.h>

namespace windrow::batch {
namespace {

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

FailureStop stop_at(const FailedRow& row, bool alike, int64_t rows) {
  return {.alike = alike,
          .rows = rows,
          .line = row.line,
          .custom_id = std::string(row.custom_id),
          .status = row.failure.status,
          .code = row.failure.code,
          .message = row.failure.message};
}

// "line 7: "a" is 0.5" -> "line 0: "" is 0.0": each number as one digit, quoted texts left out.
std::string without_particulars(std::string_view message) {
  std::string shape;
  bool quoted = false;
  for (const char letter : message) {
    if (letter == '"') {
      quoted = !quoted;
      shape += letter;
    } else if (quoted) {
      continue;
    } else if (!is_digit(letter)) {
      shape += letter;
    } else if (shape.empty() || !is_digit(shape.back())) {
      shape += '0';
    }
  }
  return shape;
}

}  // namespace

std::string failure_shape(const llm::Failure& failure) {
  constexpr int32_t kRequestTimeout = 408;
  constexpr int32_t kTooEarly = 425;
  constexpr int32_t kTooManyRequests = 429;
  const int32_t status = failure.status;
  const bool of_request = failure.failure_class == llm::FailureClass::kRequest && status >= 400 &&
                          status < 500 && status != kRequestTimeout && status != kTooEarly &&
                          status != kTooManyRequests;
  if (!of_request) return "";
  return fmt::format("{} {} {} {}", status, failure.code, failure.param,
                     without_particulars(failure.message));
}

FailureWatch::FailureWatch(FailureLimit limit, bool succeeded_before)
    : limit_(limit), may_be_alike_(limit.first_alike && !succeeded_before) {}

bool FailureWatch::add_failure(const FailedRow& row) {
  if (stop_) return true;
  ++failed_;
  if (limit_.rows_max > 0 && failed_ >= limit_.rows_max) {
    stop_ = stop_at(row, false, failed_);
    return true;
  }
  if (may_be_alike_) compare(row);
  return stop_.has_value();
}

void FailureWatch::compare(const FailedRow& row) {
  // A malformed line is a fault of its own, and JobReader counts those.
  const std::string shape = row.of_line ? "" : failure_shape(row.failure);
  if (row.ordinal < kAlikeRows) {
    if (!first_) {
      first_ = stop_at(row, true, 0);
      shape_ = shape;
    }
    if (shape.empty() || shape != shape_) {
      may_be_alike_ = false;
      return;
    }
    if (row.line < first_->line) first_ = stop_at(row, true, 0);
    ++alike_;
  }
  // Without those behind the first ones, of which more may have failed by then.
  if (alike_ < kAlikeRows || failed_ == kAlikeRows) return;
  stop_ = first_;
  stop_->rows = kAlikeRows;
}

}  // namespace windrow::batch
