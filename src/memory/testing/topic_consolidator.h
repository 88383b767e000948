// The response of an ideal model to a prompt of consolidation in the profile `compact`, for facts
// of the form "TOPIC: VALUE": there is one observation for each topic, with the last value that was
// told. So what a run must end with is known without a model. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::memory::testing {

inline std::string topic_of(std::string_view text) {
  return std::string(text.substr(0, text.find(':')));
}

// A line "F1: TEXT (NOTES)" of a prompt.
struct NamedText {
  std::string name;
  std::string text;
};

inline std::vector<NamedText> named_texts(std::string_view prompt, char letter) {
  std::vector<NamedText> texts;
  for (size_t at = 0; at < prompt.size();) {
    const size_t end = std::min(prompt.find('\n', at), prompt.size());
    const std::string_view line = prompt.substr(at, end - at);
    at = end + 1;
    const size_t colon = line.find(": ");
    if (line.empty() || line.front() != letter || colon == std::string_view::npos) continue;
    const bool numbered = colon > 1 && line.substr(1, colon - 1).find_first_not_of("0123456789") ==
                                           std::string_view::npos;
    if (!numbered) continue;
    std::string_view text = line.substr(colon + 2);
    text = text.substr(0, text.rfind(" ("));
    texts.push_back({.name = std::string(line.substr(0, colon)), .text = std::string(text)});
  }
  return texts;
}

inline std::string consolidate_topics(std::string_view prompt) {
  namespace json = boost::json;
  struct Change {
    std::string topic;
    std::string observation;  // empty: a new one
    std::string text;
    json::array facts;
  };
  std::vector<Change> changes;
  const std::vector<NamedText> observations = named_texts(prompt, 'O');
  for (const NamedText& fact : named_texts(prompt, 'F')) {
    const std::string topic = topic_of(fact.text);
    auto change = std::ranges::find(changes, topic, &Change::topic);
    if (change == changes.end()) {
      Change added{.topic = topic, .observation = {}, .text = {}, .facts = {}};
      for (const NamedText& observation : observations) {
        if (topic_of(observation.text) == topic) added.observation = observation.name;
      }
      change = changes.insert(changes.end(), std::move(added));
    }
    change->text = fact.text;
    change->facts.emplace_back(fact.name);
  }
  json::array creates;
  json::array updates;
  for (Change& change : changes) {
    json::object action{{"text", change.text}};
    if (!change.observation.empty()) action["observation_id"] = change.observation;
    action["source_fact_ids"] = std::move(change.facts);
    action["reason"] = "told";
    (change.observation.empty() ? creates : updates).push_back(std::move(action));
  }
  return json::serialize(json::object{{"creates", std::move(creates)},
                                      {"updates", std::move(updates)},
                                      {"deletes", json::array()}});
}

}  // namespace windrow::memory::testing
