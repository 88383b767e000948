#include "engine/sim/sim_predictor.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "chat/marks.h"
#include "chat/tool_syntax.h"
#include "json/limits.h"

namespace windrow::engine::sim {
namespace {

// The number of words that could come next, the likeliest first.
constexpr int kCandidates = 6;

// Logits, from tokens that come only if nothing else may, to those that always come.
constexpr float kNever = -30.0F;     // the end, before it is time
constexpr float kUnlikely = -16.0F;  // bytes, pieces
constexpr float kLikely = 2.0F;
constexpr float kClosing = 20.0F;
constexpr float kOver = 30.0F;
constexpr float kAsked = 60.0F;

uint64_t mixed(uint64_t hash, uint64_t with) {
  return Random(hash ^ (with + 1) * uint64_t{0x9E3779B97F4A7C15}).next();
}

// A JSON text with blanks as models write them; nothing else is changed.
std::string with_usual_blanks(std::string_view text) {
  boost::system::error_code error;
  const boost::json::value value =
      boost::json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  if (error || !value.is_object()) return std::string(text);
  std::string spaced;
  bool in_string = false;
  bool escaped = false;
  for (const char c : text) {
    if (in_string) {
      spaced += c;
      in_string = c != '"' || escaped;
      escaped = c == '\\' && !escaped;
      continue;
    }
    if (chat::is_space(c)) continue;
    in_string = c == '"';
    spaced += c;
    if (c == ',' || c == ':') spaced += ' ';
  }
  return spaced;
}

}  // namespace

SimPredictor::SimPredictor(const SimVocabulary& vocabulary, const SimOptions& options)
    : vocabulary_(vocabulary),
      options_(options),
      user_(vocabulary.tokenize("user", ControlTokens::kAsText).front()),
      assistant_(vocabulary.tokenize("assistant", ControlTokens::kAsText).front()) {
  base_.assign(static_cast<size_t>(vocabulary.size()), kUnlikely);
  // Slightly different, so that the likeliest one does not depend on the order of comparison.
  Random random(options.seed);
  for (float& logit : base_)
    logit -= static_cast<float>(random.unit());
  for (const Token control : {SimVocabulary::kStart, SimVocabulary::kSeparator})
    base_[static_cast<size_t>(control)] = 2 * kNever;
  base_[SimVocabulary::kEnd] = kNever;
}

SimState SimPredictor::start() const {
  return {.hash = mixed(options_.seed, 0x57494E44)};
}

SimState SimPredictor::after(const SimState& before, Token token) const {
  SimState state = before;
  state.hash = mixed(before.hash, static_cast<uint64_t>(token));
  state.closed = false;
  ++state.tokens;
  follow_turn(state, token);
  if (token == SimVocabulary::kStart) {
    return {.hash = state.hash,
            .in_head = true,
            .tokens = state.tokens,
            .asked_begin = state.asked_begin,
            .asked_end = state.asked_end,
            .at_role = true};
  }
  if (state.in_head) {
    if (token != '\n') return state;
    // From half to one and a half times the mean, drawn by the prompt.
    state.in_head = false;
    const int64_t mean = options_.answer_tokens;
    state.length = static_cast<int32_t>(
        std::max<int64_t>(1, Random(state.hash).between(mean - mean / 2, mean + mean / 2)));
    return state;
  }
  ++state.said;
  // No entry of several bytes has a character of JSON's syntax.
  if (token < SimVocabulary::kStart) {
    follow_form(state, static_cast<char>(token));
  } else {
    state.escaped = false;
  }
  return state;
}

// Follows the role of the turn, and whether the user asks for calls.
void SimPredictor::follow_turn(SimState& state, Token token) const {
  if (state.at_role) {
    state.at_role = false;
    state.of_user = token == user_;
    state.of_assistant = token == assistant_;
    if (!state.of_assistant) state.asked_begin = state.asked_end = 0;
  } else if (state.in_head) {
    if (state.of_user && token == '\n') state.asked_begin = state.tokens;
  } else if (state.of_user && token == SimVocabulary::kEnd) {
    if (state.asked_letters == kCallWord.size()) state.asked_end = state.tokens - 1;
  } else if (state.of_user && state.asked_letters < kCallWord.size()) {
    std::string text;
    vocabulary_.append_bytes(token, text);
    for (const char letter : text) {
      if (state.asked_letters >= kCallWord.size()) break;
      const bool right = letter == kCallWord[state.asked_letters];
      state.asked_letters = right ? static_cast<uint8_t>(state.asked_letters + 1) : UINT8_MAX;
    }
  }
}

// The next token of what was asked for, then the end.
void SimPredictor::call(const SimState& state, std::span<const Token> tokens,
                        std::span<float> logits) const {
  std::string message;
  const auto begin = static_cast<size_t>(state.asked_begin);
  for (const Token token : tokens.subspan(begin, static_cast<size_t>(state.asked_end) - begin))
    vocabulary_.append_bytes(token, message);
  const std::string answer = calls_asked_for(message);
  if (answer.empty()) return;
  const std::vector<Token> script = vocabulary_.tokenize(answer, ControlTokens::kAsText);
  const auto said = static_cast<size_t>(state.said);
  const Token next = said < script.size() ? script[said] : SimVocabulary::kEnd;
  logits[static_cast<size_t>(next)] = kAsked;
}

void SimPredictor::follow_form(SimState& state, char byte) const {
  if (state.in_string) {
    const bool ends = byte == '"' && !state.escaped;
    state.escaped = byte == '\\' && !state.escaped;
    state.in_string = !ends;
    return;
  }
  if (byte == '{' || byte == '[') {
    state.depth = static_cast<uint16_t>(std::min<int>(state.depth + 1, 60'000));
  } else if (state.depth > 0 && byte == '"') {
    state.in_string = true;
  } else if (state.depth > 0 && (byte == '}' || byte == ']')) {
    --state.depth;
    state.closed = state.depth == 0;
  }
}

void SimPredictor::predict(const SimState& state, std::span<const Token> tokens,
                           std::span<float> logits) const {
  std::ranges::copy(base_, logits.begin());
  Random random(state.hash);
  const auto spoken = static_cast<uint64_t>(vocabulary_.spoken_count());
  for (int i = 0; i < kCandidates; ++i) {
    const auto word =
        static_cast<size_t>(vocabulary_.first_spoken()) + static_cast<size_t>(random.below(spoken));
    logits[word] = kLikely - 0.7F * static_cast<float>(i);
  }
  const bool enough = state.length > 0
                          ? state.said >= state.length
                          : random.chance(1.0 / static_cast<double>(options_.answer_tokens));
  const bool close = enough || random.chance(1.0 / 3);
  if (state.depth > 0) favour_ends(state, close, logits);
  if (enough || state.closed) {
    logits[SimVocabulary::kEnd] = kOver;
    logits['"'] = std::max(logits['"'], kClosing);  // of a text that is a string as a whole
  }
  if (state.of_assistant && !state.in_head && state.asked_end > state.asked_begin)
    call(state, tokens, logits);
}

// Within an object or a list. A string ends when it is time, the rest is as short as may be.
void SimPredictor::favour_ends(const SimState& state, bool enough, std::span<float> logits) const {
  if (state.in_string) {
    if (enough && !state.escaped) logits['"'] = kClosing;
    return;
  }
  logits['}'] = logits[']'] = enough ? kClosing : kLikely;
  logits[','] = kClosing - 4;
  logits[':'] = kClosing - 2;
  logits['"'] = kClosing - 6;
  for (const char sign : {'t', 'f', 'n', '{', '['})
    logits[static_cast<size_t>(sign)] = kLikely;
  const uint64_t digit = state.hash % 10;
  logits['0' + digit] = kLikely + 4;
}

std::string calls_asked_for(std::string_view message) {
  std::vector<chat::WrittenCall> calls;
  while (!message.empty()) {
    std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(line.size() + 1, message.size()));
    line = line.substr(0, line.find_last_not_of(" \r") + 1);
    if (line.empty()) continue;
    if (!line.starts_with(kCallWord)) return {};
    line.remove_prefix(kCallWord.size());
    const std::string_view name = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(name.size() + 1, line.size()));
    calls.push_back(
        {.name = std::string(name), .arguments = line.empty() ? "{}" : with_usual_blanks(line)});
  }
  return calls.empty() ? std::string() : write_calls(chat::generic_tool_syntax(), calls);
}

}  // namespace windrow::engine::sim
