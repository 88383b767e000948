#include "engine/structure/structure.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "chat/harmony.h"
#include "grammar/gbnf.h"
#include "grammar/grammar.h"
#include "grammar/simple_grammars.h"
#include "json/depth.h"

namespace windrow::engine {

namespace json = boost::json;

namespace {

using Kind = llm::StructureSpec::Kind;
using Built = Result<std::shared_ptr<const grammar::Grammar>>;

// A schema may have thousands of them, and names of any length.
constexpr size_t kWarningsMax = 20;
constexpr size_t kWarningBytesMax = 400;

// `warnings` outlives it.
SchemaWords words_of(const llm::StructureSpec& spec, std::vector<std::string>& warnings) {
  return {.unknown = spec.unknown == llm::UnknownWords::kRefuse ? grammar::UnknownWords::kRefuse
                                                                : grammar::UnknownWords::kAnnotate,
          .warn = [&](const std::string& warning) { add_warning(warnings, warning); }};
}

Result<json::value> parsed_schema(const llm::StructureSpec& spec) {
  boost::system::error_code error;
  json::value schema = json::parse(spec.text, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return Error{ErrorKind::kInvalid, "the schema is no JSON: " + error.message()};
  return schema;
}

// A form as a part of a grammar, which may have calls of tools, too.
Result<grammar::Part> form_part(grammar::GrammarBuilder& builder, const llm::StructureSpec& spec,
                                const grammar::GiveUp& give_up, const SchemaWords& words) {
  grammar::SchemaOptions options{.whitespace = spec.flexible_whitespace
                                                   ? grammar::Whitespace::kFlexible
                                                   : grammar::Whitespace::kCompact,
                                 .open = spec.open,
                                 .unknown = words.unknown,
                                 .warn = words.warn};
  switch (spec.kind) {
    case Kind::kJsonSchema: {
      const Result<json::value> schema = parsed_schema(spec);
      if (!schema) return schema.error();
      return grammar::schema_part(builder, *schema, options, give_up);
    }
    case Kind::kJsonObject:
      options.open = true;
      return grammar::schema_part(builder, json::object{{"type", "object"}}, options, give_up);
    case Kind::kRegex:
      return grammar::regex_part(builder, spec.text);
    case Kind::kGrammar:
      return grammar::gbnf_part(builder, spec.text);
    case Kind::kToolCalls:
      ENSURE(false, "calls have a grammar of their own");
    case Kind::kChoice:
      break;
  }
  return grammar::choice_part(builder, spec.choices);
}

// Control tokens that belong to calls, spelled; then no other token may have the sign of that.
SpelledMarks spell_marks(const Vocabulary& vocabulary, std::span<const Token> shown_tokens,
                         const chat::ToolSyntax& syntax, std::span<std::string> texts) {
  std::vector<SpelledMarks::Mark> marks;
  const std::vector<std::string> of_calls = syntax.marks();
  for (const Token token : shown_tokens) {
    SpelledMarks::Mark mark{.token = token, .ends_answer = vocabulary.ends_answer(token)};
    vocabulary.append_piece(token, mark.text);
    if (std::ranges::find(of_calls, mark.text) != of_calls.end()) marks.push_back(std::move(mark));
  }
  if (marks.empty()) return {};
  for (std::string& text : texts) {
    if (text.find(SpelledMarks::kSign) != std::string::npos) text.clear();
  }
  for (const SpelledMarks::Mark& mark : marks) {
    if (!mark.ends_answer) texts[static_cast<size_t>(mark.token)] = SpelledMarks::kSign + mark.text;
  }
  return SpelledMarks(std::move(marks));
}

struct VocabularyTexts {
  std::vector<std::string> bytes;  // of each token; nothing of those that end an answer
  std::vector<Token> ends;
};

VocabularyTexts texts_of(const Vocabulary& vocabulary) {
  const auto size = static_cast<size_t>(vocabulary.size());
  VocabularyTexts texts{.bytes = std::vector<std::string>(size), .ends = {}};
  for (size_t i = 0; i < size; ++i) {
    const auto token = static_cast<Token>(i);
    // One that ends the answer is never a part of its text, whatever it is written as.
    if (vocabulary.ends_answer(token)) {
      texts.ends.push_back(token);
    } else {
      vocabulary.append_bytes(token, texts.bytes[i]);
    }
  }
  return texts;
}

// As an answer's text has them.
void show(const Vocabulary& vocabulary, std::span<const Token> shown_tokens,
          VocabularyTexts& texts) {
  for (const Token token : shown_tokens) {
    std::string& text = texts.bytes[static_cast<size_t>(token)];
    text.clear();
    if (std::ranges::find(texts.ends, token) == texts.ends.end())
      vocabulary.append_piece(token, text);
  }
}

std::shared_ptr<const ThoughtMasks> thought_masks(const Vocabulary& vocabulary,
                                                  VocabularyTexts texts,
                                                  const chat::ReasoningFormat& reasoning,
                                                  std::span<const Token> shown_tokens) {
  show(vocabulary, shown_tokens, texts);
  return std::make_shared<const ThoughtMasks>(texts.bytes, texts.ends, reasoning);
}

Built form_grammar(const llm::StructureSpec& spec, const grammar::GiveUp& give_up,
                   const SchemaWords& words) {
  grammar::GrammarBuilder builder;
  const Result<grammar::Part> form = form_part(builder, spec, give_up, words);
  if (!form) return form.error();
  grammar::GrammarLimits limits;
  limits.parts_max += 1;  // the root, beside as many choices as there may be
  return builder.finish(*form, limits);
}

Built grammar_beside_form(const llm::StructureSpec& spec, std::span<const CalledTool> tools,
                          const CallSpelling& spelling, const grammar::GiveUp& give_up,
                          const SchemaWords& words) {
  grammar::GrammarBuilder builder;
  const Result<grammar::Part> form = form_part(builder, spec, give_up, words);
  if (!form) return form.error();
  return call_or_form_grammar(builder, *form, tools, spelling, give_up, words);
}

// Of a message of thoughts, which the beginning of another would end.
std::shared_ptr<const ThoughtMasks> message_masks(VocabularyTexts shown,
                                                  const chat::ReasoningFormat& reasoning) {
  for (size_t i = 0; i < shown.bytes.size(); ++i) {
    if (shown.bytes[i] == chat::harmony::kStart) shown.ends.push_back(static_cast<Token>(i));
  }
  return std::make_shared<const ThoughtMasks>(shown.bytes, shown.ends, reasoning,
                                              /*breaks_behind=*/false);
}

}  // namespace

void add_warning(std::vector<std::string>& warnings, std::string_view warning) {
  if (warnings.size() > kWarningsMax) return;
  if (warnings.size() == kWarningsMax) {
    warnings.emplace_back("more words without effect are not listed");
  } else if (warning.size() <= kWarningBytesMax) {
    warnings.emplace_back(warning);
  } else {
    warnings.push_back(utf8_repair(warning.substr(0, kWarningBytesMax)) + "...");
  }
}

VocabularyTables make_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                             std::span<const Token> shown_tokens) {
  VocabularyTexts texts = texts_of(vocabulary);
  VocabularyTables tables{.tokens = grammar::TokenTables::make(texts.bytes, texts.ends),
                          .thoughts = nullptr};
  tables.thoughts = thought_masks(vocabulary, std::move(texts), reasoning, shown_tokens);
  return tables;
}

CallTables make_call_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                            const chat::ToolSyntax& syntax, std::span<const Token> shown_tokens) {
  VocabularyTexts texts = texts_of(vocabulary);
  VocabularyTexts shown = texts;
  show(vocabulary, shown_tokens, shown);
  const bool by_messages = !said_before_calls(syntax).empty();
  CallTables tables{.spelling = {.syntax = syntax, .marks = {}},
                    .thoughts = thoughts_before_calls(syntax, reasoning),
                    .vocabulary = {},
                    .marks = nullptr};
  tables.spelling.marks = spell_marks(vocabulary, shown_tokens, syntax, texts.bytes);
  tables.vocabulary.tokens = grammar::TokenTables::make(texts.bytes, texts.ends);
  if (std::vector<CallMarks::Mark> marks = marks_of_calls(tables.spelling); !marks.empty()) {
    tables.marks = std::make_shared<const CallMarks>(
        std::move(marks), !by_messages, tables.spelling.marks.spell(said_before_calls(syntax)),
        by_messages ? texts.bytes : shown.bytes);
  }
  tables.vocabulary.thoughts =
      by_messages ? message_masks(std::move(shown), tables.thoughts)
                  : std::make_shared<const ThoughtMasks>(shown.bytes, shown.ends, tables.thoughts);
  return tables;
}

Result<std::shared_ptr<const Structure>> make_structure(const llm::StructureSpec& spec,
                                                        const VocabularyTables& tables,
                                                        const grammar::GiveUp& give_up) {
  std::vector<std::string> warnings;
  Built grammar = form_grammar(spec, give_up, words_of(spec, warnings));
  if (!grammar) return grammar.error();
  auto check = make_check(spec);
  if (!check) return check.error();
  return std::make_shared<const Structure>(Structure{
      .grammar = std::make_shared<grammar::CompiledGrammar>(*std::move(grammar), tables.tokens),
      .check = *std::move(check),
      .calls = nullptr,
      .marks = {},
      .thoughts = tables.thoughts,
      .call_marks = nullptr,
      .warnings = std::move(warnings)});
}

Result<std::shared_ptr<const Structure>> make_call_structure(const llm::StructureSpec& spec,
                                                             const CallTables& tables,
                                                             const grammar::GiveUp& give_up) {
  const llm::ToolChoice& choice = spec.tool_choice;
  const bool several = choice.parallel && tables.spelling.syntax.several;
  const bool beside_form = spec.kind != Kind::kToolCalls;
  Result<std::vector<CalledTool>> tools = called_tools(spec);
  if (!tools) return tools.error();
  std::vector<std::string> warnings;
  const SchemaWords words = words_of(spec, warnings);
  auto grammar = beside_form ? grammar_beside_form(spec, *tools, tables.spelling, give_up, words)
                             : call_grammar(*tools, tables.spelling, give_up, words);
  if (!grammar) return grammar.error();
  Structure structure{.grammar = std::make_shared<grammar::CompiledGrammar>(
                          *std::move(grammar), tables.vocabulary.tokens),
                      .check = nullptr,
                      .calls = nullptr,
                      .marks = tables.spelling.marks,
                      .thoughts = tables.vocabulary.thoughts,
                      .call_marks = nullptr,
                      .warnings = std::move(warnings)};
  if (beside_form) {
    auto check = make_check(spec);
    if (!check) return check.error();
    structure.check = *std::move(check);
  }
  if (choice.use == llm::ToolUse::kAuto && !beside_form) {
    structure.call_marks = tables.marks;
  } else {
    Result<CallCheck> check = CallCheck::make(*tools, several);
    if (!check) return check.error();
    structure.calls = std::make_shared<const CallCheck>(*std::move(check));
  }
  return std::make_shared<const Structure>(std::move(structure));
}

}  // namespace windrow::engine
