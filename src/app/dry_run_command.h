// `windrow run --dry-run`: what is in the input and about how long it would take.
#pragma once

#include <span>

#include "app/console.h"
#include "app/open_backend.h"
#include "app/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "batch/dry_run.h"
#include "batch/input.h"
#include "batch/job_options.h"

namespace windrow::app {

// Which of the models answers a request; the only one where a name does not matter.
const OpenModel& model_for(std::span<const OpenModel> models, const llm::Request& request);

// The request as its model sees it, or why that cannot answer it.
std::variant<batch::MeasuredRequest, llm::Failure> measure_request(const OpenModel& model,
                                                                   const llm::Request& request);

// Reads all of `input`, then runs some of its rows. Errors as survey_rows and calibrate.
Result<batch::DryRun> dry_run(batch::Input& input, const batch::JobOptions& options,
                              std::span<const OpenModel> models, const Settings& settings,
                              const Clock& clock, Console& console);

}  // namespace windrow::app
