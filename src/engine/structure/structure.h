// Structure: a StructureSpec compiled for one vocabulary: the grammar that masks tokens, and a
// check of whole answers that is independent of it. Pure; what is returned is immutable and may be
// shared by threads (the grammar keeps masks under a lock of its own).
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
#include "engine/structure/call_grammar.h"
#include "engine/structure/reasoning_gate.h"
#include "engine/structure/token_escapes.h"
#include "grammar/matcher.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/token_tables.h"
#include "llm/structure.h"

namespace windrow::engine {

// What all structures of a model need of its vocabulary. About 20 MB for 150,000 tokens.
struct VocabularyTables {
  std::shared_ptr<const grammar::TokenTables> tokens;
  std::shared_ptr<const ReasoningMasks> reasoning_masks;
};

// `shown_tokens`: control tokens that the text of an answer contains.
VocabularyTables make_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                             std::span<const Token> shown_tokens);

// What calls of tools need besides. The control tokens of calls are escaped.
struct CallTables {
  CallFormat format;
  chat::ReasoningFormat reasoning;  // before calls that have to come
  VocabularyTables vocabulary;
  std::shared_ptr<const CallTriggers> triggers;  // null: optional calls cannot be enforced
};

// `shown_tokens`: the control tokens of calls and reasoning.
CallTables make_call_tables(const Vocabulary& vocabulary, const chat::ReasoningFormat& reasoning,
                            const chat::ToolSyntax& syntax, std::span<const Token> shown_tokens);

struct Structure {
  std::shared_ptr<grammar::CompiledGrammar> grammar;
  std::shared_ptr<const AnswerCheck> check;  // of an answer without calls; null: it has to call
  std::shared_ptr<const CallCheck> calls;    // null: calls may come and are not checked
  TokenEscapes escapes;                      // in the grammar
  std::shared_ptr<const ReasoningMasks> reasoning_masks;
  std::shared_ptr<const CallTriggers> call_triggers;  // of optional calls
  std::vector<std::string> warnings;                  // parts of its schemas without effect
};

// Adds to the warnings of an answer: a text is cut to 400 bytes, and at most 20 are listed.
void add_warning(std::vector<std::string>& warnings, std::string_view warning);

// Compiles a spec of any kind but kToolCalls. kInvalid: it cannot be enforced; the message is for
// the client. kUnavailable: `give_up` returned true.
Result<std::shared_ptr<const Structure>> make_structure(const llm::StructureSpec& spec,
                                                        const VocabularyTables& tables,
                                                        const grammar::GiveUp& give_up);

// The same for kToolCalls, and for a structure beside which tools may be called. A message of
// kInvalid begins with the place at fault.
Result<std::shared_ptr<const Structure>> make_call_structure(const llm::StructureSpec& spec,
                                                             const CallTables& tables,
                                                             const grammar::GiveUp& give_up);

}  // namespace windrow::engine
