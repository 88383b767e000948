// The metadata of a sample of a tree, beside what every sample has. Pure; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string>

#include "session/history/turn_path.h"

namespace windrow::session {

// The number of a turn in the metadata of trees: from 0, in the order of their commit.
int64_t node_of(TurnId turn);

// The `id` of the reply of the turn's model; empty where it told none.
std::string response_id_of(const Turn& turn);

// Of one conversation of a tree, not empty:
//   accumulated_token_ids   its tokens
//   leaf                    {"node_id", "parent", "path_node_ids", "response_id"}
//   tito_session_mismatch   `mismatches`, where they are known
// Members of `agent`, which the client sent with its request, go before what was in `metadata`; but
// not these three. `agent` and `mismatches` may be null.
void add_tree_metadata(const TurnPath& conversation, const boost::json::array* mismatches,
                       const boost::json::object* agent, boost::json::object& metadata);

}  // namespace windrow::session
