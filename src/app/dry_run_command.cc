#include "app/dry_run_command.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "batch/row_reader.h"

namespace windrow::app {
namespace {

// Gives all requests to their models at once and waits for the last answer.
class Together {
 public:
  explicit Together(std::span<const OpenModel> models) : models_(models) {}

  std::vector<llm::Outcome> run(std::vector<llm::Request> requests) {
    outcomes_.resize(requests.size());
    missing_ = requests.size();
    for (size_t i = 0; i < requests.size(); ++i) {
      const OpenModel& model = model_for(models_, requests[i]);
      model.backend->submit(std::move(requests[i]), [this, i](llm::Outcome outcome) {
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
  std::span<const OpenModel> models_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<llm::Outcome> outcomes_;
  size_t missing_ = 0;
};

}  // namespace

const OpenModel& model_for(std::span<const OpenModel> models, const llm::Request& request) {
  const auto named = std::ranges::find_if(
      models, [&](const OpenModel& model) { return model.name == request.model; });
  return named != models.end() ? *named : models.front();
}

std::variant<batch::MeasuredRequest, llm::Failure> measure_request(const OpenModel& model,
                                                                   const llm::Request& request) {
  auto measured = model.backend->measure(request);
  if (auto* failure = std::get_if<llm::Failure>(&measured)) return std::move(*failure);
  auto& [prompts, output_tokens_max] = std::get<engine::MeasuredPrompts>(measured);
  return batch::MeasuredRequest{.prompts = std::move(prompts),
                                .output_tokens_max = output_tokens_max};
}

Result<batch::DryRun> dry_run(batch::Input& input, const batch::JobOptions& options,
                              std::span<const OpenModel> models, const Settings& settings,
                              const Clock& clock, Console& console) {
  console.note("reading the input");
  Result<std::unique_ptr<batch::LineSource>> lines = batch::open_lines(input);
  if (!lines) return lines.error();
  const batch::RowReader reader({.body_defaults = options.body_defaults,
                                 .models = options.models,
                                 .any_model = options.any_model});
  const auto measure = [&](const llm::Request& request) {
    return measure_request(model_for(models, request), request);
  };
  Result<batch::Survey> survey = batch::survey_rows(**lines, options.rows_max, reader, measure);
  if (!survey) return survey.error();
  batch::DryRun result{.input = input.name(), .survey = *std::move(survey), .calibration = {}};
  if (result.survey.sample.empty()) return result;

  console.note("measuring the speed");
  const auto run = [&](std::vector<llm::Request> requests) {
    return Result<std::vector<llm::Outcome>>(Together(models).run(std::move(requests)));
  };
  Result<batch::Calibration> calibration =
      batch::calibrate(result.survey.sample, static_cast<int32_t>(settings.rows_max), run, clock);
  if (!calibration) return calibration.error();
  result.calibration = *calibration;
  return result;
}

}  // namespace windrow::app
