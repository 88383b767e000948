// The part of StepLoop that makes answers of tokens: what a row says, tells and ends with.
#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "engine/row_failures.h"
#include "engine/step_loop.h"

namespace windrow::engine {

void StepLoop::take(Output& output) {
  const auto found = rows_.find(output.id);
  if (found == rows_.end()) return;  // an earlier output of this step ended it
  Row& row = found->second;
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
    if (row.call_end && row.call_end->reached(
                            std::string_view(row.text.bytes()).substr(0, row.text.settled_bytes())))
      return llm::FinishReason::kStop;
    if (row.guide) {
      const bool accepted = row.guide->accept(token, bytes);
      ENSURE(accepted || row.guide->too_complex(), "token {} was allowed and is not accepted",
             token);
      if (!accepted) {
        row.too_complex = true;
        return llm::FinishReason::kStop;
      }
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
  for (llm::Piece& piece : row.stream->next(row.text, row.scored))
    row.request.listener->on_piece(std::move(piece));
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
    ENSURE(!whole || row.guide->can_end(), "row {} ended before its structure was whole",
           id.value());
    // Of calls the finish reason says whether they are whole.
    if (!row.request.tools) {
      choice.structure = whole ? llm::StructureLabel::kValid : llm::StructureLabel::kTruncated;
      answer.truncated = !whole;
    }
  }
  choice.stopped_by = row.text.stopped_by();
  describe(row, choice);
  if (choice.reasoning) answer.usage.reasoning_tokens = thought_tokens(row, *choice.reasoning);
  if (row.stream && !(row.request.group && row.request.group->abandoned))
    row.request.listener->on_piece(row.stream->last(choice));
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

// Those that begin before the thoughts end, where they are found by their last words.
int32_t StepLoop::thought_tokens(const Row& row, std::string_view reasoning) const {
  constexpr size_t kTailBytes = 64;
  const size_t tail = reasoning.size() - std::min(reasoning.size(), kTailBytes);
  const size_t at = row.text.bytes().find(reasoning.substr(tail), tail);
  if (at == std::string::npos) return 0;
  const size_t end = at + reasoning.size() - tail;
  int32_t count = 0;
  size_t bytes = 0;
  std::string piece;
  for (auto i = static_cast<size_t>(row.prompt_tokens); i < row.tokens.size() && bytes < end; ++i) {
    piece.clear();
    append_text(row, row.tokens[i], piece);
    bytes += piece.size();
    ++count;
  }
  return count;
}

}  // namespace windrow::engine
