// The tools of a request that an answer may call, and the schemas of their arguments. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/structure.h"

namespace windrow::engine {

struct CallableTool {
  std::string name;
  std::string place;  // where its schema is: "tools[1].function.parameters"
  boost::json::value
      schema;  // of the arguments, which are an object even if it allows other values

  // True: a schema that cannot be enforced is refused. False: any object is accepted then.
  bool strict = true;

  bool any_order = false;  // members of the arguments come in any order
};

// The tools of a kToolCalls spec. With kAuto a tool is strict only if it says so. kInvalid: a
// schema that is not of an object; the message begins with its place.
Result<std::vector<CallableTool>> callable_tools(const llm::StructureSpec& spec);

// Whether no tool is strict by itself and no call is required: then an answer may also be made
// without enforcing the schemas.
bool may_go_unenforced(const llm::StructureSpec& spec);

// The place of a schema with which an error of callable_tools, call_grammar or CallCheck begins:
// "tools[1].function.parameters". nullopt: the error is about something else.
std::optional<std::string> tool_at_fault(std::string_view message);

}  // namespace windrow::engine
