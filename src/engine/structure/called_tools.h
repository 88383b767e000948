// CalledTools: of the tools of a request those that an answer may call, and what their arguments
// have to be. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
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

// "tools[1].function.parameters" of a message that begins with that and ": ".
std::string place_in_message(std::string_view message);

}  // namespace windrow::engine
