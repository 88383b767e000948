// The actions that a consolidation of memory asks for, so that two answers can be compared by their
// effect:
//
//   {"creates": [{"text", "source_fact_ids"}],
//    "updates": [{"text", "observation_id", "source_fact_ids"}],
//    "deletes": [{"observation_id"}]}
#pragma once

#include <boost/json/value.hpp>
#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace windrow::check_answers {

struct Action {
  std::string observation;             // as JSON; empty for what is created
  std::set<std::string> source_facts;  // as JSON
  std::string text;                    // empty for what is deleted

  friend auto operator<=>(const Action&, const Action&) = default;
};

// Each kind sorted: their order in an answer means nothing.
struct Actions {
  std::vector<Action> creates;
  std::vector<Action> updates;
  std::vector<Action> deletes;
};

// Nothing when the value is no such answer. A list that is absent is an empty one, a single id
// instead of a list is a list of it, and members that are no part of an action mean nothing.
std::optional<Actions> actions_of(const boost::json::value& answer);

// Whether two sorted lists do the same to the same observations because of the same facts.
bool same_actions(const std::vector<Action>& left, const std::vector<Action>& right);

}  // namespace windrow::check_answers
