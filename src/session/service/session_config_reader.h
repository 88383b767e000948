// The body of POST /sessions: the settings of one session. Pure; any thread.
#pragma once

#include <string_view>
#include <variant>

#include "llm/answer.h"
#include "llm/priority.h"
#include "session/service/session_options.h"

namespace windrow::session {

// `defaults` with the members of `text`; empty: the defaults. 400 names a member that is unknown or
// has another type; what of a later version is meant must not be ignored. A priority above
// `priority_max` is lowered to it.
std::variant<SessionConfig, llm::Failure> read_session_config(std::string_view text,
                                                              SessionConfig defaults,
                                                              llm::Priority priority_max);

// "linear", "tree".
std::string_view to_string(HistoryKind kind);

}  // namespace windrow::session
