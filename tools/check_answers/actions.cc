#include "check_answers/actions.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <tuple>
#include <utility>

namespace windrow::check_answers {

namespace json = boost::json;

namespace {

// The members of one kind of action.
struct Kind {
  const char* name;
  std::vector<Action> Actions::* list;
  bool observation;
  bool content;  // a text and its sources
};

constexpr Kind kKinds[] = {{"creates", &Actions::creates, false, true},
                           {"updates", &Actions::updates, true, true},
                           {"deletes", &Actions::deletes, true, false}};

std::optional<std::set<std::string>> ids_of(const json::value* value) {
  std::set<std::string> ids;
  if (value == nullptr) return ids;
  if (value->is_object()) return std::nullopt;
  if (const json::array* list = value->if_array()) {
    for (const json::value& id : *list)
      ids.insert(json::serialize(id));
  } else {
    ids.insert(json::serialize(*value));
  }
  return ids;
}

std::optional<Action> action_of(const json::value& value, const Kind& kind) {
  const json::object* object = value.if_object();
  if (object == nullptr) return std::nullopt;
  Action action;
  if (kind.observation) {
    const json::value* id = object->if_contains("observation_id");
    if (id == nullptr) return std::nullopt;
    action.observation = json::serialize(*id);
  }
  if (kind.content) {
    const json::value* text = object->if_contains("text");
    std::optional<std::set<std::string>> ids = ids_of(object->if_contains("source_fact_ids"));
    if (text == nullptr || !text->is_string() || !ids) return std::nullopt;
    action.text = text->get_string();
    action.source_facts = *std::move(ids);
  }
  return action;
}

}  // namespace

std::optional<Actions> actions_of(const json::value& answer) {
  const json::object* object = answer.if_object();
  if (object == nullptr) return std::nullopt;
  Actions actions;
  for (const Kind& kind : kKinds) {
    const json::value* value = object->if_contains(kind.name);
    if (value == nullptr) continue;
    const json::array* list = value->if_array();
    if (list == nullptr) return std::nullopt;
    for (const json::value& element : *list) {
      std::optional<Action> action = action_of(element, kind);
      if (!action) return std::nullopt;
      (actions.*kind.list).push_back(*std::move(action));
    }
    std::sort((actions.*kind.list).begin(), (actions.*kind.list).end());
  }
  return actions;
}

bool same_actions(const std::vector<Action>& left, const std::vector<Action>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Action& one, const Action& other) {
                      return std::tie(one.observation, one.source_facts) ==
                             std::tie(other.observation, other.source_facts);
                    });
}

}  // namespace windrow::check_answers
