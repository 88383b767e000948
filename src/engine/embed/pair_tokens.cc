#include "engine/embed/pair_tokens.h"

#include <algorithm>
#include <utility>

#include "jinja/template.h"

namespace windrow::engine {
namespace {

constexpr std::string_view kQueryPlace = "{query}";
constexpr std::string_view kDocumentPlace = "{document}";

}  // namespace

PairTokens::PairTokens(PairFormat format, const Vocabulary& vocabulary)
    : format_(std::move(format)), vocabulary_(vocabulary), prompt_tokens_(vocabulary) {}

std::vector<Token> PairTokens::by_template(std::string_view query,
                                           std::string_view document) const {
  std::vector<jinja::Segment> segments;
  std::string_view rest = format_.pair_template;
  while (!rest.empty()) {
    const size_t query_at = rest.find(kQueryPlace);
    const size_t document_at = rest.find(kDocumentPlace);
    const size_t at = std::min({query_at, document_at, rest.size()});
    if (at > 0) segments.push_back({.text = std::string(rest.substr(0, at)), .from_input = false});
    rest.remove_prefix(at);
    if (rest.empty()) break;
    const bool is_query = at == query_at;
    const std::string_view input = is_query ? query : document;
    if (!input.empty()) segments.push_back({.text = std::string(input), .from_input = true});
    rest.remove_prefix(is_query ? kQueryPlace.size() : kDocumentPlace.size());
  }
  return prompt_tokens_.of(segments);
}

std::vector<Token> PairTokens::of(std::string_view query, std::string_view document) const {
  if (!format_.pair_template.empty()) return by_template(query, document);
  std::vector<Token> tokens;
  const auto push = [&](const std::optional<Token>& token) {
    if (token) tokens.push_back(*token);
  };
  const auto append = [&](std::string_view text) {
    const std::vector<Token> more = vocabulary_.tokenize(text, ControlTokens::kAsText);
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  push(format_.begin);
  append(query);
  push(format_.end);
  push(format_.separator);
  append(document);
  push(format_.end);
  return tokens;
}

}  // namespace windrow::engine
