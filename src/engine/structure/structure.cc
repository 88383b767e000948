#include "engine/structure/structure.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "grammar/gbnf.h"
#include "grammar/grammar.h"
#include "grammar/simple_grammars.h"

namespace windrow::engine {

namespace json = boost::json;

namespace {

using Kind = llm::StructureSpec::Kind;
using Built = Result<std::shared_ptr<const grammar::Grammar>>;

// As deep as a line of the input may be nested.
constexpr size_t kDepthMax = 128;

Built of_schema(const llm::StructureSpec& spec, const grammar::GiveUp& give_up) {
  boost::system::error_code error;
  const json::value schema = json::parse(spec.text, error, {}, {.max_depth = kDepthMax});
  if (error) return Error{ErrorKind::kInvalid, "the schema is no JSON: " + error.message()};
  return grammar::schema_grammar(
      schema,
      {.whitespace = spec.flexible_whitespace ? grammar::Whitespace::kFlexible
                                              : grammar::Whitespace::kCompact,
       .open = spec.open},
      give_up);
}

Built grammar_of(const llm::StructureSpec& spec, const grammar::GiveUp& give_up) {
  switch (spec.kind) {
    case Kind::kJsonSchema:
      return of_schema(spec, give_up);
    case Kind::kJsonObject:
      return grammar::json_grammar(
          spec.flexible_whitespace ? grammar::Whitespace::kFlexible : grammar::Whitespace::kCompact,
          /*object_only=*/true);
    case Kind::kRegex:
      return grammar::regex_grammar(spec.text);
    case Kind::kGrammar:
      return grammar::parse_gbnf(spec.text);
    case Kind::kChoice:
      break;
  }
  return grammar::choice_grammar(spec.choices);
}

}  // namespace

VocabularyTables make_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                             std::span<const Token> shown_tokens) {
  const auto size = static_cast<size_t>(vocabulary.size());
  std::vector<std::string> texts(size);
  std::vector<Token> ends;
  for (size_t i = 0; i < size; ++i) {
    const auto token = static_cast<Token>(i);
    // One that ends the answer is never a part of its text, whatever it is written as.
    if (vocabulary.ends_answer(token)) {
      ends.push_back(token);
    } else {
      vocabulary.append_bytes(token, texts[i]);
    }
  }
  VocabularyTables tables{.tokens = grammar::TokenTables::make(texts, ends), .thoughts = nullptr};
  for (const Token token : shown_tokens) {
    std::string& text = texts[static_cast<size_t>(token)];
    text.clear();
    if (std::ranges::find(ends, token) == ends.end()) vocabulary.append_piece(token, text);
  }
  tables.thoughts = std::make_shared<ThoughtMasks>(texts, ends, reasoning);
  return tables;
}

Result<std::shared_ptr<const Structure>> make_structure(const llm::StructureSpec& spec,
                                                        const VocabularyTables& tables,
                                                        const grammar::GiveUp& give_up) {
  Built grammar = grammar_of(spec, give_up);
  if (!grammar) return grammar.error();
  auto check = make_check(spec);
  if (!check) return check.error();
  return std::make_shared<const Structure>(Structure{
      .grammar = std::make_shared<grammar::CompiledGrammar>(*std::move(grammar), tables.tokens),
      .check = *std::move(check),
      .tables = tables});
}

}  // namespace windrow::engine
