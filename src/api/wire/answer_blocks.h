// Answers as lists of blocks - reasoning, text, tool calls - as /v1/responses, /v1/messages and
// Ollama have them: of whole answers, and BlockStream, the common part of their streams. Pure.
//
// BlockStream decides which block a delta belongs to; a subclass for each API writes the events:
//   begin, then for each block: open, more..., close; then finish - or failed at any point
//
// Invariant: however an answer is cut into deltas, the joined blocks are those of the whole answer
// (blocks_of), if its parts come in their order: reasoning, text, calls. Parts in another order
// become blocks of their own.
//
// A block is closed when the next one begins, the last one with the answer, because whether the
// answer has the requested structure is known only then. Raw deltas of upstreams are parsed first
// (llm/raw_body.h). An upstream that mixes the tool calls of its stream makes the stream fail,
// because a closed call cannot be opened again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/answer_stream.h"
#include "llm/answer.h"

namespace windrow::api {

struct AnswerBlock {
  enum class Kind : uint8_t {
    kReasoning,
    kText,
    kRefusal,  // of an upstream
    kCall,
  };

  Kind kind = Kind::kText;
  std::string text;       // kCall: its arguments
  std::string call_id;    // kCall
  std::string call_name;  // kCall

  // kText: the tokens of the whole answer, if logprobs are listed. They include those of the
  // reasoning and the last token, as in /v1/chat/completions.
  std::vector<llm::ScoredToken> tokens;
};

// How an answer ended.
struct AnswerEnding {
  llm::FinishReason reason = llm::FinishReason::kStop;
  std::optional<std::string> stopped_by;
  std::optional<llm::StructureLabel> structure;
  bool cut_character = false;
  std::vector<std::string> structure_warnings;
  llm::Usage usage;
  llm::Timings timings;
};

// The blocks of an answer's only choice, in the order in which a model makes them.
std::vector<AnswerBlock> blocks_of(const llm::Choice& choice);
AnswerEnding ending_of(const llm::Answer& answer);

// The id of a tool call: its own, or, if an upstream gave none, one made of the answer's.
std::string call_id(std::string_view own, std::string_view answer_id, size_t block);

class BlockStream : public AnswerStream {
 public:
  void emit(const llm::Delta& delta, std::string& events) final;
  void end(const llm::Answer& answer, std::string& events) final;
  void fail(const llm::Failure& failure, std::string& events) final;

 protected:
  // `block` has the content that was sent before; `index` counts the blocks.
  virtual void begin(std::string& events) = 0;
  virtual void open(const AnswerBlock& block, size_t index, std::string& events) = 0;
  virtual void more(const AnswerBlock& block, size_t index, std::string_view text,
                    std::span<const llm::ScoredToken> tokens, std::string& events) = 0;
  virtual void close(const AnswerBlock& block, size_t index, const AnswerEnding* ending,
                     std::string& events) = 0;
  virtual void finish(const AnswerEnding& ending, std::string& events) = 0;
  virtual void failed(const llm::Failure& failure, std::string& events) = 0;

  // True if an empty answer gets an empty text block.
  virtual bool needs_text() const = 0;

  const std::vector<AnswerBlock>& blocks() const { return blocks_; }
  bool has_begun() const { return begun_; }
  void begin_once(std::string& events);

 private:
  void emit_own(const llm::Delta& delta, std::string& events);
  void emit_call(const llm::ToolCallPiece& call, std::string& events);
  void emit_text(AnswerBlock::Kind kind, std::string_view text, std::string& events);
  void emit_rest(const llm::Choice& choice, std::string& events);
  void open_block(AnswerBlock block, std::string& events);
  void close_block(const AnswerEnding* ending, std::string& events);
  bool is_open(AnswerBlock::Kind kind) const { return open_ && blocks_.back().kind == kind; }

  bool begun_ = false;
  bool raw_ = false;
  bool open_ = false;   // the last block is open
  bool mixed_ = false;  // tool calls were mixed
  std::vector<AnswerBlock> blocks_;
  int32_t call_ = -1;                             // Delta's index of the call that came last
  std::vector<llm::ScoredToken> pending_tokens_;  // tokens that were not sent with any text yet
  AnswerEnding ending_;

  // How much of the answer the deltas had:
  size_t reasoning_bytes_ = 0;
  size_t text_bytes_ = 0;
  size_t refusal_bytes_ = 0;
  size_t tokens_ = 0;
  std::vector<size_t> argument_bytes_;  // of each call
};

}  // namespace windrow::api
