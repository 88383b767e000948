// AnswerRow: the answer of one row while it is generated: its tokens, text, scores, tool calls,
// reasoning and stream, and how it ends. It knows no model: tokens go in, an llm::Answer comes out.
//
// Used by one thread at a time; const methods may be called by several while no other is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/generate/answer_stream.h"
#include "engine/generate/answer_text.h"
#include "engine/generate/engine_request.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "engine/schedule/kv_cells.h"
#include "engine/structure/answer_guide.h"
#include "llm/answer.h"

namespace windrow::engine {

enum class StructureFault : uint8_t {
  kTooComplex,    // AnswerGuide::too_complex
  kTokenRefused,  // the guide does not accept a token that its mask allowed: a defect
};

class AnswerRow {
 public:
  // What one call has appended to the answer.
  struct Appended {
    int32_t tokens = 0;
    int32_t forced = 0;                      // of these, without asking the model
    std::optional<llm::FinishReason> ended;  // the answer is complete
  };

  // Takes the request; no more is done before begin(). `vocabulary` must outlive it.
  AnswerRow(EngineRequest request, const Vocabulary& vocabulary);

  const EngineRequest& request() const { return request_; }

  // Prompt and answer so far. The address of the vector is stable while the row is not moved.
  const std::vector<Token>& tokens() const { return tokens_; }
  int32_t prompt_tokens() const { return prompt_tokens_; }
  int32_t generated_tokens() const { return static_cast<int32_t>(tokens_.size()) - prompt_tokens_; }

  // Prepares the answer and appends the tokens that the form forces before the model is asked for
  // one. To be called once, first.
  Appended begin();

  // Appends a sampled token, which the form's mask allowed, and the tokens that are forced after
  // it.
  Appended append(Token token);

  // The answer is complete but its last tokens have no scores yet.
  std::optional<llm::FinishReason> ending() const { return ending_; }
  void end_when_scored(llm::FinishReason reason) { ending_ = reason; }

  // Why the answer cannot go on in its structure; nothing while it can.
  std::optional<StructureFault> structure_fault() const { return structure_fault_; }

  // Counts so many bytes more against the request's share of memory for answers. False: there is no
  // room, now and for ever.
  bool grow(size_t bytes);

  // --- log-probabilities, where logprobs_top asks for them ---

  bool has_scores() const { return request_.scores_top().has_value(); }
  llm::TokenLogprob token_logprob(Token token, double logprob) const;
  void add_score(llm::ScoredToken score) { scored_.push_back(std::move(score)); }

  // The scores of the next tokens of the prompt, which another row has computed.
  void add_kept_scores(std::span<const KeptScore> scores);

  // The score of the token at `index`, as KeptScores keeps it; nothing while it has none.
  std::optional<KeptScore> kept_score(size_t index) const;

  // --- its structure and its stream ---

  // Null without a form. Between MaskFiller::want and the mask it must not be used here.
  const std::shared_ptr<AnswerGuide>& guide() const { return guide_; }

  bool is_streamed() const { return stream_ != nullptr; }

  // Sends the listener what is new and final. Nothing after its request was abandoned.
  void emit();

  // The whole answer; sends the listener the last delta. To be called once, at the end.
  llm::Answer finish(llm::FinishReason reason, const llm::Timings& timings, int32_t cached_tokens);

  // The request's Done, to be called once.
  llm::Backend::Done take_done() { return std::move(request_.done); }

 private:
  std::unique_ptr<AnswerStream> make_stream() const;
  bool is_abandoned() const { return request_.group && request_.group->abandoned; }
  bool is_guided() const { return guide_ && !request_.tools; }
  Appended append_all(std::optional<Token> token);
  std::optional<llm::FinishReason> append_one(Token token);
  std::optional<llm::FinishReason> append_text(Token token);
  std::optional<llm::FinishReason> append_forced();
  std::optional<llm::FinishReason> close_reasoning();
  std::span<const Token> answer_tokens() const;
  void name_prompt(llm::Delta& delta);
  size_t prompt_scores() const;
  void append_bytes(Token token, std::string& bytes) const;
  void list_scores(llm::Choice& choice);
  void describe(llm::Choice& choice) const;
  std::vector<std::string_view> reasoning_parts() const;
  int32_t count_reasoning_tokens() const;

  EngineRequest request_;
  const Vocabulary& vocabulary_;
  std::vector<Token> tokens_;
  int32_t prompt_tokens_;
  int32_t forced_tokens_ = 0;
  AnswerText text_;
  std::vector<llm::ScoredToken> scored_;
  std::unique_ptr<AnswerStream> stream_;  // null without a listener
  std::unique_ptr<CallEnd> call_end_;     // null unless it may call one tool only
  std::shared_ptr<AnswerGuide> guide_;
  std::optional<llm::FinishReason> ending_;
  bool called_ = false;   // the one call is complete
  bool stopped_ = false;  // by a stop text or a stop token
  std::optional<Token> stopped_by_token_;
  bool prompt_emitted_ = false;  // Delta::prompt_token_ids
  std::optional<StructureFault> structure_fault_;
  bool no_room_ = false;
};

// The score of a token, as KeptScores keeps it.
KeptScore kept_score(const llm::ScoredToken& scored, int32_t top_asked);

}  // namespace windrow::engine
