#include "engine/generate/fan_out.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ensure.h"
#include "base/random.h"
#include "engine/generate/answer_text.h"
#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

// The answers of the rows, as they come in. One that fails is the end of all, told when the others
// have ended, too: then it is known what they cost. The device thread's.
class Join {
 public:
  Join(size_t rows, int32_t choices, llm::Backend::Done done)
      : group(std::make_shared<RowGroup>()),
        answers_(rows),
        usages_(rows),
        left_(rows),
        choices_(static_cast<size_t>(choices)),
        done_(std::move(done)) {}

  void take(size_t row, llm::Outcome outcome) {
    if (auto* failure = std::get_if<llm::Failure>(&outcome)) {
      group->abandoned = true;
      usages_[row] = failure->usage;
      if (!failure_) failure_ = std::move(*failure);
    } else {
      answers_[row] = std::get<llm::Answer>(std::move(outcome));
      usages_[row] = answers_[row]->usage;
    }
    if (--left_ > 0) return;
    if (failure_) {
      failure_->usage = usage();
      done_(*std::move(failure_));
      return;
    }
    std::optional<llm::Answer> answer;
    try {
      answer = whole();
    } catch (const std::bad_alloc&) {
      failure_ = out_of_memory();
      failure_->usage = usage();
    }
    if (failure_) return done_(*std::move(failure_));
    done_(*std::move(answer));
  }

  const std::shared_ptr<RowGroup> group;
  std::vector<std::vector<Token>> prompts;  // Answer::prompt_token_ids

 private:
  llm::Answer whole() {
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    int64_t started_ms = kNever;
    int64_t answering_ms = kNever;
    int64_t ended_ms = 0;
    llm::Answer whole;
    for (size_t row = 0; row < answers_.size(); ++row) {
      llm::Answer& answer = answers_[row].value();
      whole.choices.push_back(std::move(answer.choices.at(0)));
      whole.truncated = whole.truncated || answer.truncated;
      const llm::Timings& timings = answer.timings;
      started_ms = std::min(started_ms, timings.queue_ms);
      answering_ms = std::min(answering_ms, timings.queue_ms + timings.prefill_ms);
      ended_ms = std::max(ended_ms, timings.queue_ms + timings.prefill_ms + timings.decode_ms);
    }
    whole.timings = {.queue_ms = started_ms,
                     .prefill_ms = answering_ms - started_ms,
                     .decode_ms = ended_ms - answering_ms};
    whole.usage = usage();
    whole.prompt_token_ids = std::move(prompts);
    return whole;
  }

  llm::Usage usage() const {
    llm::Usage all;
    for (size_t row = 0; row < usages_.size(); ++row) {
      if (row % choices_ == 0) {
        all.prompt_tokens += usages_[row].prompt_tokens;
        // The other choices have from this one what it computed.
        all.cached_tokens += usages_[row].cached_tokens;
      }
      all.completion_tokens += usages_[row].completion_tokens;
      all.reasoning_tokens += usages_[row].reasoning_tokens;
    }
    return all;
  }

  std::vector<std::optional<llm::Answer>> answers_;
  std::vector<llm::Usage> usages_;
  std::optional<llm::Failure> failure_;  // the first
  size_t left_;
  size_t choices_;
  const llm::Backend::Done done_;
};

std::string text_of(const llm::Input& input, const Vocabulary& vocabulary) {
  if (input.tokens.empty()) return input.text;
  std::string text;
  for (const Token token : input.tokens)
    vocabulary.append_piece(token, text);
  return text;
}

// Code points of well-formed UTF-8.
int32_t characters_of(std::string_view text) {
  return static_cast<int32_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

uint64_t seed_of_choice(uint64_t seed, int32_t choice) {
  if (choice == 0) return seed;
  // Far from the seeds next to it, which a client may well use for other requests.
  return Random(seed ^ Random(static_cast<uint64_t>(choice)).next()).next();
}

std::vector<EngineRequest> fan_out(const llm::BackendCall& call,
                                   std::vector<std::vector<Token>> prompts,
                                   const Vocabulary& vocabulary, const FanOutLimits& limits,
                                   TimePoint submitted_at, llm::Backend::Done done) {
  const llm::Request& request = *call.request;
  ENSURE(!prompts.empty() && request.choices > 0, "a request without prompts or choices");
  ENSURE(!request.echo || prompts.size() == request.inputs.size(), "{} prompts of {} inputs",
         prompts.size(), request.inputs.size());
  const size_t rows_count = prompts.size() * static_cast<size_t>(request.choices);
  const auto join = std::make_shared<Join>(rows_count, request.choices, std::move(done));
  if (request.return_token_ids) join->prompts = prompts;
  std::vector<EngineRequest> rows;
  rows.reserve(rows_count);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const int32_t context_left = limits.row_tokens_max - static_cast<int32_t>(prompts[i].size());
    // Of a chat the text is the template's, and no offsets are counted in it.
    const std::string text =
        i < request.inputs.size() ? text_of(request.inputs[i], vocabulary) : std::string();
    EngineRequest row{
        .prompt = std::move(prompts[i]),
        .output_tokens_max = std::min(
            request.output_tokens_max.value_or(limits.output_tokens_default), context_left),
        .sampling = request.sampling,
        .stop = request.stop,
        .stop_tokens = request.stop_tokens,
        .ignore_eos = request.ignore_eos,
        .logprobs_top = request.logprobs_top,
        .shown_tokens = limits.reading.shown_tokens,
        .score_prompt = request.echo && request.logprobs_top.has_value(),
        .prompt_logprobs_top = request.prompt_logprobs_top,
        .score_from = request.score_from,
        .return_token_ids = request.return_token_ids,
        .text_before = request.echo ? text : std::string(),
        .group = join->group,
        .form = limits.form,
        .reasoning = limits.reading.reasoning,
        .tools = limits.reading.tools,
        .keep = limits.keep,
        .priority = call.priority,
        .trace_tag = call.trace_tag,
        .submitted_at = submitted_at,
        .listener = call.listener,
        .text_begin = request.echo ? 0 : characters_of(text),
        .answer_share = call.answer_share,
        .withdrawn = call.withdrawn,
        .unwanted = call.unwanted};
    for (int32_t choice = 0; choice < request.choices; ++choice) {
      rows.push_back(row);
      rows.back().sampling.seed = seed_of_choice(request.sampling.seed, choice);
      if (row.tools) rows.back().call_seed = call_seed(row.prompt, rows.back().sampling.seed);
      rows.back().choice = static_cast<int32_t>(rows.size()) - 1;
      rows.back().done = [join, at = rows.size() - 1](llm::Outcome outcome) {
        join->take(at, std::move(outcome));
      };
    }
  }
  return rows;
}

}  // namespace windrow::engine
