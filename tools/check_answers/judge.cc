#include "check_answers/judge.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "check_answers/actions.h"
#include "check_answers/json_answer.h"

namespace windrow::check_answers {

namespace json = boost::json;

namespace {

Verdict judge_actions(const Actions& expected, const std::optional<Actions>& given) {
  const bool creates = given && same_actions(expected.creates, given->creates);
  const bool updates = given && same_actions(expected.updates, given->updates);
  const bool deletes = given && same_actions(expected.deletes, given->deletes);
  const bool right = creates && updates && deletes;
  const bool texts =
      right && expected.creates == given->creates && expected.updates == given->updates;
  return {.right = right,
          .parts = {
              {"creates", creates}, {"updates", updates}, {"deletes", deletes}, {"texts", texts}}};
}

Verdict judge_json(const json::value& expected, const std::optional<json::value>& given) {
  Verdict verdict{.right = given && *given == expected, .parts = {}};
  const json::object* object = expected.if_object();
  if (object == nullptr) return verdict;
  const json::object* given_object = given ? given->if_object() : nullptr;
  for (const auto& [name, value] : *object) {
    const json::value* other = given_object ? given_object->if_contains(name) : nullptr;
    verdict.parts.push_back({std::string(name), other != nullptr && *other == value});
  }
  return verdict;
}

// `given`: nothing when there is no answer.
Verdict judge_answer(std::string_view task, std::string_view expected,
                     std::optional<std::string_view> given) {
  const std::optional<json::value> expected_json = json_of(expected);
  if (!expected_json) return {.right = given && trimmed(*given) == trimmed(expected), .parts = {}};
  const std::optional<json::value> given_json = given ? json_of(*given) : std::nullopt;
  if (task == "consolidation") {
    const std::optional<Actions> actions = actions_of(*expected_json);
    if (actions) {
      return judge_actions(*actions, given_json ? actions_of(*given_json) : std::nullopt);
    }
  }
  return judge_json(*expected_json, given_json);
}

}  // namespace

Verdict judge(std::string_view task, std::string_view expected, std::string_view given) {
  return judge_answer(task, expected, given);
}

Verdict judge_nothing(std::string_view task, std::string_view expected) {
  return judge_answer(task, expected, std::nullopt);
}

}  // namespace windrow::check_answers
