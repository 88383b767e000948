#include "session/service/session_metadata.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "json/parse.h"
#include "json/values.h"
#include "llm/request_json.h"
#include "session/samples/tree_metadata.h"
#include "session/service/session_config_reader.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

json::array ids_of(const std::vector<int32_t>& tokens) {
  json::array ids;
  ids.reserve(tokens.size());
  for (const int32_t token : tokens)
    ids.emplace_back(token);
  return ids;
}

// How many tokens a later turn has dropped at most of the one before.
int64_t trim_of(const TurnPath& path) {
  size_t most = 0;
  for (size_t i = 1; i < path.turns().size(); ++i)
    most = std::max(most, path.tokens_after(i - 1) - path.turns()[i]->kept_tokens);
  return static_cast<int64_t>(most);
}

json::value node_or_null(TurnId id) {
  return id == TurnId() ? json::value(nullptr) : json::value(node_of(id));
}

// Which distribution the log-probabilities are of: "raw", the model's own, before temperature and
// the like; or "as_served": SGLang applies the temperature unless it is started otherwise, and does
// not tell.
std::string_view logprobs_of(const std::optional<SessionModel>& model) {
  const bool sglang =
      model && (model->kind == ModelKind::kSglangChat || model->kind == ModelKind::kSglangGenerate);
  return sglang ? "as_served" : "raw";
}

// Messages as templates get them, whatever form they were sent in. Where they cannot be read, as
// they are: an answer in a form of its server's own.
json::array as_read(json::array messages) {
  const json::object body{{"messages", messages}};
  auto read = llm::parse_request(llm::Endpoint::kChatCompletions, body, 1);
  auto* request = std::get_if<llm::Request>(&read);
  return request == nullptr ? std::move(messages) : std::move(request->chat.messages);
}

}  // namespace

json::object tree_of(const Session& session, const Session::Reading& reading) {
  json::array nodes;
  for (const TurnPath& path : session.all_paths()) {
    const Turn& turn = path.last();
    const size_t end = path.tokens();
    nodes.push_back({{"id", node_of(turn.id)},
                     {"parent", node_or_null(turn.parent)},
                     {"seq", node_of(turn.id)},
                     {"truncated", turn.is_cut()},
                     {"committed_at", turn.answered_at_unix_s},
                     {"completion_span", {end - turn.sampled.size(), end}},
                     {"num_tokens", end},
                     {"response_id", response_id_of(turn)},
                     {"finish_reason", turn.finish_reason}});
  }
  json::array leaves;
  for (const TurnPath& path : reading.leaves) {
    json::array ids;
    for (const TurnPtr& turn : path.turns())
      ids.emplace_back(node_of(turn->id));
    leaves.push_back({{"node_id", node_of(path.last().id)}, {"path_node_ids", std::move(ids)}});
  }
  return {{"nodes", std::move(nodes)}, {"leaves", std::move(leaves)}};
}

llm::Chat chat_of(const TurnPath& path) {
  json::array messages;
  for (const TurnPtr& turn : path.turns()) {
    for (const StoredMessage& message : turn->appended)
      messages.push_back(parse_written_json(message.text));
    messages.push_back(parse_written_json(turn->answer.text));
  }
  llm::Chat chat{.messages = as_read(std::move(messages))};
  if (path.empty() || !path.last().chat_members) return chat;
  json::object members = parse_written_json(*path.last().chat_members).as_object();
  chat.tools = std::move(members.at("tools").as_array());
  chat.template_arguments = std::move(members.at("template_arguments").as_object());
  chat.wishes = std::move(members.at("wishes").as_object());
  return chat;
}

SessionMetadata session_metadata(const Session& session, const Session::Reading& reading,
                                 const std::optional<SessionModel>& model) {
  SessionMetadata metadata;
  json::object& members = metadata.json;
  const TurnPath& latest = reading.latest;
  const std::vector<int32_t> tokens = latest.all_tokens();
  if (model && !latest.empty()) {
    if (auto found = find_mismatches(latest, chat_of(latest), *model->tokenizer)) {
      metadata.mismatches = *std::move(found);
      members["tito_session_mismatch"] = to_json(metadata.mismatches);
    }
  }
  members["accumulated_token_ids"] = ids_of(tokens);
  members["max_trim_tokens"] = trim_of(latest);
  if (session.config().history == HistoryKind::kTree) members["tree"] = tree_of(session, reading);
  members["history"] = to_string(session.config().history);
  members["model"] = text_or_null(reading.model);
  members["logprobs"] = logprobs_of(model);
  members["turns"] = reading.turns;
  members["rollbacks"] = reading.rollbacks;
  members["messages"] = latest.messages();
  return metadata;
}

}  // namespace windrow::session
