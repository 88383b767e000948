#include "structured/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace windrow::structured {
namespace {

using grammar::Matcher;
using grammar::Token;
using grammar::TokenMask;

constexpr size_t kTokensMax = 10'000;
constexpr size_t kPatience = 300;  // tokens until the way out is searched

bool is_end(const Vocabulary& vocabulary, Token token) {
  return std::find(vocabulary.end_tokens.begin(), vocabulary.end_tokens.end(), token) !=
         vocabulary.end_tokens.end();
}

std::vector<Token> allowed_tokens(const TokenMask& mask) {
  std::vector<Token> tokens;
  for (Token token = 0; token < mask.size(); ++token) {
    if (mask.allows(token)) tokens.push_back(token);
  }
  return tokens;
}

// Whether the text so far stands within a JSON string.
class Quotes {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      if (escaped_) {
        escaped_ = false;
      } else if (byte == '\\') {
        escaped_ = true;
      } else if (byte == '"') {
        within_ = !within_;
      }
    }
  }
  bool within() const { return within_; }

 private:
  bool within_ = false;
  bool escaped_ = false;
};

// How far a byte is from the end of a JSON text; the smaller the nearer.
int rank(char byte, bool within_string) {
  if (within_string) return byte == '"' ? 0 : byte == '\\' ? 2 : 1;
  switch (byte) {
    case '}':
    case ']':
      return 0;
    case '"':
      return 1;
    case 'n':  // null, rather than more
      return 2;
    case ':':
    case ',':
      return 3;
    case '[':
    case '{':
      return 5;
    case ' ':
    case '\n':
    case '\t':
    case '\r':
      return 6;
    default:
      return 4;
  }
}

// Draws among the tokens that end the text soonest. Every byte is a token, so there is always one
// that adds no more than necessary.
Token nearest_end(const std::vector<Token>& tokens, const Vocabulary& vocabulary,
                  bool within_string, Random& random) {
  int best = INT32_MAX;
  std::vector<Token> among;
  for (const Token token : tokens) {
    if (is_end(vocabulary, token)) return token;
    const std::string& bytes = vocabulary.bytes[static_cast<size_t>(token)];
    const int now =
        rank(bytes[0], within_string) * 10 + static_cast<int>(std::min<size_t>(bytes.size(), 9));
    if (now < best) among.clear();
    if (now <= best) among.push_back(token);
    best = std::min(best, now);
  }
  return among[random.below(among.size())];
}

// A text behind which the string may be over, where drawing at random hardly finds one: behind
// "[a-z]*end$". Empty: none of the hints is one.
std::string way_out(const Matcher& from, std::span<const std::string> hints) {
  for (const std::string& hint : hints) {
    for (size_t at = 0; at < hint.size(); ++at) {  // its end may be what is missing
      Matcher fork = from;
      if (fork.accept_bytes(hint.substr(at)) && fork.mask()->allows('"')) return hint.substr(at);
    }
  }
  return "";
}

}  // namespace

Walk random_walk(Matcher matcher, const Vocabulary& vocabulary, Random& random, size_t tokens,
                 std::span<const std::string> hints) {
  Walk walk;
  Quotes quotes;
  for (size_t step = 0; step < kTokensMax; ++step) {
    const auto mask = matcher.mask();
    const std::vector<Token> allowed = allowed_tokens(*mask);
    if (allowed.empty()) {
      walk.fault = fmt::format("no token is allowed behind {:?}", walk.text);
      return walk;
    }
    const Token token = step < tokens ? allowed[random.below(allowed.size())]
                                      : nearest_end(allowed, vocabulary, quotes.within(), random);
    // The matcher accepts any token exactly if the mask allows it.
    const auto other = static_cast<Token>(random.below(vocabulary.bytes.size()));
    Matcher fork = matcher;
    if (fork.accept(other) != mask->allows(other)) {
      walk.fault = fmt::format("mask and accept differ on token {:?} behind {:?}",
                               vocabulary.bytes[static_cast<size_t>(other)], walk.text);
      return walk;
    }
    if (mask->allows(vocabulary.end_tokens.front()) != matcher.can_end()) {
      walk.fault = fmt::format("mask and can_end differ behind {:?}", walk.text);
      return walk;
    }
    if (quotes.within() && step > tokens && (step - tokens) % kPatience == 0) {
      const std::string way = way_out(matcher, hints);
      if (!matcher.accept_bytes(way)) {
        walk.fault = fmt::format("{:?} is not accepted byte by byte and at once", way);
        return walk;
      }
      walk.text += way;
      quotes.add(way);
      continue;
    }
    if (!matcher.accept(token)) {
      walk.fault = fmt::format("a token of the mask is not accepted behind {:?}", walk.text);
      return walk;
    }
    if (is_end(vocabulary, token)) return walk;
    const std::string& bytes = vocabulary.bytes[static_cast<size_t>(token)];
    walk.text += bytes;
    walk.text.resize(walk.text.size() - matcher.bytes_behind_end());
    if (matcher.bytes_behind_end() > 0) return walk;
    quotes.add(bytes);
  }
  walk.fault = fmt::format("it has no end: ...{:?}", walk.text.substr(walk.text.size() - 300));
  return walk;
}

bool accepted(Matcher matcher, const Vocabulary& vocabulary, const std::string& text,
              Random& random) {
  for (size_t at = 0; at < text.size();) {
    // A few long tokens may begin here; most often one of them is taken, else the byte.
    Token token = static_cast<unsigned char>(text[at]);
    for (int tries = 0; tries < 8; ++tries) {
      const auto drawn = static_cast<Token>(random.below(vocabulary.bytes.size()));
      const std::string& bytes = vocabulary.bytes[static_cast<size_t>(drawn)];
      if (!bytes.empty() && text.compare(at, bytes.size(), bytes) == 0) token = drawn;
    }
    if (!matcher.accept(token) || matcher.bytes_behind_end() > 0) return false;
    at += vocabulary.bytes[static_cast<size_t>(token)].size();
  }
  return matcher.can_end();
}

}  // namespace windrow::structured
