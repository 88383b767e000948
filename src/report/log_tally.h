// LogTally: sums over the lines of both logs of a job, in memory that does not grow with their
// number. A line that Windrow did not write is counted as odd and skipped, so that the status of a
// damaged job can still be shown.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/log_scan.h"
#include "json/parse.h"
#include "llm/prices.h"
#include "report/latency_histogram.h"

namespace windrow::report {

// The failures of one status and code.
struct FailureKind {
  int32_t status = 0;  // 0: the lines were no requests
  std::string code;
  int64_t rows = 0;

  // About the first of them.
  uint64_t example_line = 0;  // in the input
  std::string example_id;     // its custom_id, or empty
  std::string example_message;
};

// The cause that a status stands for: "line", "request", "overloaded", "timeout", "server".
std::string_view failure_class(int32_t status);

// The tokens that the `usage` of an answer names, in the form of any API.
llm::TokenCount tokens_in_usage(const boost::json::object& usage);

// The answers of one model.
struct ModelTally {
  int64_t rows = 0;
  llm::TokenCount tokens;

  // Without those of answers that came from the cache.
  llm::TokenCount computed;
};

// Lines of one log that Windrow did not write.
struct OddLines {
  int64_t lines = 0;
  uint64_t first = 0;     // the number of the first one in the log
  std::string first_why;  // "it is not JSON"
};

// Used by one thread.
class LogTally {
 public:
  // Models and kinds of failures that are counted separately; all further ones are "others".
  static constexpr size_t kModelsMax = 100;
  static constexpr size_t kFailureKindsMax = 50;
  static constexpr size_t kFinishReasonsMax = 30;

  // Parses a whole line, without its line end. Nothing, and the line is counted as odd, if Windrow
  // did not write it. The views in the result are valid until the next call.
  std::optional<batch::LogLine> read(batch::LogKind kind, uint64_t number, std::string_view text);

  // Adds the line that was read last to the sums.
  void count_result();
  void count_failure();

  int64_t succeeded() const { return succeeded_; }
  int64_t failed() const { return failed_; }
  int64_t attempts() const { return attempts_; }

  // Tokens of failed attempts, as far as they are known: no answer includes them.
  int64_t lost_tokens() const { return lost_tokens_; }

  const OddLines& odd(batch::LogKind kind) const { return odd_[static_cast<size_t>(kind)]; }

  // The most frequent first.
  std::vector<FailureKind> failures() const;

  const std::map<std::string, ModelTally, std::less<>>& models() const { return models_; }

  // Why choices ended, as their APIs call that; names beyond kFinishReasonsMax are "others".
  const std::map<std::string, int64_t, std::less<>>& finish_reasons() const {
    return finish_reasons_;
  }

  // Rows that took more than one attempt, whether they succeeded or failed.
  int64_t retried() const { return retried_; }
  int64_t retried_succeeded() const { return retried_succeeded_; }

  // The lengths of answered rows, in tokens instead of milliseconds; rows without output tokens
  // (embeddings) have none.
  const LatencyHistogram& prompt_lengths() const { return prompt_lengths_; }
  const LatencyHistogram& output_lengths() const { return output_lengths_; }

  // The times of rows: the whole, and its parts.
  const LatencyHistogram& latency() const { return latency_; }
  const LatencyHistogram& queue() const { return queue_; }
  const LatencyHistogram& prefill() const { return prefill_; }
  const LatencyHistogram& decode() const { return decode_; }

 private:
  int64_t count_attempts(const boost::json::object& line, int64_t answer_tokens);
  void count_timings(const boost::json::object& line);
  void count_body(const boost::json::object& body, const llm::TokenCount& tokens);

  // The line that was read last.
  JsonLineParser parsed_;
  batch::LogLine line_;

  int64_t succeeded_ = 0;
  int64_t failed_ = 0;
  int64_t attempts_ = 0;
  int64_t lost_tokens_ = 0;
  int64_t retried_ = 0;
  int64_t retried_succeeded_ = 0;
  std::map<std::string, int64_t, std::less<>> finish_reasons_;
  LatencyHistogram prompt_lengths_;
  LatencyHistogram output_lengths_;
  std::array<OddLines, 2> odd_;
  std::map<std::pair<int32_t, std::string>, FailureKind> failures_;
  std::map<std::string, ModelTally, std::less<>> models_;
  LatencyHistogram latency_;
  LatencyHistogram queue_;
  LatencyHistogram prefill_;
  LatencyHistogram decode_;
};

}  // namespace windrow::report
