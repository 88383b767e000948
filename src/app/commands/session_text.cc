#include "app/commands/session_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "app/commands/text_columns.h"
#include "base/format.h"
#include "json/values.h"
#include "llm/field_values.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

// Mismatches that are shown each; a conversation may have thousands.
constexpr size_t kMismatchesShown = 20;

Error not_of_sessions(std::string_view what) {
  return {ErrorKind::kInvalid, fmt::format("the server's answer is not {}; is it a Windrow server? "
                                           "--json prints what it said",
                                           what)};
}

// A number of the server; 0 where there is none.
double number_in(const json::value* value) {
  boost::system::error_code error;
  if (value == nullptr || !value->is_number()) return 0;
  const auto number = value->to_number<double>(error);
  return error ? 0 : number;
}

int64_t count_of(const json::value* value) {
  constexpr double kCountMax = 9e15;
  return static_cast<int64_t>(std::clamp(number_in(value), -kCountMax, kCountMax));
}

int64_t count_in(const json::value* object, std::string_view name) {
  return count_of(member_in(object, name));
}

std::string_view word_in(const json::value* object, std::string_view name) {
  const json::value* value = member_in(object, name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

const json::array* list_in(const json::value* object, std::string_view name) {
  const json::value* value = member_in(object, name);
  return value == nullptr ? nullptr : value->if_array();
}

std::string bytes_in(const json::value* session) {
  return human_bytes(static_cast<uint64_t>(std::max<int64_t>(0, count_in(session, "bytes"))));
}

std::string age_since(double unix_s, double now_unix_s) {
  const double age_s = std::clamp(now_unix_s - unix_s, 0.0, 1e9);
  return human_duration(std::chrono::seconds(static_cast<int64_t>(age_s)));
}

std::string counted(int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", with_thousands(count), one, count == 1 ? "" : "s");
}

// --- the turns of one session ---

// A tree as it is drawn: a turn with one turn behind it stands in the same column; where several
// follow one, each begins a branch, one step to the right.
class TurnTree {
 public:
  explicit TurnTree(const json::array& nodes) {
    for (const json::value& node : nodes) {
      const int64_t id = count_in(&node, "id");
      if (nodes_.emplace(id, &node).second) ids_.push_back(id);
    }
    for (const int64_t id : ids_) {
      const json::value* parent = member_in(nodes_[id], "parent");
      const bool has_parent = parent != nullptr && parent->is_number() &&
                              nodes_.contains(count_in(nodes_[id], "parent"));
      // A turn stands behind an earlier one, so that there is no circle.
      const int64_t of = has_parent ? count_in(nodes_[id], "parent") : kRoot;
      children_[of < id ? of : kRoot].push_back(id);
    }
  }

  std::string text() const {
    struct Open {
      int64_t id = 0;
      size_t depth = 0;
      bool begins = false;  // a branch
    };
    std::vector<Open> open;
    const auto push_children = [&](int64_t id, size_t depth) {
      const auto found = children_.find(id);
      if (found == children_.end()) return;
      const bool branches = found->second.size() > 1;
      for (auto child = found->second.rbegin(); child != found->second.rend(); ++child)
        open.push_back({*child, depth + (branches ? 1 : 0), branches});
    };
    std::string text;
    push_children(kRoot, 0);
    while (!open.empty()) {
      const Open turn = open.back();
      open.pop_back();
      text += line_of(turn.id, turn.depth, turn.begins);
      push_children(turn.id, turn.depth);
    }
    return text;
  }

 private:
  static constexpr int64_t kRoot = INT64_MIN;

  std::string line_of(int64_t id, size_t depth, bool begins) const {
    const json::value* node = nodes_.at(id);
    const json::array* span = list_in(node, "completion_span");
    const bool whole = span != nullptr && span->size() == 2;
    const int64_t prompt = whole ? count_of(&span->at(0)) : 0;
    const int64_t end = whole ? count_of(&span->at(1)) : 0;
    std::string text =
        fmt::format("{}{}turn {}: prompt {}, sampled {}", std::string(2 * depth, ' '),
                    begins ? "+ " : "  ", id, with_thousands(prompt), with_thousands(end - prompt));
    if (const std::string_view reason = word_in(node, "finish_reason"); !reason.empty())
      text += fmt::format(", {}", reason);
    const json::value* truncated = member_in(node, "truncated");
    if (truncated != nullptr && truncated->is_bool() && truncated->get_bool()) text += ", cut";
    return text + "\n";
  }

  std::map<int64_t, const json::value*> nodes_;
  std::vector<int64_t> ids_;  // in the order of their commit
  std::map<int64_t, std::vector<int64_t>> children_;
};

std::string mismatch_lines(const json::array& mismatches) {
  if (mismatches.empty()) return "no mismatches: the tokens are those of the chat template\n";
  std::string text = fmt::format(
      "{} with the tokens of the chat template\n",
      mismatches.size() == 1 ? "1 mismatch" : fmt::format("{} mismatches", mismatches.size()));
  for (size_t i = 0; i < std::min(mismatches.size(), kMismatchesShown); ++i) {
    const json::value* one = &mismatches[i];
    const int64_t segment = count_in(one, "segment_index");
    text += fmt::format("  {}{}: expected {}, the session has {}", word_in(one, "type"),
                        segment < 0 ? "" : fmt::format(" in segment {}", segment),
                        json::serialize(json::value(llm::shown(word_in(one, "expected_text")))),
                        json::serialize(json::value(llm::shown(word_in(one, "actual_text")))));
    if (const std::string_view detail = word_in(one, "detail"); !detail.empty())
      text += fmt::format(" ({})", llm::shown(detail));
    text += "\n";
  }
  if (mismatches.size() > kMismatchesShown)
    text += fmt::format("  and {} more\n", mismatches.size() - kMismatchesShown);
  return text;
}

}  // namespace

Result<std::string> session_list_text(const json::value& list, double now_unix_s) {
  const json::array* sessions = list_in(&list, "sessions");
  if (sessions == nullptr) return not_of_sessions("a list of sessions");
  if (sessions->empty()) return std::string("there are no sessions\n");
  const bool owned = std::ranges::any_of(
      *sessions, [](const json::value& one) { return !word_in(&one, "owner").empty(); });
  std::vector<std::vector<std::string>> rows = {{"ID", "MODEL", "HISTORY"}};
  if (owned) rows.front().emplace_back("OWNER");
  const size_t words = rows.front().size();
  for (const char* name : {"TURNS", "TOKENS", "ROLLBACKS", "IN FLIGHT", "MEMORY", "AGE", "UNUSED"})
    rows.front().emplace_back(name);
  for (const json::value& one : *sessions) {
    const std::string_view model = word_in(&one, "model");
    std::vector<std::string> row = {std::string(word_in(&one, "id")),
                                    std::string(model.empty() ? "-" : model),
                                    std::string(word_in(&one, "history"))};
    if (owned) row.emplace_back(word_in(&one, "owner"));
    for (const char* name : {"turns", "tokens", "rollbacks", "in_flight"})
      row.push_back(with_thousands(count_in(&one, name)));
    row.push_back(bytes_in(&one));
    row.push_back(age_since(number_in(member_in(&one, "created_at")), now_unix_s));
    row.push_back(age_since(number_in(member_in(&one, "used_at")), now_unix_s));
    rows.push_back(std::move(row));
  }
  return text_columns(rows, words);
}

Result<std::string> session_text(const json::value& session, const json::value* summary) {
  const json::value* metadata = member_in(&session, "metadata");
  if (metadata == nullptr || !metadata->is_object()) return not_of_sessions("a session");
  std::string text = fmt::format("session {}\n", word_in(&session, "session_id"));
  if (summary != nullptr) {
    const std::string_view model = word_in(summary, "model");
    text += fmt::format("{}, {}: {}, {}, {}, {}\n", model.empty() ? "no model yet" : model,
                        word_in(summary, "history"), counted(count_in(summary, "turns"), "turn"),
                        counted(count_in(summary, "tokens"), "token"),
                        counted(count_in(summary, "rollbacks"), "rollback"), bytes_in(summary));
  } else if (const json::array* tokens = list_in(metadata, "accumulated_token_ids")) {
    text += counted(static_cast<int64_t>(tokens->size()), "token") + "\n";
  }
  if (const json::array* nodes = list_in(member_in(metadata, "tree"), "nodes"); nodes != nullptr)
    text += "\n" + TurnTree(*nodes).text();
  if (const json::array* mismatches = list_in(metadata, "tito_session_mismatch");
      mismatches != nullptr)
    text += "\n" + mismatch_lines(*mismatches);
  return text;
}

const json::value* session_in(const json::value& list, const std::string& id) {
  const json::array* sessions = list_in(&list, "sessions");
  if (sessions == nullptr) return nullptr;
  const auto found = std::ranges::find_if(
      *sessions, [&](const json::value& one) { return word_in(&one, "id") == id; });
  return found == sessions->end() ? nullptr : &*found;
}

}  // namespace windrow::app
