// The part of StepLoop that makes answers of tokens: what a row says, tells and ends with.
#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "engine/generate/step_loop.h"
#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

// Of a token of an answer: itself and its text.
constexpr size_t kTokenBytes = 16;

KeptScore kept_score(const llm::ScoredToken& scored, int32_t top_asked) {
  KeptScore score{.next = scored.chosen.token,
                  .logprob = scored.chosen.logprob,
                  .top_asked = top_asked,
                  .top = {}};
  score.top.reserve(scored.top.size());
  for (const llm::TokenLogprob& one : scored.top)
    score.top.push_back({.token = one.token, .logprob = one.logprob});
  return score;
}

}  // namespace

// The row begins behind tokens that another row has scored.
void StepLoop::take_scores(const TakenScores& taken) {
  Row& row = rows_.at(taken.row);
  for (const KeptScore& score : taken.scores) {
    // It is part of the step that is about to run.
    if (row.no_room) return;
    llm::ScoredToken& scored = row.scored.emplace_back(
        llm::ScoredToken{.chosen = token_logprob(score.next, score.logprob)});
    const auto count = std::min(score.top.size(), static_cast<size_t>(*row.request.logprobs_top));
    for (const KeptAlternative& one : std::span(score.top).first(count))
      scored.top.push_back(token_logprob(one.token, one.logprob));
    row.no_room = !has_room(row, llm::bytes_of(scored));
  }
}

// What a row that lost its place computes again has no logits, because it has had its scores.
void StepLoop::keep_scores_again(const Slice& slice) {
  const Row& row = rows_.at(slice.row);
  if (!row.request.score_prompt) return;
  const Position end = slice.first + slice.tokens_count - slice.outputs_count;
  for (Position position = slice.first; position < end; ++position) {
    const auto next = static_cast<size_t>(position) + 1;
    if (next >= row.scored.size()) return;
    plan_.keep_score(slice.row, position, kept_score(row.scored[next], *row.request.logprobs_top));
  }
}

// Memory that ends for one row ends that row, and no other.
template <class Task>
void StepLoop::with_memory_of(RowId id, const Task& task) {
  try {
    task();
  } catch (const std::bad_alloc&) {
    if (rows_.contains(id)) end(id, out_of_memory());
  }
}

// Whether the answer may take so many bytes more.
bool StepLoop::has_room(const Row& row, size_t bytes) {
  return !row.request.answer_share || row.request.answer_share->grow(bytes);
}

void StepLoop::take(Output& output) {
  with_memory_of(output.id, [&] { take_output(output); });
}

void StepLoop::take_output(Output& output) {
  const auto found = rows_.find(output.id);
  if (found == rows_.end()) return;  // an earlier output of this step ended it
  Row& row = found->second;
  if (output.no_memory) {
    end(output.id, out_of_memory());
    return;
  }
  if (output.token) {
    const size_t bytes =
        kTokenBytes + (row.request.logprobs_top ? llm::bytes_of(output.scored) : 0);
    if (row.no_room || !has_room(row, bytes)) {
      end(output.id, llm::no_room_for_answer());
      return;
    }
  }
  if (!output.token) {
    const bool nothing_allowed = output.mask && output.mask->count() == 0;
    if (nothing_allowed && row.guide->too_complex()) {
      end(output.id, too_complex());
      return;
    }
    end(output.id,
        nothing_allowed
            ? llm::Failure{.code = "unsupported_by_model",
                           .message = "the model's vocabulary has no token for what has to come "
                                      "next under this structure",
                           .param = "response_format"}
            : row_failure(
                  "engine_error",
                  "the model's logits are not numbers; its file may be damaged, or its weights "
                  "overflow the number format in use (try --kv-type f32)"));
    return;
  }
  if (row.request.score_prompt)
    plan_.keep_score(output.id, output.position,
                     kept_score(output.scored, *row.request.logprobs_top));
  if (row.request.logprobs_top) row.scored.push_back(std::move(output.scored));
  const auto tokens = static_cast<Position>(row.tokens.size());
  if (output.position + 1 == tokens) {
    take_token(output.id, row, *output.token);
  } else if (row.ending && output.position + 2 == tokens) {
    finish(output.id, *row.ending);
  }
}

void StepLoop::take_token(RowId id, Row& row, Token token) {
  if (!row.answering_since) row.answering_since = clock_.now();
  const size_t said_before = row.tokens.size();
  std::optional<llm::FinishReason> ended = say(row, token);
  if (!ended && row.guide) ended = say_forced(row);
  go_on(id, row, ended, said_before);
}

// The row has said more: it ends, or the model sees what is new.
void StepLoop::go_on(RowId id, Row& row, std::optional<llm::FinishReason> ended,
                     size_t said_before) {
  if (row.too_complex) {
    end(id, too_complex());
    return;
  }
  const auto said = static_cast<int32_t>(row.tokens.size() - said_before);
  const bool scores = row.request.logprobs_top.has_value();
  if (!ended) {
    plan_.extend(id, said, scores);
    if (row.guide) want_mask(row);
  } else if (scores && said > 1) {
    // The tokens that were forced have no scores yet.
    row.ending = ended;
    plan_.extend(id, said - 1, true);
  } else {
    finish(id, *ended);
  }
}

// The answer has one more token. Returns how it ends, if it does.
std::optional<llm::FinishReason> StepLoop::say(Row& row, Token token) {
  ++generated_tokens_;
  row.tokens.push_back(token);
  const std::optional<llm::FinishReason> ended = say_text(row, token);
  if (row.stream) {
    row.stream->token_said(row.text.bytes().size(),
                           row.guide ? row.guide->speech_begin() : std::nullopt);
  }
  if (ended) return ended;
  if (row.generated_tokens() == row.request.output_tokens_max) return llm::FinishReason::kLength;
  return std::nullopt;
}

// What a token is in the text of an answer.
void StepLoop::append_text(const Row& row, Token token, std::string& bytes) const {
  if (std::ranges::find(row.request.shown_tokens, token) != row.request.shown_tokens.end()) {
    vocabulary_.append_piece(token, bytes);
  } else {
    vocabulary_.append_bytes(token, bytes);
  }
}

std::optional<llm::FinishReason> StepLoop::say_text(Row& row, Token token) {
  if (vocabulary_.ends_answer(token)) {
    if (!row.request.ignore_eos) return llm::FinishReason::kStop;
  } else {
    std::string bytes;
    append_text(row, token, bytes);
    if (row.text.append(bytes)) {
      row.stopped = true;
      return llm::FinishReason::kStop;
    }
    if (row.call_end &&
        row.call_end->reached(
            std::string_view(row.text.bytes()).substr(0, row.text.settled_bytes()))) {
      row.called = true;
      return llm::FinishReason::kStop;
    }
    if (row.guide) {
      const bool accepted = row.guide->accept(token, bytes);
      ENSURE(accepted || row.guide->too_complex(), "token {} was allowed and is not accepted",
             token);
      if (!accepted) {
        row.too_complex = true;
        return llm::FinishReason::kStop;
      }
      row.text.drop_last(row.guide->bytes_behind_end());
      if (row.guide->must_end()) return llm::FinishReason::kStop;
    }
  }
  return std::nullopt;
}

llm::TokenLogprob StepLoop::token_logprob(Token token, double logprob) const {
  llm::TokenLogprob one{.token = token, .logprob = static_cast<float>(logprob)};
  vocabulary_.append_piece(token, one.bytes);
  return one;
}

std::unique_ptr<AnswerStream> StepLoop::stream_of(const Row& row) {
  const EngineRequest& request = row.request;
  const std::string before = row.guide ? utf8_repair(request.text_before) : request.text_before;
  StreamedAnswer answer{
      .choice = request.choice,
      .text_begin = request.text_begin,
      .text_before = before,
      .lists_tokens = request.logprobs_top.has_value(),
      .prompt_tokens = request.score_prompt ? static_cast<size_t>(row.prompt_tokens) : 0};
  if (row.guide && !request.tools) {
    answer.guided = true;
    answer.reasoning = request.form->reasoning;
    answer.prompt_end = request.form->prompt_end;
    answer.speech_begin = row.guide->speech_begin();
  } else if (request.reasoning) {
    answer.reasoning = request.reasoning->format;
    answer.prompt_end = request.reasoning->prompt_end;
    answer.tools = request.tools;
    answer.call_seed = call_seed(request.prompt, request.sampling.seed);
  }
  return std::make_unique<AnswerStream>(answer);
}

// Who listens to the row hears what is new, but nothing after the Done of its request.
void StepLoop::tell(RowId id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  Row& row = found->second;
  if (!row.stream || (row.request.group && row.request.group->abandoned)) return;
  with_memory_of(id, [&] { tell_listener(row); });
}

void StepLoop::tell_listener(Row& row) {
  for (llm::Delta& piece : row.stream->next(row.text, row.scored))
    row.request.listener->on_delta(std::move(piece));
}

void StepLoop::finish(RowId id, llm::FinishReason reason) {
  Row& row = rows_.at(id);
  const TimePoint now = clock_.now();
  const TimePoint answering_since = row.answering_since.value_or(now);
  llm::Answer answer{
      .choices = {{.text_begin = row.request.text_begin,
                   .finish_reason = reason,
                   .tokens = std::move(row.scored)}},
      .usage = {.prompt_tokens = row.prompt_tokens,
                .completion_tokens = row.generated_tokens(),
                .cached_tokens = row.cached_tokens},
      .timings = {.queue_ms = milliseconds(row.started_at - row.request.submitted_at),
                  .prefill_ms = milliseconds(answering_since - row.started_at),
                  .decode_ms = milliseconds(now - answering_since)}};
  llm::Choice& choice = answer.choices.front();
  if (row.guide) {
    const bool whole = reason == llm::FinishReason::kStop && !row.stopped;
    // The grammar of calls goes on behind the only one that is wanted.
    ENSURE(!whole || row.called || row.guide->can_end(),
           "row {} ended before its structure was whole", id.value());
    // An answer that need neither call nor have a form is never cut too early.
    if (!row.request.form->call_marks) {
      choice.structure = whole ? llm::StructureLabel::kValid : llm::StructureLabel::kTruncated;
      answer.truncated = !whole;
    }
  }
  choice.stopped_by = row.text.stopped_by();
  choice.cut_character =
      reason == llm::FinishReason::kLength && utf8_incomplete_tail(row.text.bytes()) > 0;
  describe(row, choice);
  if (choice.reasoning) answer.usage.reasoning_tokens = thought_tokens(row);
  if (row.stream && !(row.request.group && row.request.group->abandoned))
    row.request.listener->on_delta(row.stream->last(choice));
  end(id, std::move(answer));
}

// What it has cost until now. Of the prompt that is what was computed, or was there already.
llm::Usage StepLoop::usage_so_far(const Row& row) {
  return {.prompt_tokens = row.prompt_tokens_counted,
          .completion_tokens = row.generated_tokens(),
          .cached_tokens = row.cached_tokens};
}

// What was thought and what was said.
void StepLoop::describe(const Row& row, llm::Choice& choice) {
  if (!row.guide && !row.request.reasoning) {
    choice.text = utf8_repair(row.request.text_before + row.text.bytes());
    return;
  }
  const bool guided = row.guide && !row.request.tools;
  const chat::SplitAnswer split =
      guided ? row.guide->split(row.text.bytes())
             : chat::split_reasoning(row.request.reasoning->format,
                                     row.request.reasoning->prompt_end, row.text.bytes());
  const std::string before = utf8_repair(row.request.text_before);
  choice.text = before + utf8_repair(split.content);
  if (split.reasoning) choice.reasoning = utf8_repair(*split.reasoning);
  if (guided) {
    choice.prompt_bytes = before.size();
  } else if (row.request.tools) {
    take_calls(row.request.tools, call_seed(row.request.prompt, row.request.sampling.seed), choice);
  }
}

// Where the thoughts stand in the text of the answer so far.
std::vector<std::string_view> StepLoop::thoughts_of(const Row& row) {
  const std::string_view text = row.text.bytes();
  const bool guided = row.guide && !row.request.tools;
  if (!guided) {
    if (!row.request.reasoning) return {};
    return chat::thoughts_in(row.request.reasoning->format, row.request.reasoning->prompt_end,
                             text);
  }
  const std::optional<size_t> speech_begin = row.guide->speech_begin();
  if (!speech_begin) return {};
  return chat::thoughts_in(row.request.form->reasoning, row.request.form->prompt_end,
                           text.substr(0, *speech_begin));
}

// Counts tokens with text of thoughts; tokens of the marks and of whitespace around them are not.
int32_t StepLoop::thought_tokens(const Row& row) const {
  const char* const text = row.text.bytes().data();
  int32_t count = 0;
  auto token = static_cast<size_t>(row.prompt_tokens);
  size_t begin = 0;  // of the text of `token`
  std::string piece;
  for (const std::string_view thought : thoughts_of(row)) {
    const auto from = static_cast<size_t>(thought.data() - text);
    const size_t to = from + thought.size();
    for (; token < row.tokens.size() && begin < to; ++token) {
      piece.clear();
      if (!vocabulary_.ends_answer(row.tokens[token])) append_text(row, row.tokens[token], piece);
      if (begin + piece.size() > from && !piece.empty()) ++count;
      begin += piece.size();
    }
  }
  return count;
}

}  // namespace windrow::engine
