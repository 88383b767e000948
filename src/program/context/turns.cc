#include "program/context/turns.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <utility>

namespace windrow::program {
namespace {

// Destroys a chain link by link: by itself each link would destroy the one before it, a call deeper
// each time, and a long chain would exhaust the stack.
template <class Link>
void destroy_chain(std::shared_ptr<const Link> last) {
  while (last && last.use_count() == 1) {
    // Nothing else has it. It was made without const, and is destroyed right here.
    std::shared_ptr<const Link> before = std::move(const_cast<Link&>(*last).before);
    last = std::move(before);
  }
}

bool is_of_system(const boost::json::object& message) {
  const boost::json::value* role = message.if_contains("role");
  return role != nullptr && *role == "system";
}

size_t bytes_of_tokens(const std::vector<int32_t>& tokens) {
  return tokens.capacity() * sizeof(int32_t);
}

}  // namespace

Piece::Piece(std::shared_ptr<const Piece> before_piece, std::vector<int32_t> its_tokens,
             std::string its_bytes)
    : before(std::move(before_piece)), tokens(std::move(its_tokens)), bytes(std::move(its_bytes)) {
  end = tokens_of(before.get()) + tokens.size();
}

Piece::~Piece() {
  destroy_chain(std::move(before));
}

Turn::Turn(std::shared_ptr<const Turn> before_turn, boost::json::object its_message)
    : before(std::move(before_turn)), message(std::move(its_message)) {
  has_system = is_of_system(message) || (before && before->has_system);
  has_thoughts = message.contains(kThoughts) || (before && before->has_thoughts);
}

Turn::Turn(std::shared_ptr<const Turn> before_turn, boost::json::object its_message,
           std::shared_ptr<const Rendering> its_opening, std::vector<int32_t> its_tokens)
    : Turn(std::move(before_turn), std::move(its_message)) {
  opening = std::move(its_opening);
  tokens = std::move(its_tokens);
  if (!opening->is_whole) base = last_sampled(before.get());
  const size_t base_end = base == nullptr ? 0 : base->end - (opening->drops_last ? 1 : 0);
  end = base_end + opening->tokens.size() + tokens.size();
}

Turn::~Turn() {
  destroy_chain(std::move(before));
}

const Turn* last_sampled(const Turn* last) {
  while (last != nullptr && last->opening == nullptr)
    last = last->before.get();
  return last;
}

boost::json::array messages_behind(const Turn* base, const Turn* last) {
  std::vector<const Turn*> turns;
  for (; last != base; last = last->before.get())
    turns.push_back(last);
  boost::json::array messages;
  messages.reserve(turns.size());
  for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn)
    messages.push_back((*turn)->message);
  return messages;
}

std::vector<int32_t> tokens_up_to(const Turn* sampled) {
  std::vector<const Turn*> answers;
  const size_t size = sampled == nullptr ? 0 : sampled->end;
  for (; sampled != nullptr; sampled = sampled->base)
    answers.push_back(sampled);
  std::vector<int32_t> tokens;
  tokens.reserve(size + 1);
  for (auto answer = answers.rbegin(); answer != answers.rend(); ++answer) {
    const Turn& turn = **answer;
    if (turn.opening->drops_last && !tokens.empty()) tokens.pop_back();
    tokens.insert(tokens.end(), turn.opening->tokens.begin(), turn.opening->tokens.end());
    tokens.insert(tokens.end(), turn.tokens.begin(), turn.tokens.end());
  }
  return tokens;
}

std::vector<int32_t> tokens_before_answer(const Turn* last, const Rendering& opening) {
  if (opening.is_whole) return opening.tokens;
  std::vector<int32_t> tokens = tokens_up_to(last_sampled(last));
  if (opening.drops_last && !tokens.empty()) tokens.pop_back();
  tokens.insert(tokens.end(), opening.tokens.begin(), opening.tokens.end());
  return tokens;
}

TurnChain without_thoughts(TurnChain last) {
  std::vector<boost::json::object> messages;
  for (; last && last->has_thoughts; last = last->before) {
    messages.push_back(last->message);
    messages.back().erase(kThoughts);
  }
  for (auto message = messages.rbegin(); message != messages.rend(); ++message)
    last = std::make_shared<Turn>(std::move(last), std::move(*message));
  return last;
}

void append_tokens(const Piece* last, std::vector<int32_t>& tokens) {
  const size_t begin = tokens.size();
  tokens.resize(begin + tokens_of(last));
  for (; last != nullptr; last = last->before.get()) {
    const auto at = static_cast<std::ptrdiff_t>(begin + last->end - last->tokens.size());
    std::ranges::copy(last->tokens, tokens.begin() + at);
  }
}

std::string bytes_of(const Piece* last) {
  std::vector<std::string_view> parts;
  for (; last != nullptr; last = last->before.get())
    parts.emplace_back(last->bytes);
  std::string bytes;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    bytes += *part;
  return bytes;
}

size_t tokens_of(const Piece* last) {
  return last == nullptr ? 0 : last->end;
}

PieceChain first_tokens(PieceChain last, size_t count, const llm::Tokenizer& tokenizer) {
  while (last && tokens_of(last->before.get()) >= count)
    last = last->before;
  if (!last || last->end <= count) return last;
  const size_t kept = count - tokens_of(last->before.get());
  std::vector<int32_t> tokens(last->tokens.begin(),
                              last->tokens.begin() + static_cast<std::ptrdiff_t>(kept));
  std::string bytes = bytes_of(tokenizer, tokens);
  return std::make_shared<Piece>(last->before, std::move(tokens), std::move(bytes));
}

std::string bytes_of(const llm::Tokenizer& tokenizer, const std::vector<int32_t>& tokens) {
  std::string bytes;
  for (const int32_t token : tokens)
    tokenizer.append_piece(token, bytes);
  return bytes;
}

size_t bytes_alone(const std::shared_ptr<const Rendering>& rendering) {
  if (rendering.use_count() != 1) return 0;
  return sizeof(Rendering) + bytes_of_tokens(rendering->tokens);
}

size_t bytes_alone(const TurnChain& last) {
  size_t bytes = 0;
  const TurnChain* turn = &last;
  for (; *turn && turn->use_count() == 1; turn = &(*turn)->before) {
    bytes += sizeof(Turn) + boost::json::serialize((*turn)->message).size() +
             bytes_of_tokens((*turn)->tokens) + bytes_alone((*turn)->opening);
  }
  return bytes;
}

size_t bytes_alone(const PieceChain& last) {
  size_t bytes = 0;
  const PieceChain* piece = &last;
  for (; *piece && piece->use_count() == 1; piece = &(*piece)->before)
    bytes += sizeof(Piece) + bytes_of_tokens((*piece)->tokens) + (*piece)->bytes.capacity();
  return bytes;
}

}  // namespace windrow::program
