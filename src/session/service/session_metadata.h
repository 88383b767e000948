// SessionMetadata: what a session tells of itself beside records and samples: the member `metadata`
// of GET /sessions/{id} and `session_metadata` of its samples. Pure; takes as long as rendering and
// tokenising the conversation, because of the mismatch report.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <vector>

#include "llm/request.h"
#include "session/history/turn_path.h"
#include "session/models/session_models.h"
#include "session/samples/mismatch.h"
#include "session/service/session.h"

namespace windrow::session {

// The conversation as a chat, with tools and arguments of its last turn.
llm::Chat chat_of(const TurnPath& path);

// {"nodes": [...], "leaves": [...]}: all turns in the order of their commit, and the paths to those
// that no turn follows.
boost::json::object tree_of(const Session& session, const Session::Reading& reading);

struct SessionMetadata {
  boost::json::object json;
  std::vector<Mismatch> mismatches;  // of the latest conversation
};

// Members, in order: tito_session_mismatch (absent where it cannot be computed),
// accumulated_token_ids, max_trim_tokens; of a tree also `tree`; then ours: history, model,
// logprobs, turns, rollbacks, messages. `model`: of its turns; nothing: there was none, or it is
// not there any more.
SessionMetadata session_metadata(const Session& session, const Session::Reading& reading,
                                 const std::optional<SessionModel>& model);

}  // namespace windrow::session
