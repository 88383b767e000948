#include "engine/structure/jump_forward.h"

#include <algorithm>
#include <string>

namespace windrow::engine {
namespace {

// Words of a tokeniser's pre-tokenisation rarely span more.
constexpr size_t kTokensBefore = 4;

std::string bytes_of(std::span<const Token> tokens, const Vocabulary& vocabulary) {
  std::string bytes;
  for (const Token token : tokens)
    vocabulary.append_bytes(token, bytes);
  return bytes;
}

// The last tokens that are text; a control token is a boundary.
std::span<const Token> text_behind(std::span<const Token> tokens, const Vocabulary& vocabulary) {
  size_t count = 0;
  std::string bytes;
  while (count < std::min(kTokensBefore, tokens.size())) {
    bytes.clear();
    vocabulary.append_bytes(tokens[tokens.size() - 1 - count], bytes);
    if (bytes.empty()) break;
    ++count;
  }
  return tokens.last(count);
}

bool same(std::span<const Token> a, std::span<const Token> b) {
  return std::ranges::equal(a, b);
}

// How many tokens keep their boundaries whatever follows the text.
size_t settled(std::span<const Token> tokens, const JumpForwardText& forced,
               const Vocabulary& vocabulary, const grammar::TokenTables& tables) {
  size_t at = forced.text.size();
  size_t count = tokens.size();
  for (size_t i = tokens.size(); i-- > 0;) {
    at -= bytes_of(tokens.subspan(i, 1), vocabulary).size();
    if (tables.continues(forced.text.substr(at)) && forced.may_cross_end(at)) count = i;
  }
  return count;
}

}  // namespace

std::vector<Token> jump_forward_tokens(std::span<const Token> before, const JumpForwardText& forced,
                                       const Vocabulary& vocabulary,
                                       const grammar::TokenTables& tables) {
  if (forced.text.empty()) return {};
  const std::span<const Token> context = text_behind(before, vocabulary);
  const std::string context_bytes = bytes_of(context, vocabulary);
  const std::vector<Token> cut =
      vocabulary.tokenize(context_bytes + std::string(forced.text), ControlTokens::kAsText);
  const std::span<const Token> tokens = cut;
  if (tokens.size() <= context.size() || !same(tokens.first(context.size()), context)) return {};
  std::span<const Token> run = tokens.subspan(context.size());
  // Some tokenisers change a text.
  if (bytes_of(run, vocabulary) != forced.text) return {};
  if (!forced.is_end) run = run.first(settled(run, forced, vocabulary, tables));
  return {run.begin(), run.end()};
}

}  // namespace windrow::engine
