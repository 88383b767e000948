// ProgressRecord: the progress of a job as JSON: the members of the event `progress`, and the file
// RESULTS.progress.json, which a run rewrites every second while its rows run, so that
// `windrow status` knows total, rate and time left without counting anything. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/progress.h"

namespace windrow::report {

// "running"; nothing where the text is no phase.
std::string_view to_string(batch::JobPhase phase);
std::optional<batch::JobPhase> phase_of(std::string_view text);

boost::json::object progress_to_json(const ProgressNumbers& numbers);

struct ProgressRecord {
  ProgressNumbers numbers;
  int64_t written_unix_s = 0;
};

// The text of the file. Kinds of failures beyond the most frequent ones are left out, so that it
// stays small.
std::string progress_record_text(const ProgressRecord& record);

// Returns nothing if the text is not a whole record.
std::optional<ProgressRecord> read_progress_record(std::string_view text);

}  // namespace windrow::report
