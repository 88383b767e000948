#include "engine/sim/sim_thought.h"

#include <algorithm>
#include <string>

#include "base/random.h"
#include "engine/sim/sim_calls.h"

namespace windrow::engine::sim {
namespace {

// Words that could come next are this many, the likeliest first.
constexpr int kCandidates = 6;

// Logits, from the one that is said only if nothing else may be to the one that always is.
constexpr float kNever = -30.0F;     // the end, before it is time
constexpr float kUnlikely = -16.0F;  // bytes, pieces
constexpr float kLikely = 2.0F;
constexpr float kClosing = 20.0F;
constexpr float kOver = 30.0F;
constexpr float kAsked = 60.0F;

uint64_t mixed(uint64_t state, uint64_t with) {
  return Random(state ^ (with + 1) * uint64_t{0x9E3779B97F4A7C15}).next();
}

}  // namespace

SimMind::SimMind(const SimVocabulary& vocabulary, const SimOptions& options)
    : vocabulary_(vocabulary),
      options_(options),
      user_(vocabulary.tokenize("user", ControlTokens::kAsText).front()),
      assistant_(vocabulary.tokenize("assistant", ControlTokens::kAsText).front()) {
  base_.assign(static_cast<size_t>(vocabulary.size()), kUnlikely);
  // A little apart, so that the likeliest of them does not depend on how they are looked at.
  Random random(options.seed);
  for (float& logit : base_)
    logit -= static_cast<float>(random.unit());
  for (const Token control : {SimVocabulary::kStart, SimVocabulary::kSeparator})
    base_[static_cast<size_t>(control)] = 2 * kNever;
  base_[SimVocabulary::kEnd] = kNever;
}

SimThought SimMind::start() const {
  return {.state = mixed(options_.seed, 0x57494E44)};
}

SimThought SimMind::after(const SimThought& before, Token token) const {
  SimThought thought = before;
  thought.state = mixed(before.state, static_cast<uint64_t>(token));
  thought.closed = false;
  ++thought.tokens;
  follow_turn(thought, token);
  if (token == SimVocabulary::kStart) {
    return {.state = thought.state,
            .in_head = true,
            .tokens = thought.tokens,
            .asked_begin = thought.asked_begin,
            .asked_end = thought.asked_end,
            .at_role = true};
  }
  if (thought.in_head) {
    if (token != '\n') return thought;
    // From half to one and a half times the mean, by what was asked.
    thought.in_head = false;
    const int64_t mean = options_.answer_tokens;
    thought.length = static_cast<int32_t>(
        std::max<int64_t>(1, Random(thought.state).between(mean - mean / 2, mean + mean / 2)));
    return thought;
  }
  ++thought.said;
  // Of entries of several bytes none has a sign that a form goes by.
  if (token < SimVocabulary::kStart) {
    follow_form(thought, static_cast<char>(token));
  } else {
    thought.escaped = false;
  }
  return thought;
}

// Whose turn it is, and whether the user asks for calls.
void SimMind::follow_turn(SimThought& thought, Token token) const {
  if (thought.at_role) {
    thought.at_role = false;
    thought.of_user = token == user_;
    thought.of_assistant = token == assistant_;
    if (!thought.of_assistant) thought.asked_begin = thought.asked_end = 0;
  } else if (thought.in_head) {
    if (thought.of_user && token == '\n') thought.asked_begin = thought.tokens;
  } else if (thought.of_user && token == SimVocabulary::kEnd) {
    if (thought.asked_letters == kCallWord.size()) thought.asked_end = thought.tokens - 1;
  } else if (thought.of_user && thought.asked_letters < kCallWord.size()) {
    std::string text;
    vocabulary_.append_bytes(token, text);
    for (const char letter : text) {
      if (thought.asked_letters >= kCallWord.size()) break;
      const bool right = letter == kCallWord[thought.asked_letters];
      thought.asked_letters = right ? static_cast<uint8_t>(thought.asked_letters + 1) : UINT8_MAX;
    }
  }
}

// The next token of what was asked for, then the end.
void SimMind::call(const SimThought& thought, std::span<const Token> tokens,
                   std::span<float> logits) const {
  std::string message;
  const auto begin = static_cast<size_t>(thought.asked_begin);
  for (const Token token : tokens.subspan(begin, static_cast<size_t>(thought.asked_end) - begin))
    vocabulary_.append_bytes(token, message);
  const std::string answer = calls_asked_for(message);
  if (answer.empty()) return;
  const std::vector<Token> script = vocabulary_.tokenize(answer, ControlTokens::kAsText);
  const auto said = static_cast<size_t>(thought.said);
  const Token next = said < script.size() ? script[said] : SimVocabulary::kEnd;
  logits[static_cast<size_t>(next)] = kAsked;
}

void SimMind::follow_form(SimThought& thought, char byte) const {
  if (thought.in_string) {
    const bool ends = byte == '"' && !thought.escaped;
    thought.escaped = byte == '\\' && !thought.escaped;
    thought.in_string = !ends;
    return;
  }
  if (byte == '{' || byte == '[') {
    thought.depth = static_cast<uint16_t>(std::min<int>(thought.depth + 1, 60'000));
  } else if (thought.depth > 0 && byte == '"') {
    thought.in_string = true;
  } else if (thought.depth > 0 && (byte == '}' || byte == ']')) {
    --thought.depth;
    thought.closed = thought.depth == 0;
  }
}

void SimMind::speak(const SimThought& thought, std::span<const Token> tokens,
                    std::span<float> logits) const {
  std::ranges::copy(base_, logits.begin());
  Random random(thought.state);
  const auto spoken = static_cast<uint64_t>(vocabulary_.spoken_count());
  for (int i = 0; i < kCandidates; ++i) {
    const auto word =
        static_cast<size_t>(vocabulary_.first_spoken()) + static_cast<size_t>(random.below(spoken));
    logits[word] = kLikely - 0.7F * static_cast<float>(i);
  }
  const bool enough = thought.length > 0
                          ? thought.said >= thought.length
                          : random.chance(1.0 / static_cast<double>(options_.answer_tokens));
  const bool close = enough || random.chance(1.0 / 3);
  if (thought.depth > 0) favour_ends(thought, close, logits);
  if (enough || thought.closed) {
    logits[SimVocabulary::kEnd] = kOver;
    logits['"'] = std::max(logits['"'], kClosing);  // of a text that is a string as a whole
  }
  if (thought.of_assistant && !thought.in_head && thought.asked_end > thought.asked_begin)
    call(thought, tokens, logits);
}

// Within an object or a list. A string ends when it is time, the rest is as short as may be.
void SimMind::favour_ends(const SimThought& thought, bool enough, std::span<float> logits) const {
  if (thought.in_string) {
    if (enough && !thought.escaped) logits['"'] = kClosing;
    return;
  }
  logits['}'] = logits[']'] = enough ? kClosing : kLikely;
  logits[','] = kClosing - 4;
  logits[':'] = kClosing - 2;
  logits['"'] = kClosing - 6;
  for (const char sign : {'t', 'f', 'n', '{', '['})
    logits[static_cast<size_t>(sign)] = kLikely;
  const uint64_t digit = thought.state % 10;
  logits['0' + digit] = kLikely + 4;
}

}  // namespace windrow::engine::sim
