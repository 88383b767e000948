// What a server says of its sessions, as text for people. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/result.h"

namespace windrow::app {

// The answer to GET /sessions as a table. `now_unix_s`: for ages. Errors: kInvalid for another kind
// of answer.
Result<std::string> session_list_text(const boost::json::value& list, double now_unix_s);

// The answer to GET /sessions/{id}: its turns as a tree, and the mismatches of its tokens.
// `summary`: the session in the list; null: it is not there. Errors as above.
Result<std::string> session_text(const boost::json::value& session,
                                 const boost::json::value* summary);

// The session of that id in the answer to GET /sessions; null: it is not there.
const boost::json::value* session_in(const boost::json::value& list, const std::string& id);

}  // namespace windrow::app
