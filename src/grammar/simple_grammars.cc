#include "grammar/simple_grammars.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar {

Result<Part> choice_part(GrammarBuilder& builder, std::span<const std::string> texts,
                         const GrammarLimits& limits) {
  if (texts.empty())
    return Error{ErrorKind::kInvalid, "there are no choices; give at least one text"};
  size_t bytes = 0;
  for (const std::string& text : texts)
    bytes += text.size();
  if (bytes > limits.bytes_max || texts.size() > limits.parts_max) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("{} choices of {} bytes are too many; at most {} of {} MiB are allowed",
                    texts.size(), bytes, limits.parts_max, limits.bytes_max >> 20)};
  }
  std::vector<Part> parts;
  parts.reserve(texts.size());
  for (const std::string& text : texts)
    parts.push_back(builder.text(text));
  return builder.choice(std::move(parts));
}

Result<Part> regex_part(GrammarBuilder& builder, std::string_view pattern) {
  const Result<CharDfa> dfa = regex_dfa(pattern, RegexMeaning::kWhole);
  if (!dfa) return dfa.error();
  if (dfa->empty()) return Error{ErrorKind::kInvalid, "no text matches this regular expression"};
  return builder.lexeme(utf8_dfa(*dfa));
}

}  // namespace windrow::grammar
