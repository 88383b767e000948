// What a context consists of: chains of turns and of pieces, each link behind the one before. Links
// never change, so contexts share them: a fork copies one pointer. Used by one thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "llm/tokenizer.h"

namespace windrow::program {

// What the template makes of messages, up to where the model begins to answer.
struct Rendering {
  std::vector<int32_t> tokens;

  // They are the whole conversation; else they follow the last answer whose tokens are kept.
  bool is_whole = false;

  // That answer's last token, its end, does not belong before them.
  bool drops_last = false;
};

// A part of an open answer, or of raw text.
struct Piece {
  std::shared_ptr<const Piece> before;  // null: the first one
  std::vector<int32_t> tokens;          // none where a server elsewhere has the model
  std::string bytes;                    // may end within a character
  size_t end = 0;                       // tokens up to here

  Piece(std::shared_ptr<const Piece> before, std::vector<int32_t> tokens, std::string bytes);
  ~Piece();
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
};

// A message; or an answer, with the tokens that the model sampled.
struct Turn {
  std::shared_ptr<const Turn> before;  // null: the first one
  boost::json::object message;         // role, content and, of an answer, reasoning_content

  // Of an answer whose tokens are kept: what was between the one before and its first token. Null:
  // a message, which is rendered with those beside it.
  std::shared_ptr<const Rendering> opening;
  std::vector<int32_t> tokens;  // not empty where there is an opening

  const Turn* base = nullptr;  // the answer that the opening follows; null: none
  size_t end = 0;              // where there is an opening: all tokens up to here
  bool has_system = false;     // it or one before it is a message of the system
  bool has_thoughts = false;   // it or one before it has reasoning_content

  Turn(std::shared_ptr<const Turn> before, boost::json::object message);
  Turn(std::shared_ptr<const Turn> before, boost::json::object message,
       std::shared_ptr<const Rendering> opening, std::vector<int32_t> tokens);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  size_t begin() const { return end - tokens.size(); }
};

using TurnChain = std::shared_ptr<const Turn>;
using PieceChain = std::shared_ptr<const Piece>;

inline constexpr const char* kThoughts = "reasoning_content";

// The last answer whose tokens are kept; null: there is none.
const Turn* last_sampled(const Turn* last);

// The messages behind `base` up to `last`; `base` null: all.
boost::json::array messages_behind(const Turn* base, const Turn* last);

// All tokens before the answer that begins with `opening` behind `last`.
std::vector<int32_t> tokens_before_answer(const Turn* last, const Rendering& opening);

// All tokens up to the end of this answer, whose tokens are kept; null: none.
std::vector<int32_t> tokens_up_to(const Turn* sampled);

// The same conversation without thoughts. Answers from the first one with thoughts on are messages
// then, without their tokens.
TurnChain without_thoughts(TurnChain last);

void append_tokens(const Piece* last, std::vector<int32_t>& tokens);
std::string bytes_of(const Piece* last);
size_t tokens_of(const Piece* last);

// Its first `count` tokens.
PieceChain first_tokens(PieceChain last, size_t count, const llm::Tokenizer& tokenizer);

// The bytes of tokens, each of the vocabulary.
std::string bytes_of(const llm::Tokenizer& tokenizer, const std::vector<int32_t>& tokens);

// About the memory of the links that nothing else has.
size_t bytes_alone(const TurnChain& last);
size_t bytes_alone(const PieceChain& last);
size_t bytes_alone(const std::shared_ptr<const Rendering>& rendering);

}  // namespace windrow::program
