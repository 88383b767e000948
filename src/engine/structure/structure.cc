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
#include "json/limits.h"

namespace windrow::engine {

namespace json = boost::json;

namespace {

using Kind = llm::StructureSpec::Kind;
using Built = Result<std::shared_ptr<const grammar::Grammar>>;

// A schema may have thousands of unknown words, and names of any length.
constexpr size_t kWarningsMax = 20;
constexpr size_t kWarningBytesMax = 400;

// `warnings` must outlive the result.
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

// The structure as a part of a grammar, which may have calls of tools as well.
Result<grammar::Part> form_part(grammar::GrammarBuilder& builder, const llm::StructureSpec& spec,
                                const grammar::GiveUp& give_up, const SchemaWords& words) {
  grammar::SchemaOptions options{
      .whitespace =
          spec.flexible_whitespace ? grammar::Whitespace::kFlexible : grammar::Whitespace::kCompact,
      .open = spec.open,
      .property_order =
          spec.any_order ? grammar::PropertyOrder::kAny : grammar::PropertyOrder::kDefinition,
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

// Escapes the control tokens of calls in `texts`; then no other token may have the escape byte.
TokenEscapes escape_control_tokens(const Vocabulary& vocabulary,
                                   std::span<const Token> shown_tokens,
                                   const chat::ToolSyntax& syntax, std::span<std::string> texts) {
  std::vector<TokenEscapes::Entry> marks;
  const std::vector<std::string> of_calls = syntax.marks();
  for (const Token token : shown_tokens) {
    TokenEscapes::Entry mark{.token = token, .ends_answer = vocabulary.ends_answer(token)};
    vocabulary.append_piece(token, mark.text);
    if (std::ranges::find(of_calls, mark.text) != of_calls.end()) marks.push_back(std::move(mark));
  }
  if (marks.empty()) return {};
  for (std::string& text : texts) {
    if (text.find(TokenEscapes::kEscape) != std::string::npos) text.clear();
  }
  for (const TokenEscapes::Entry& mark : marks) {
    if (!mark.ends_answer)
      texts[static_cast<size_t>(mark.token)] = TokenEscapes::kEscape + mark.text;
  }
  return TokenEscapes(std::move(marks));
}

struct VocabularyTexts {
  std::vector<std::string> bytes;  // of each token; empty for tokens that end an answer
  std::vector<Token> ends;
};

VocabularyTexts texts_of(const Vocabulary& vocabulary) {
  const auto size = static_cast<size_t>(vocabulary.size());
  VocabularyTexts texts{.bytes = std::vector<std::string>(size), .ends = {}};
  for (size_t i = 0; i < size; ++i) {
    const auto token = static_cast<Token>(i);
    // A token that ends the answer is never a part of its text, whatever it is written as.
    if (vocabulary.ends_answer(token)) {
      texts.ends.push_back(token);
    } else {
      vocabulary.append_bytes(token, texts.bytes[i]);
    }
  }
  return texts;
}

// Gives the shown tokens the text that an answer has for them.
void show(const Vocabulary& vocabulary, std::span<const Token> shown_tokens,
          VocabularyTexts& texts) {
  for (const Token token : shown_tokens) {
    std::string& text = texts.bytes[static_cast<size_t>(token)];
    text.clear();
    if (std::ranges::find(texts.ends, token) == texts.ends.end())
      vocabulary.append_piece(token, text);
  }
}

std::shared_ptr<const ReasoningMasks> reasoning_masks(const Vocabulary& vocabulary,
                                                      VocabularyTexts texts,
                                                      const chat::ReasoningFormat& reasoning,
                                                      std::span<const Token> shown_tokens) {
  show(vocabulary, shown_tokens, texts);
  return std::make_shared<const ReasoningMasks>(texts.bytes, texts.ends, reasoning);
}

Built form_grammar(const llm::StructureSpec& spec, const grammar::GiveUp& give_up,
                   const SchemaWords& words) {
  grammar::GrammarBuilder builder;
  const Result<grammar::Part> form = form_part(builder, spec, give_up, words);
  if (!form) return form.error();
  grammar::GrammarLimits limits;
  limits.parts_max += 1;  // the root, beside as many choices as there may be
  return builder.finish(*form, limits, give_up);
}

Built grammar_beside_form(const llm::StructureSpec& spec, std::span<const CallableTool> tools,
                          const CallFormat& format, const grammar::GiveUp& give_up,
                          const SchemaWords& words) {
  grammar::GrammarBuilder builder;
  const Result<grammar::Part> form = form_part(builder, spec, give_up, words);
  if (!form) return form.error();
  return call_or_form_grammar(builder, *form, tools, format, give_up, words);
}

// Masks for a message of reasoning, which the beginning of another message ends.
std::shared_ptr<const ReasoningMasks> message_reasoning_masks(
    VocabularyTexts shown, const chat::ReasoningFormat& reasoning) {
  for (size_t i = 0; i < shown.bytes.size(); ++i) {
    if (shown.bytes[i] == chat::harmony::kStart) shown.ends.push_back(static_cast<Token>(i));
  }
  return std::make_shared<const ReasoningMasks>(shown.bytes, shown.ends, reasoning,
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
                          .reasoning_masks = nullptr};
  tables.reasoning_masks = reasoning_masks(vocabulary, std::move(texts), reasoning, shown_tokens);
  return tables;
}

CallTables make_call_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                            const chat::ToolSyntax& syntax, std::span<const Token> shown_tokens) {
  VocabularyTexts texts = texts_of(vocabulary);
  VocabularyTexts shown = texts;
  show(vocabulary, shown_tokens, shown);
  const bool by_messages = !said_before_calls(syntax).empty();
  CallTables tables{.format = {.syntax = syntax, .escapes = {}},
                    .reasoning = reasoning_before_calls(syntax, reasoning),
                    .vocabulary = {},
                    .triggers = nullptr};
  tables.format.escapes = escape_control_tokens(vocabulary, shown_tokens, syntax, texts.bytes);
  tables.vocabulary.tokens = grammar::TokenTables::make(texts.bytes, texts.ends);
  if (std::vector<CallTriggers::Trigger> marks = triggers_of_calls(tables.format); !marks.empty()) {
    tables.triggers = std::make_shared<const CallTriggers>(
        std::move(marks), !by_messages, tables.format.escapes.escape(said_before_calls(syntax)),
        by_messages ? texts.bytes : shown.bytes);
  }
  tables.vocabulary.reasoning_masks =
      by_messages
          ? message_reasoning_masks(std::move(shown), tables.reasoning)
          : std::make_shared<const ReasoningMasks>(shown.bytes, shown.ends, tables.reasoning);
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
      .escapes = {},
      .reasoning_masks = tables.reasoning_masks,
      .call_triggers = nullptr,
      .warnings = std::move(warnings)});
}

Result<std::shared_ptr<const Structure>> make_call_structure(const llm::StructureSpec& spec,
                                                             const CallTables& tables,
                                                             const grammar::GiveUp& give_up) {
  const llm::ToolChoice& choice = spec.tool_choice;
  const bool several = choice.parallel && tables.format.syntax.several;
  const bool beside_form = spec.kind != Kind::kToolCalls;
  Result<std::vector<CallableTool>> tools = callable_tools(spec);
  if (!tools) return tools.error();
  std::vector<std::string> warnings;
  const SchemaWords words = words_of(spec, warnings);
  auto grammar = beside_form ? grammar_beside_form(spec, *tools, tables.format, give_up, words)
                             : call_grammar(*tools, tables.format, give_up, words);
  if (!grammar) return grammar.error();
  Structure structure{.grammar = std::make_shared<grammar::CompiledGrammar>(
                          *std::move(grammar), tables.vocabulary.tokens),
                      .check = nullptr,
                      .calls = nullptr,
                      .escapes = tables.format.escapes,
                      .reasoning_masks = tables.vocabulary.reasoning_masks,
                      .call_triggers = nullptr,
                      .warnings = std::move(warnings)};
  if (beside_form) {
    auto check = make_check(spec);
    if (!check) return check.error();
    structure.check = *std::move(check);
  }
  if (choice.use == llm::ToolUse::kAuto && !beside_form) {
    structure.call_triggers = tables.triggers;
  } else {
    Result<CallCheck> check = CallCheck::make(*tools, several);
    if (!check) return check.error();
    structure.calls = std::make_shared<const CallCheck>(*std::move(check));
  }
  return std::make_shared<const Structure>(std::move(structure));
}

}  // namespace windrow::engine
