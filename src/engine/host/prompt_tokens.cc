#include "engine/host/prompt_tokens.h"

#include <algorithm>
#include <set>

namespace windrow::engine {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

}  // namespace

PromptTokens::PromptTokens(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), control_tokens_(vocabulary.control_tokens()) {
  std::set<size_t, std::greater<>> lengths;
  std::set<char> first_bytes;
  for (const ControlToken& token : control_tokens_) {
    by_text_.emplace(token.text, &token);
    lengths.insert(token.text.size());
    first_bytes.insert(token.text.front());
  }
  lengths_.assign(lengths.begin(), lengths.end());
  first_bytes_.assign(first_bytes.begin(), first_bytes.end());
}

// The first control token in the text, and of those that begin at the same byte the longest.
std::optional<PromptTokens::Found> PromptTokens::find(std::string_view text, size_t from) const {
  for (size_t at = text.find_first_of(first_bytes_, from); at != std::string_view::npos;
       at = text.find_first_of(first_bytes_, at + 1)) {
    for (const size_t length : lengths_) {
      if (at + length > text.size()) continue;
      const auto found = by_text_.find(text.substr(at, length));
      if (found != by_text_.end()) return Found{.at = at, .token = found->second};
    }
  }
  return std::nullopt;
}

void PromptTokens::append_text(std::string_view text, std::vector<Token>& tokens) const {
  if (text.empty()) return;
  const std::vector<Token> more = vocabulary_.tokenize(text, ControlTokens::kAsText);
  tokens.insert(tokens.end(), more.begin(), more.end());
}

std::vector<Token> PromptTokens::of(std::span<const jinja::Segment> prompt) const {
  std::vector<Token> tokens;
  std::string between;  // text since the last control token
  bool strips = false;  // that token drops the whitespace behind it
  const auto append = [&](std::string_view text) {
    if (strips && between.empty()) {
      text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    }
    between += text;
  };
  for (const jinja::Segment& segment : prompt) {
    const std::string_view text = segment.text;
    size_t at = 0;
    while (!segment.from_input) {
      const std::optional<Found> found = find(text, at);
      if (!found) break;
      append(text.substr(at, found->at - at));
      if (found->token->strips_before) between.resize(between.find_last_not_of(kBlanks) + 1);
      append_text(between, tokens);
      between.clear();
      tokens.push_back(found->token->token);
      strips = found->token->strips_behind;
      at = found->at + found->token->text.size();
    }
    append(text.substr(at));
  }
  append_text(between, tokens);
  return tokens;
}

}  // namespace windrow::engine
