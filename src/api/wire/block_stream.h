// BlockStream: the part of a stream that APIs of blocks have in common. It decides which block a
// piece belongs to; how that is said is for the class of each API. Pure.
//
//   begin, then for each block: open, more..., close; then finish - or fail anywhere
//
// Invariant: however an answer is cut into pieces, the blocks joined are those of the whole answer
// (answer_blocks.h) where it is made in their order: thoughts, text, calls. What comes in another
// order is said as it comes, in a block of its own.
//
// A block is closed when the next one begins, the last one with the answer: whether an answer has
// the form that was asked for is known then. Pieces of servers elsewhere are read into our own
// first (llm/raw_answer.h; whole answers have been, own_form.h); one that mixes the calls of its
// stream fails it, for a call that was closed cannot be opened again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/answer_blocks.h"
#include "api/wire/answer_stream.h"

namespace windrow::api {

class BlockStream : public AnswerStream {
 public:
  void say(const llm::Delta& piece, std::string& events) final;
  void end(const llm::Answer& answer, std::string& events) final;
  void fail(const llm::Failure& failure, std::string& events) final;

 protected:
  // `block` has what was said of it before; `index` is its place among the blocks.
  virtual void begin(std::string& events) = 0;
  virtual void open(const AnswerBlock& block, size_t index, std::string& events) = 0;
  virtual void more(const AnswerBlock& block, size_t index, std::string_view text,
                    std::span<const llm::ScoredToken> tokens, std::string& events) = 0;
  virtual void close(const AnswerBlock& block, size_t index, const AnswerEnding* ending,
                     std::string& events) = 0;
  virtual void finish(const AnswerEnding& ending, std::string& events) = 0;
  virtual void failed(const llm::Failure& failure, std::string& events) = 0;

  // An answer that says nothing has no block, unless this opens one.
  virtual bool needs_text() const = 0;

  const std::vector<AnswerBlock>& blocks() const { return blocks_; }
  bool has_begun() const { return begun_; }
  void begin_once(std::string& events);

 private:
  void say_own(const llm::Delta& piece, std::string& events);
  void say_call(const llm::ToolCallPiece& call, std::string& events);
  void say_text(AnswerBlock::Kind kind, std::string_view text, std::string& events);
  void say_rest(const llm::Choice& choice, std::string& events);
  void open_block(AnswerBlock block, std::string& events);
  void close_block(const AnswerEnding* ending, std::string& events);
  bool is_open(AnswerBlock::Kind kind) const { return open_ && blocks_.back().kind == kind; }

  bool begun_ = false;
  bool from_elsewhere_ = false;
  bool open_ = false;   // the last block
  bool mixed_ = false;  // calls came in an order that cannot be said
  std::vector<AnswerBlock> blocks_;
  int32_t call_ = -1;                     // Delta's index of the call that came last
  std::vector<llm::ScoredToken> unsaid_;  // tokens that no text has taken along yet
  AnswerEnding ending_;

  // What pieces have said in all.
  size_t reasoning_bytes_ = 0;
  size_t text_bytes_ = 0;
  size_t refusal_bytes_ = 0;
  size_t tokens_ = 0;
  std::vector<size_t> argument_bytes_;  // of each call
};

}  // namespace windrow::api
