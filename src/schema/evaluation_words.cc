// What Evaluation says of an answer that is not valid.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "schema/evaluation.h"
#include "schema/keywords.h"

namespace windrow::schema {
namespace {

// Of the branches that do not fit, so many are asked why, and so deep.
constexpr size_t kHintBranchesMax = 16;
constexpr int kHintDepthMax = 2;

}  // namespace

void Evaluation::say(const Node& node, std::string_view keyword, const Where& where,
                     const std::string& words) {
  std::vector<const Place*> path;
  for (const Place* place = where.place; place != nullptr; place = place->outer)
    path.push_back(place);
  Violation& violation = *violation_;
  violation.kind = Violation::Kind::kSchema;
  violation.instance_pointer.clear();
  for (auto place = path.rbegin(); place != path.rend(); ++place) {
    violation.instance_pointer +=
        (*place)->is_item ? fmt::format("/{}", (*place)->index) : pointer_step((*place)->name);
  }
  violation.schema_pointer = node.at;
  if (!keyword.empty()) violation.schema_pointer += pointer_step(keyword);
  violation.message =
      fmt::format("{} {} ({} of the schema)",
                  violation.instance_pointer.empty() ? "the answer" : violation.instance_pointer,
                  words, violation.schema_pointer.empty() ? "all" : violation.schema_pointer);
}

// What keeps the branch that fits best from fitting: the one that is wrong deepest in the value.
std::string Evaluation::nearest(const std::vector<const Node*>& branches, const void* choice,
                                const Value& value, const Where& where) {
  if (hints_ >= kHintDepthMax) return "";
  ++hints_;
  std::optional<Violation> best;
  Violation* const wanted = violation_;
  for (size_t i = 0; i < std::min(branches.size(), kHintBranchesMax); ++i) {
    Violation hint;
    violation_ = &hint;
    if (judge_branch(*branches[i], choice, value, where) || hint.message.empty()) continue;
    const auto depth = [](const Violation& one) {
      return std::count(one.instance_pointer.begin(), one.instance_pointer.end(), '/');
    };
    if (!best || depth(hint) > depth(*best)) best = std::move(hint);
  }
  violation_ = wanted;
  --hints_;
  return best ? "; nearest: " + best->message : "";
}

}  // namespace windrow::schema
