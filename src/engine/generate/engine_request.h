// EngineRequest: one row of generation as StepLoop takes it, tokenised and checked on the caller's
// thread. A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "chat/reasoning.h"
#include "chat/tool_call_stream.h"
#include "engine/host/types.h"
#include "engine/structure/answer_guide.h"
#include "llm/answer_room.h"
#include "llm/backend.h"
#include "llm/priority.h"
#include "llm/request.h"
#include "llm/stream_sink.h"

namespace windrow::engine {

// Rows that are one request together. Used by the device thread alone once they are submitted.
struct RowGroup {
  bool started = false;    // one of them has been in a step, so none counts as waiting
  bool abandoned = false;  // the request has ended: they end with kCancelled before the next step
};

struct EngineRequest {
  std::vector<Token> prompt;      // at least one token
  int32_t output_tokens_max = 1;  // prompt and answer fit RunnerLimits::row_tokens_max; may be 0
  llm::Sampling sampling;
  std::vector<std::string> stop;
  std::vector<Token> stop_tokens;
  bool ignore_eos = false;
  std::optional<int32_t> logprobs_top;
  std::vector<Token> shown_tokens;  // control tokens that appear in the text, such as "[THINK]"
  bool score_prompt = false;        // Choice::tokens begins with the prompt's; needs logprobs_top

  // The prompt's scores are listed apart, as Choice::prompt_scores. Not together with a listener.
  std::optional<int32_t> prompt_logprobs_top;
  Position score_from = 0;  // the first token of the prompt that is scored, if any is

  bool return_token_ids = false;    // Choice::token_ids, Delta::token_ids
  std::string text_before;          // Choice::text begins with it
  std::shared_ptr<RowGroup> group;  // null: a row of its own

  // What the answer has to be; null: any text. Not together with ignore_eos or without room for an
  // answer. The answer's reasoning, which is free, is then split off.
  std::shared_ptr<const AnswerForm> form;

  // Without a form, or with `tools`: how reasoning is marked, which is split off; null: all of the
  // answer is content.
  std::shared_ptr<const chat::ReasoningContext> reasoning;

  // The tools whose calls are looked for in the content; null: calls are text. Only together with
  // `reasoning`. A form beside it is that of calls, or one that includes calls.
  std::shared_ptr<const chat::ToolContext> tools;
  uint64_t call_seed = 0;  // with `tools`, for call_id

  bool keep = false;  // a later prompt is likely to begin with all of this row's tokens
  llm::Priority priority = llm::Priority::kNormal;
  uint64_t trace_tag = 0;  // llm::RowTrace::tag
  TimePoint submitted_at;

  // Receives the answer while it is generated, as this choice of its request; null: none does.
  std::shared_ptr<llm::StreamSink> listener;
  int32_t choice = 0;
  int32_t text_begin = 0;  // Choice::text_begin

  std::shared_ptr<llm::AnswerShare> answer_share;  // llm::BackendCall::answer_share

  // As llm::BackendCall's: once stopped, the row ends with kCancelled before the next step;
  // `withdrawn` only while no row of its group has been in a step.
  std::stop_token withdrawn;
  std::stop_token unwanted;
  llm::Backend::Done done;  // called once, on the device thread

  // Whether tokens of the prompt are scored, in either list.
  bool scores_prompt() const { return score_prompt || prompt_logprobs_top; }

  // The alternatives that are computed beside each scored token; nothing: none is scored.
  std::optional<int32_t> scores_top() const { return std::max(logprobs_top, prompt_logprobs_top); }
};

}  // namespace windrow::engine
