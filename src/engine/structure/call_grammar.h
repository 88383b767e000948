// The grammar of the calls that an answer may make: in the syntax of the model's family
// (chat/tool_syntax.h), with the names of the tools and arguments that conform to their schemas.
// Pure.
//
//   begin  open NAME middle ARGUMENTS close  (between  open ... close)*  end
//
// An answer that may have one call is held to the same grammar and ends where its first call is
// complete (generate/answer_text.h). A grammar that stopped behind the arguments would exclude
// tokens that join their last brace with the text behind it; models are trained to write such
// tokens, and without them they write something else into the arguments.
//
// Harmony has one call in an answer, a message whose header names the tool, in one of two orders
// (chat/harmony.h): behind "<|start|>assistant", which may be in the prompt.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/reasoning.h"
#include "chat/tool_syntax.h"
#include "engine/structure/call_detector.h"
#include "engine/structure/token_escapes.h"
#include "engine/structure/tool_schemas.h"
#include "grammar/grammar.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::engine {

// How a model writes calls, and which of its marks are control tokens of its vocabulary.
struct CallFormat {
  chat::ToolSyntax syntax;
  TokenEscapes escapes;
};

// Why calls of this syntax cannot be enforced; nullopt: they can.
std::optional<std::string> not_enforceable(const chat::ToolSyntax& syntax);

// The beginning of each text of the grammar that may be in the prompt already; mostly empty.
std::string_view said_before_calls(const chat::ToolSyntax& syntax);

// The format of reasoning before calls that have to come: with channels the first message, if it is
// one of reasoning.
chat::ReasoningFormat reasoning_before_calls(const chat::ToolSyntax& syntax,
                                             const chat::ReasoningFormat& reasoning);

// What a call begins with in an answer that need not call, with escapes for channels, otherwise as
// the text shows it. Empty: a call cannot be recognised before it is complete.
std::vector<CallTriggers::Trigger> triggers_of_calls(const CallFormat& format);

// What happens with unknown words in the tools' schemas.
struct SchemaWords {
  grammar::UnknownWords unknown = grammar::UnknownWords::kAnnotate;
  grammar::Warn warn = nullptr;  // "tools[1].function.parameters: at #/properties/a/unit: ..."
};

// `tools` is not empty, and the syntax can be enforced. kInvalid: a schema cannot be enforced; the
// message begins with its place. kUnavailable: `give_up` returned true.
Result<std::shared_ptr<const grammar::Grammar>> call_grammar(std::span<const CallableTool> tools,
                                                             const CallFormat& format,
                                                             const grammar::GiveUp& give_up,
                                                             const SchemaWords& words = {});

// The grammar of answers that are calls or `form`, a part of `builder`. Uses `builder` up. Errors
// as call_grammar().
Result<std::shared_ptr<const grammar::Grammar>> call_or_form_grammar(
    grammar::GrammarBuilder& builder, grammar::Part form, std::span<const CallableTool> tools,
    const CallFormat& format, const grammar::GiveUp& give_up, const SchemaWords& words = {});

}  // namespace windrow::engine
