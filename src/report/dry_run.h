// `windrow run --dry-run`: reads an input, measures how fast a sample of it runs, and estimates the
// time of the job. Writes nothing.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batch/line_source.h"
#include "batch/row_reader.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "report/failure_counts.h"

namespace windrow::report {

// --- 1. the input ---

// A request as the model sees it.
struct MeasuredRequest {
  std::vector<std::vector<int32_t>> prompts;  // their tokens; most requests have one
  int64_t output_tokens_max = 0;              // how long its answers may become together
};

// A Failure for a row that could not be answered.
using MeasureRequest =
    std::function<std::variant<MeasuredRequest, llm::Failure>(const llm::Request&)>;

// One row kept for the calibration.
struct SampledRow {
  llm::Request request;
  int32_t prompt_tokens = 0;
};

struct Survey {
  int64_t rows = 0;  // all of them, with faulty ones
  int64_t rows_at_fault = 0;
  std::vector<FailureCount> faults;  // the most frequent first
  int64_t prompt_tokens = 0;
  int64_t prompt_tokens_longest = 0;
  int64_t answers = 0;            // texts to generate: more than rows with n or several prompts
  int64_t output_tokens_max = 0;  // if every answer becomes as long as possible
  double shared_prefix = 0;       // part of the prompt tokens, from 0 to 1 (prefix_share.h);
                                  // of prompts that are answered or scored

  // At most kSampleRows, drawn with equal probability; the same in every run.
  std::vector<SampledRow> sample;

  int64_t rows_good() const { return rows - rows_at_fault; }
};

inline constexpr size_t kSampleRows = 256;

// Reads the input to its end or `rows_max` rows, in bounded memory. Does not notice a repeated
// custom_id. Fails like LineSource::next.
Result<Survey> survey_rows(batch::LineSource& lines, std::optional<int64_t> rows_max,
                           const batch::RowReader& reader, const MeasureRequest& measure);

// --- 2. the speed ---

// Runs the requests together and waits for all.
using RunRequests = std::function<Result<std::vector<llm::Outcome>>(std::vector<llm::Request>)>;

struct Calibration {
  double prompt_tokens_per_s = 0;
  double generated_tokens_per_s = 0;
  int32_t rows = 0;              // that were answered together when the latter was measured
  int64_t answers = 0;           // to these rows; several where n is more than 1
  int64_t answers_ended = 0;     // by the model within kCalibrationTokens
  int64_t generated_tokens = 0;  // in the answers
  Duration took{};
};

inline constexpr int32_t kCalibrationTokens = 32;

// Three short runs: one row to warm up, some rows with answers of one token (the prefill rate),
// some with answers of up to kCalibrationTokens (the decode rate, without the cost of the prompts).
// `rows_max`: the rows that the backend computes together. Fails if the backend fails, or if no row
// of the sample can be answered. Blocks.
Result<Calibration> calibrate(const std::vector<SampledRow>& sample, int32_t rows_max,
                              const RunRequests& run, const Clock& clock);

// --- 3. the time ---

struct Estimate {
  Duration shortest{};  // every answer one token
  Duration longest{};   // every answer as long as it may become

  // With the mean length of answers in the calibration; absent if too few ended by themselves.
  std::optional<Duration> likely;
  double likely_answer_tokens = 0;
};

// Assumes that a shared prefix is computed once, and that the rates stay the same.
Estimate estimate_time(const Survey& survey, const Calibration& calibration);

// --- words ---

struct DryRun {
  std::string input;
  Survey survey;
  std::optional<Calibration> calibration;  // absent: no backend, or no row, to measure with

  // An upstream's tokens are not counted here: four bytes are taken for one.
  bool tokens_are_guessed = false;
  std::optional<double> cost_usd_max = {};
};

std::string dry_run_to_text(const DryRun& dry_run);
boost::json::object dry_run_to_json(const DryRun& dry_run);

}  // namespace windrow::report
