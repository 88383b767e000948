#include "session/samples/tree_metadata.h"

#include <boost/json/value.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "json/parse.h"

namespace windrow::session {
namespace {

constexpr std::string_view kTokens = "accumulated_token_ids";
constexpr std::string_view kLeaf = "leaf";
constexpr std::string_view kMismatch = "tito_session_mismatch";

boost::json::object leaf_of(const TurnPath& conversation) {
  const Turn& last = conversation.last();
  boost::json::array nodes;
  for (const TurnPtr& turn : conversation.turns())
    nodes.push_back(node_of(turn->id));
  boost::json::object leaf;
  leaf["node_id"] = node_of(last.id);
  leaf["parent"] = nullptr;
  if (last.parent != TurnId()) leaf["parent"] = node_of(last.parent);
  leaf["path_node_ids"] = std::move(nodes);
  leaf["response_id"] = response_id_of(last);
  return leaf;
}

}  // namespace

int64_t node_of(TurnId turn) {
  return static_cast<int64_t>(turn.value()) - 1;
}

std::string response_id_of(const Turn& turn) {
  if (!turn.reply_members) return {};
  const boost::json::value reply = parse_written_json(*turn.reply_members);
  if (!reply.is_object()) return {};
  const boost::json::value* id = reply.get_object().if_contains("id");
  return id != nullptr && id->is_string() ? std::string(id->get_string()) : std::string();
}

void add_tree_metadata(const TurnPath& conversation, const boost::json::array* mismatches,
                       const boost::json::object* agent, boost::json::object& metadata) {
  if (agent != nullptr) {
    for (const auto& [name, value] : *agent) {
      if (name == kTokens || name == kLeaf || name == kMismatch) continue;
      metadata[name] = value;
    }
  }
  boost::json::array tokens;
  tokens.reserve(conversation.tokens());
  for (const int32_t token : conversation.all_tokens())
    tokens.push_back(token);
  metadata[kTokens] = std::move(tokens);
  metadata[kLeaf] = leaf_of(conversation);
  if (mismatches != nullptr) metadata[kMismatch] = *mismatches;
}

}  // namespace windrow::session
