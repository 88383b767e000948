#include "app/commands/commands.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "app/commands/select_fleet.h"
#include "app/process/console.h"
#include "app/settings/fleet_settings.h"
#include "batch/input.h"
#include "batch/job_options.h"
#include "batch/job_runner.h"
#include "batch/row_reader.h"
#include "fleet/local_job_fleet.h"
#include "json/writer.h"
#include "llm/raw_body.h"
#include "report/dry_run.h"

namespace windrow::app {
namespace {

// Gives all requests to their models at once and waits for the last answer.
class ConcurrentRun {
 public:
  explicit ConcurrentRun(const fleet::JobModels& models) : models_(models) {}

  std::vector<llm::Outcome> run(std::vector<llm::Request> requests) {
    outcomes_.resize(requests.size());
    missing_ = requests.size();
    for (size_t i = 0; i < requests.size(); ++i) {
      const fleet::LocalModel& model = models_.model_for(requests[i]);
      model.backend->submit(llm::plain_call(std::move(requests[i])),
                            [this, i](llm::Outcome outcome) {
                              const std::scoped_lock lock(mutex_);
                              outcomes_[i] = std::move(outcome);
                              if (--missing_ == 0) ended_.notify_all();
                            });
    }
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return missing_ == 0; });
    return std::move(outcomes_);
  }

 private:
  const fleet::JobModels& models_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<llm::Outcome> outcomes_;
  size_t missing_ = 0;
};

// The request as its model sees it, or why that cannot answer it.
std::variant<report::MeasuredRequest, llm::Failure> measure_request(const fleet::JobModels& models,
                                                                    const llm::Request& request) {
  auto measured = models.model_for(request).backend->measure(request);
  if (auto* failure = std::get_if<llm::Failure>(&measured)) return std::move(*failure);
  auto& [prompts, output_tokens_max] = std::get<engine::MeasuredPrompts>(measured);
  return report::MeasuredRequest{.prompts = std::move(prompts),
                                 .output_tokens_max = output_tokens_max};
}

batch::RowRules rules_of(const batch::JobOptions& options) {
  return {.body = {.defaults = options.body_defaults, .unknown_fields = options.unknown_fields},
          .models = options.models,
          .any_model = options.any_model,
          .raw = options.raw,
          .apis = options.apis};
}

// Reads all of `input`, then runs some of its rows. Errors as survey_rows and calibrate.
Result<report::DryRun> dry_run(batch::Input& input, const batch::JobOptions& options,
                               const fleet::JobModels& models, const Settings& settings,
                               const Clock& clock, Console& console) {
  console.note("reading the input");
  Result<std::unique_ptr<batch::LineSource>> lines = batch::open_lines(input);
  if (!lines) return lines.error();
  const batch::RowReader reader(rules_of(options));
  const auto measure = [&](const llm::Request& request) {
    return measure_request(models, request);
  };
  Result<report::Survey> survey = report::survey_rows(**lines, options.rows_max, reader, measure);
  if (!survey) return survey.error();
  report::DryRun result{.input = input.name(), .survey = *std::move(survey), .calibration = {}};
  if (result.survey.sample.empty()) return result;

  console.note("measuring the speed");
  const auto run = [&](std::vector<llm::Request> requests) {
    return Result<std::vector<llm::Outcome>>(ConcurrentRun(models).run(std::move(requests)));
  };
  Result<report::Calibration> calibration =
      report::calibrate(result.survey.sample, static_cast<int32_t>(settings.rows_max), run, clock);
  if (!calibration) return calibration.error();
  result.calibration = *calibration;
  return result;
}

// Pseudo-tokens of four bytes each: without a tokeniser they give about the number of tokens, and
// the prefixes that prompts share.
std::vector<int32_t> pseudo_tokens(std::string_view text) {
  std::vector<int32_t> tokens((text.size() + sizeof(int32_t) - 1) / sizeof(int32_t));
  if (!text.empty()) std::memcpy(tokens.data(), text.data(), text.size());
  return tokens;
}

Result<report::DryRun> dry_run_upstream(batch::Input& input, const batch::JobOptions& options,
                                        const fleet::Spending& spending, Console& console) {
  console.note("reading the input");
  Result<std::unique_ptr<batch::LineSource>> lines = batch::open_lines(input);
  if (!lines) return lines.error();
  report::DryRun result{.input = input.name(),
                        .survey = {},
                        .calibration = {},
                        .tokens_are_guessed = true,
                        .cost_usd_max = {}};
  dispatch::Cost cost = 0;
  // Without a limit every model may be used, with or without a price.
  const auto measure =
      [&](const llm::Request& request) -> std::variant<report::MeasuredRequest, llm::Failure> {
    auto expected = spending.expected(request);
    if (auto* failure = std::get_if<llm::Failure>(&expected)) return std::move(*failure);
    cost += spending.at_most(request);
    std::string buffer;
    report::MeasuredRequest measured;
    measured.prompts.push_back(pseudo_tokens(llm::raw_prompt(request, buffer)));
    measured.output_tokens_max = spending.answer_tokens_at_most(request);
    return measured;
  };
  const batch::RowReader reader(rules_of(options));
  Result<report::Survey> survey = report::survey_rows(**lines, options.rows_max, reader, measure);
  if (!survey) return survey.error();
  result.survey = *std::move(survey);
  if (spending.prices) result.cost_usd_max = static_cast<double>(cost) / dispatch::kCostUnit;
  return result;
}

Result<report::DryRun> estimate(batch::Input& input, const batch::JobOptions& options,
                                const FleetChoice& choice, const Settings& settings,
                                const Clock& clock, Console& console) {
  if (!choice.upstreams.empty()) return dry_run_upstream(input, options, choice.spending, console);
  console.note("loading the model");
  fleet::JobModels models(engine_options(SettingsOf::kRun, settings), clock);
  for (const fleet::ModelChoice& model : choice.models) {
    Result<void> loaded = models.load(model, {.date_unix_s = clock.unix_seconds()});
    if (!loaded) return loaded.error();
  }
  return dry_run(input, options, models, settings, clock, console);
}

}  // namespace

int dry_run_command(batch::Input& input, const batch::JobOptions& options,
                    const FleetChoice& choice, const Settings& settings, const Clock& clock,
                    Console& console) {
  const Result<report::DryRun> found = estimate(input, options, choice, settings, clock, console);
  if (!found) {
    console.error(found.error().message);
    return batch::exit_code(found.error());
  }
  if (settings.json) {
    boost::json::object event{{"event", "dry_run"}};
    for (const auto& [name, value] : report::dry_run_to_json(*found))
      event[name] = value;
    console.print(plain_json(event) + "\n");
  } else {
    console.print(report::dry_run_to_text(*found));
  }
  return 0;
}

}  // namespace windrow::app
