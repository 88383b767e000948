// The calls that an answer may make, as a grammar: in the words of the model's family
// (chat/tool_syntax.h), of tools there are, with arguments that conform to their schemas. Pure.
//
//   begin  open NAME middle ARGUMENTS close  (between  open ... close)*  end
//
// Where an answer may call once, it is over behind the arguments, as for whoever reads it
// (chat::ToolContext::several).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "chat/tool_syntax.h"
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

// `tools` is not empty and the syntax is one that can be enforced. kInvalid: a schema that cannot
// be, its place first. kUnavailable: `give_up` said so.
Result<std::shared_ptr<const grammar::Grammar>> call_grammar(std::span<const CalledTool> tools,
                                                             const CallSpelling& spelling,
                                                             bool several,
                                                             const grammar::GiveUp& give_up);

}  // namespace windrow::engine
