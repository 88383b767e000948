// The calls that an answer may make, as a grammar: in the words of the model's family
// (chat/tool_syntax.h), of tools there are, with arguments that conform to their schemas. Pure.
//
//   begin  open NAME middle ARGUMENTS close  (between  open ... close)*  end
//
// An answer that may have one call is held to the same grammar and ends where its first call is
// whole (engine/generate/answer_text.h). A grammar that stopped behind the arguments would have no
// token that joins their last brace with the text behind it, and models are trained to write such
// tokens: without them the model writes something else into the arguments.
//
// Harmony has one call in an answer, a message whose header names the tool, in one of two orders
// (chat/harmony.h): behind "<|start|>assistant", which the prompt may have said.
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
#include "engine/structure/call_gate.h"
#include "engine/structure/called_tools.h"
#include "engine/structure/spelled_marks.h"
#include "grammar/grammar.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::engine {

// How a model writes calls, and which marks of that are control tokens of its vocabulary.
struct CallSpelling {
  chat::ToolSyntax syntax;
  SpelledMarks marks;
};

// Why calls that are written so cannot be enforced; nothing: they can.
std::optional<std::string> not_enforceable(const chat::ToolSyntax& syntax);

// What each text of the grammar begins with though the prompt may have said it; mostly nothing.
std::string_view said_before_calls(const chat::ToolSyntax& syntax);

// How thoughts stand in front of calls that have to come: of channels the first message, if it is
// of thoughts.
chat::ReasoningFormat thoughts_before_calls(const chat::ToolSyntax& syntax,
                                            const chat::ReasoningFormat& reasoning);

// Where a call begins in an answer that need not call; none: that cannot be told before it is
// there. Of channels in the spelling of tokens, else as text shows it.
std::vector<CallMarks::Mark> marks_of_calls(const CallSpelling& spelling);

// What becomes of words in the tools' schemas that are not known.
struct SchemaWords {
  grammar::UnknownWords unknown = grammar::UnknownWords::kAnnotate;
  grammar::Warn warn = nullptr;  // "tools[1].function.parameters: at #/properties/a/unit: ..."
};

// `tools` is not empty and the syntax is one that can be enforced. kInvalid: a schema that cannot
// be, its place first. kUnavailable: `give_up` said so.
Result<std::shared_ptr<const grammar::Grammar>> call_grammar(std::span<const CalledTool> tools,
                                                             const CallSpelling& spelling,
                                                             const grammar::GiveUp& give_up,
                                                             const SchemaWords& words = {});

// Makes the grammar of answers that are calls or `form`, a part of `builder`, which is used up.
Result<std::shared_ptr<const grammar::Grammar>> call_or_form_grammar(
    grammar::GrammarBuilder& builder, grammar::Part form, std::span<const CalledTool> tools,
    const CallSpelling& spelling, const grammar::GiveUp& give_up, const SchemaWords& words = {});

}  // namespace windrow::engine
