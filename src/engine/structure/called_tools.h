// CalledTools: of the tools of a request those that an answer may call, and what their arguments
// have to be. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/structure.h"

namespace windrow::engine {

struct CalledTool {
  std::string name;
  std::string place;          // of the schema: "tools[1].function.parameters"
  boost::json::value schema;  // of an object

  // A schema that cannot be enforced is refused; otherwise any object will do then.
  bool strict = true;
};

// Of a kToolCalls; under kAuto those are strict that say so. kInvalid: a schema that is none of an
// object, its place first.
Result<std::vector<CalledTool>> called_tools(const llm::StructureSpec& spec);

// Whether each of them is strict only because a call is wanted: then an answer may also be made
// without enforcing any.
bool may_go_unenforced(const llm::StructureSpec& spec);

// The tool schema that an error of called_tools, call_grammar or CallCheck begins with:
// "tools[1].function.parameters". Nothing: the error is of something else.
std::optional<std::string> tool_at_fault(std::string_view message);

}  // namespace windrow::engine
