// Structure: a StructureSpec made ready for one vocabulary: the grammar that masks tokens, and a
// check of whole answers that knows nothing of it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/reasoning.h"
#include "chat/tool_syntax.h"
#include "engine/host/types.h"
#include "engine/host/vocabulary.h"
#include "engine/structure/answer_check.h"
#include "engine/structure/call_check.h"
#include "engine/structure/call_grammar.h"
#include "engine/structure/spelled_marks.h"
#include "engine/structure/thought_masks.h"
#include "grammar/matcher.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/token_tables.h"
#include "llm/structure.h"

namespace windrow::engine {

// What all structures of a model need to know of its vocabulary. About 20 MB for 150,000 tokens.
struct VocabularyTables {
  std::shared_ptr<const grammar::TokenTables> tokens;
  std::shared_ptr<const ThoughtMasks> thoughts;
};

// `shown_tokens`: control tokens that the text of an answer names.
VocabularyTables make_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                             std::span<const Token> shown_tokens);

// What calls of tools need of it beside that. Control tokens that belong to calls are spelled.
struct CallTables {
  CallSpelling spelling;
  chat::ReasoningFormat thoughts;  // in front of calls that have to come
  VocabularyTables vocabulary;
  std::shared_ptr<const CallMarks> marks;  // none: calls that need not come are not enforced
};

// `shown_tokens`: control tokens of which calls and thoughts consist.
CallTables make_call_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                            const chat::ToolSyntax& syntax, std::span<const Token> shown_tokens);

struct Structure {
  std::shared_ptr<grammar::CompiledGrammar> grammar;
  std::shared_ptr<const AnswerCheck> check;  // of an answer without calls; none: it has to call
  std::shared_ptr<const CallCheck> calls;    // of those that have to come, or may instead of a form
  SpelledMarks marks;                        // in the grammar
  std::shared_ptr<const ThoughtMasks> thoughts;
  std::shared_ptr<const CallMarks> call_marks;  // of calls that need not come
  std::vector<std::string> warnings;            // what of its schemas has no effect
};

// Adds to the warnings of an answer: texts are cut to 400 bytes, and at most 20 are listed.
void add_warning(std::vector<std::string>& warnings, std::string_view warning);

// kInvalid: why it cannot be enforced, in words for people. kUnavailable: `give_up` said so.
Result<std::shared_ptr<const Structure>> make_structure(const llm::StructureSpec& spec,
                                                        const VocabularyTables& tables,
                                                        const grammar::GiveUp& give_up);

// The same of kToolCalls, and of a form beside which tools may be called; what is at fault comes
// first in the message.
Result<std::shared_ptr<const Structure>> make_call_structure(const llm::StructureSpec& spec,
                                                             const CallTables& tables,
                                                             const grammar::GiveUp& give_up);

}  // namespace windrow::engine
