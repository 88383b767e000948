#include "report/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <iterator>
#include <utility>

#include "base/format.h"
#include "base/random.h"
#include "report/prefix_share.h"
#include "report/text_table.h"

namespace windrow::report {
namespace {

// Below this part a cache in which nothing is shared is likely to be faster.
constexpr double kLittleShared = 0.1;

namespace json = boost::json;

// How long the two measurements may take, as far as prompts go.
constexpr double kPromptSeconds = 4;
constexpr double kAnswerPromptSeconds = 8;

// Fewer answers that ended by themselves say nothing about their length.
constexpr int64_t kEndedForLikely = 3;

// Algorithm R (Vitter 1985): after n rows each of them is in the sample with the same chance.
class Sampler {
 public:
  void add(const llm::Request& request, size_t prompt_tokens) {
    ++seen_;
    SampledRow* place = next_place();
    if (place == nullptr) return;
    place->request = request;
    place->prompt_tokens = static_cast<int32_t>(prompt_tokens);
  }

  std::vector<SampledRow> take() { return std::move(rows_); }

 private:
  SampledRow* next_place() {
    if (rows_.size() < kSampleRows) return &rows_.emplace_back();
    const uint64_t at = random_.below(seen_);
    return at < kSampleRows ? &rows_[at] : nullptr;
  }

  std::vector<SampledRow> rows_;
  uint64_t seen_ = 0;
  Random random_{1};
};

// As many rows of the sample from `first` on as have so many prompt tokens; at least one.
std::vector<llm::Request> some_rows(const std::vector<SampledRow>& sample, size_t first,
                                    int32_t rows_max, double prompt_tokens_max,
                                    int32_t output_tokens_max, int64_t& prompt_tokens) {
  std::vector<llm::Request> requests;
  prompt_tokens = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const SampledRow& row = sample[(first + i) % sample.size()];
    const bool enough = std::cmp_equal(requests.size(), rows_max) ||
                        static_cast<double>(prompt_tokens + row.prompt_tokens) > prompt_tokens_max;
    if (enough && !requests.empty()) break;
    requests.push_back(row.request);
    const int32_t own_max = row.request.output_tokens_max.value_or(output_tokens_max);
    requests.back().output_tokens_max = std::min(own_max, output_tokens_max);
    prompt_tokens += row.prompt_tokens;
  }
  return requests;
}

struct Answers {
  int32_t rows = 0;
  int64_t answers = 0;
  int64_t ended = 0;          // by themselves
  int64_t cached_tokens = 0;  // of the prompts, not computed
  int64_t generated_tokens = 0;
  Duration took{};
};

Result<Answers> run_and_time(std::vector<llm::Request> requests, const RunRequests& run,
                             const Clock& clock) {
  const TimePoint start = clock.now();
  Result<std::vector<llm::Outcome>> outcomes = run(std::move(requests));
  if (!outcomes) return outcomes.error();
  Answers answers{.took = clock.now() - start};
  const llm::Failure* failure = nullptr;
  for (const llm::Outcome& outcome : *outcomes) {
    if (const auto* answer = std::get_if<llm::Answer>(&outcome)) {
      ++answers.rows;
      // An embedding or a ranking has none.
      answers.answers += std::ssize(answer->choices);
      answers.ended += std::ranges::count(answer->choices, llm::FinishReason::kStop,
                                          &llm::Choice::finish_reason);
      answers.cached_tokens += answer->usage.cached_tokens;
      answers.generated_tokens += answer->usage.completion_tokens;
    } else {
      failure = &std::get<llm::Failure>(outcome);
    }
  }
  if (answers.rows > 0) return answers;
  return Error{ErrorKind::kUnavailable,
               fmt::format("no row could be answered to measure the speed: {}",
                           failure == nullptr ? "nothing came back" : failure->message)};
}

double dry_run_per_second(double count, double time_s) {
  return count / std::max(time_s, 1e-6);
}

Duration time_of(double time_s) {
  // A century is long enough to say that it will not be done.
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::clamp(time_s, 0.0, 100.0 * 365 * 86'400)));
}

std::string dry_run_percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

double answer_tokens_max(const Survey& survey) {
  return survey.answers == 0
             ? 0
             : static_cast<double>(survey.output_tokens_max) / static_cast<double>(survey.answers);
}

// Prompts that are answered or scored may share their beginnings; inputs to embed or to rank do
// not.
bool computes_prompts(const llm::Request& request) {
  const bool is_prompt = request.endpoint == llm::Endpoint::kChatCompletions ||
                         request.endpoint == llm::Endpoint::kCompletions;
  const bool only_echoes = request.output_tokens_max == 0 && !request.logprobs_top;
  return is_prompt && !only_echoes;
}

}  // namespace

Result<Survey> survey_rows(batch::LineSource& lines, std::optional<int64_t> rows_max,
                           const batch::RowReader& reader, const MeasureRequest& measure) {
  Survey survey;
  PrefixShare shared;
  Sampler sampler;
  FailureCounter faults;
  while (!rows_max || survey.rows < *rows_max) {
    const Result<std::optional<batch::Line>> line = lines.next();
    if (!line) return line.error();
    if (!line->has_value()) break;
    ++survey.rows;
    const batch::RowOrFault read = reader.read(**line);
    if (const auto* fault = std::get_if<batch::RowFault>(&read)) {
      ++survey.rows_at_fault;
      // As in the errors file, which has no response where there was no request.
      faults.add(fault->of_line ? 0 : fault->failure.status, fault->failure.code);
      continue;
    }
    const llm::Request& request = std::get<batch::Row>(read).request;
    const std::variant<MeasuredRequest, llm::Failure> measured = measure(request);
    if (const auto* failure = std::get_if<llm::Failure>(&measured)) {
      ++survey.rows_at_fault;
      faults.add(failure->status, failure->code);
      continue;
    }
    const auto& [prompts, output_tokens_max] = std::get<MeasuredRequest>(measured);
    size_t prompt_tokens = 0;
    for (const std::vector<int32_t>& prompt : prompts) {
      prompt_tokens += prompt.size();
      survey.prompt_tokens_longest =
          std::max(survey.prompt_tokens_longest, static_cast<int64_t>(prompt.size()));
      if (computes_prompts(request)) shared.add(prompt);
    }
    survey.prompt_tokens += static_cast<int64_t>(prompt_tokens);
    survey.output_tokens_max += output_tokens_max;
    if (output_tokens_max > 0) survey.answers += request.choices * std::ssize(prompts);
    sampler.add(request, prompt_tokens);
  }
  survey.shared_prefix = shared.share();
  survey.faults = faults.counts();
  survey.sample = sampler.take();
  return survey;
}

Result<Calibration> calibrate(const std::vector<SampledRow>& sample, int32_t rows_max,
                              const RunRequests& run, const Clock& clock) {
  if (sample.empty()) {
    return Error{ErrorKind::kInvalid, "there is no row to measure the speed with"};
  }
  int64_t prompt_tokens = 0;
  const TimePoint start = clock.now();

  // The first pass also pays for what happens only once; it tells how much the next may take.
  const Result<Answers> first =
      run_and_time(some_rows(sample, 0, 1, 0, 1, prompt_tokens), run, clock);
  if (!first) return first.error();
  const double first_rate =
      dry_run_per_second(static_cast<double>(prompt_tokens), seconds(first->took));

  const size_t prompts_from = sample.size() > 1 ? 1 : 0;
  std::vector<llm::Request> prompts =
      some_rows(sample, prompts_from, rows_max, first_rate * kPromptSeconds, 1, prompt_tokens);
  const size_t answers_from = (prompts_from + prompts.size()) % sample.size();
  const Result<Answers> prompts_run = run_and_time(std::move(prompts), run, clock);
  if (!prompts_run) return prompts_run.error();
  Calibration calibration;
  calibration.prompt_tokens_per_s = dry_run_per_second(
      static_cast<double>(prompt_tokens - prompts_run->cached_tokens), seconds(prompts_run->took));

  const Result<Answers> answers =
      run_and_time(some_rows(sample, answers_from, rows_max,
                             calibration.prompt_tokens_per_s * kAnswerPromptSeconds,
                             kCalibrationTokens, prompt_tokens),
                   run, clock);
  if (!answers) return answers.error();
  const double all_s = seconds(answers->took);
  const double prompts_s =
      static_cast<double>(prompt_tokens - answers->cached_tokens) / calibration.prompt_tokens_per_s;
  // The first token of an answer comes with its prompt. Prompts cannot have taken all of the time:
  // where the difference drowns in noise, a tenth is left for the answers.
  const auto later_tokens = static_cast<double>(answers->generated_tokens - answers->answers);
  calibration.generated_tokens_per_s =
      dry_run_per_second(std::max(later_tokens, 1.0), std::max(all_s - prompts_s, all_s / 10));
  calibration.rows = answers->rows;
  calibration.answers = answers->answers;
  calibration.answers_ended = answers->ended;
  calibration.generated_tokens = answers->generated_tokens;
  calibration.took = clock.now() - start;
  return calibration;
}

Estimate estimate_time(const Survey& survey, const Calibration& calibration) {
  const auto answers = static_cast<double>(survey.answers);
  const double prompts_s = static_cast<double>(survey.prompt_tokens) * (1 - survey.shared_prefix) /
                           calibration.prompt_tokens_per_s;
  const auto with_answers = [&](double answer_tokens) {
    // The first token of an answer comes with its prompt.
    const double later_tokens = std::max(0.0, answer_tokens - 1) * answers;
    return time_of(prompts_s + later_tokens / calibration.generated_tokens_per_s);
  };
  Estimate estimate{.shortest = with_answers(1),
                    .longest = with_answers(answer_tokens_max(survey))};
  if (calibration.answers_ended >= kEndedForLikely) {
    // The mean of lengths of which some were cut short, if an answer is as likely to end at one
    // token as at the next: all tokens by all ends.
    estimate.likely_answer_tokens =
        std::min(answer_tokens_max(survey), static_cast<double>(calibration.generated_tokens) /
                                                static_cast<double>(calibration.answers_ended));
    estimate.likely = with_answers(estimate.likely_answer_tokens);
  }
  return estimate;
}

std::string dry_run_to_text(const DryRun& dry_run) {
  const Survey& survey = dry_run.survey;
  TextTable table;
  table.row("input", dry_run.input);
  table.row("rows", fmt::format("{}, {} of them at fault", with_thousands(survey.rows),
                                with_thousands(survey.rows_at_fault)));
  for (const FailureCount& fault : survey.faults) {
    table.row("", failure_text(fault));
  }
  table.row("prompts",
            fmt::format("{}{} tokens, the longest {}", dry_run.tokens_are_guessed ? "about " : "",
                        with_thousands(survey.prompt_tokens),
                        with_thousands(survey.prompt_tokens_longest)));
  table.row("shared prefix",
            fmt::format("{} of the prompt tokens repeat the beginning of another prompt",
                        dry_run_percent(survey.shared_prefix)));
  const bool generates = survey.answers > 0;
  table.row("answers", generates ? fmt::format("at most {} tokens, by max_tokens",
                                               with_thousands(survey.output_tokens_max))
                                 : "no tokens to generate: embeddings or scores");
  if (dry_run.cost_usd_max) {
    table.row("cost", fmt::format("at most ${:.2f}{}", *dry_run.cost_usd_max,
                                  generates ? ", by max_tokens" : ""));
  }
  if (dry_run.tokens_are_guessed) {
    table.row("", "four bytes are taken for a token: the servers count them otherwise");
    table.row("speed", "`windrow probe --upstream URL` measures what a server does");
  }
  if (!dry_run.calibration) return table.take();

  const Calibration& calibration = *dry_run.calibration;
  const Estimate estimate = estimate_time(survey, calibration);
  if (!generates) {
    table.row("speed", fmt::format("{} prompt tokens/s (measured in {})",
                                   human_rate(calibration.prompt_tokens_per_s),
                                   human_duration(calibration.took)));
    table.row("time", fmt::format("about {}, assuming that the speed stays",
                                  human_duration(estimate.shortest)));
    return table.take();
  }
  table.row("speed", fmt::format("{} prompt tokens/s, {} generated tokens/s with {} rows together "
                                 "(measured in {})",
                                 human_rate(calibration.prompt_tokens_per_s),
                                 human_rate(calibration.generated_tokens_per_s), calibration.rows,
                                 human_duration(calibration.took)));
  if (estimate.likely) {
    table.row("time",
              fmt::format("about {}, if answers have {:.0f} tokens on average ({} of {} ended by "
                          "themselves within {})",
                          human_duration(*estimate.likely), estimate.likely_answer_tokens,
                          calibration.answers_ended, calibration.answers, kCalibrationTokens));
  }
  table.row(estimate.likely ? "" : "time",
            fmt::format("between {} (answers of one token) and {} (as long as max_tokens allows)",
                        human_duration(estimate.shortest), human_duration(estimate.longest)));
  table.row("", "assuming that every shared beginning is computed once and that the speed stays");
  if (survey.rows_good() > 1 && survey.shared_prefix < kLittleShared) {
    table.row("hint", "prompts share little: --kv-cache split may be faster (README.md)");
  }
  return table.take();
}

json::object dry_run_to_json(const DryRun& dry_run) {
  const Survey& survey = dry_run.survey;
  json::object result{{"input", dry_run.input},
                      {"rows", survey.rows},
                      {"rows_at_fault", survey.rows_at_fault},
                      {"faults", failures_to_json(survey.faults)},
                      {"prompt_tokens", survey.prompt_tokens},
                      {"prompt_tokens_longest", survey.prompt_tokens_longest},
                      {"shared_prefix", survey.shared_prefix},
                      {"answers", survey.answers},
                      {"output_tokens_max", survey.output_tokens_max},
                      {"tokens_are_guessed", dry_run.tokens_are_guessed},
                      {"cost_usd_max", dry_run.cost_usd_max ? json::value(*dry_run.cost_usd_max)
                                                            : json::value(nullptr)},
                      {"calibration", nullptr},
                      {"estimate", nullptr}};
  if (!dry_run.calibration) return result;

  const Calibration& calibration = *dry_run.calibration;
  const Estimate estimate = estimate_time(survey, calibration);
  result["calibration"] =
      json::object{{"prompt_tokens_per_s", calibration.prompt_tokens_per_s},
                   {"generated_tokens_per_s", calibration.generated_tokens_per_s},
                   {"rows", calibration.rows},
                   {"answers", calibration.answers},
                   {"answers_ended", calibration.answers_ended},
                   {"generated_tokens", calibration.generated_tokens},
                   {"took_s", seconds(calibration.took)}};
  result["estimate"] = json::object{
      {"shortest_s", seconds(estimate.shortest)},
      {"likely_s", estimate.likely ? json::value(seconds(*estimate.likely)) : json::value(nullptr)},
      {"likely_answer_tokens",
       estimate.likely ? json::value(estimate.likely_answer_tokens) : json::value(nullptr)},
      {"longest_s", seconds(estimate.longest)},
      {"assumes", "every shared beginning is computed once; the speed stays"}};
  return result;
}

}  // namespace windrow::report
