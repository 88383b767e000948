#include "table/table_columns.h"

#include <utility>

namespace windrow::table {

std::vector<TableColumn> table_columns(const std::vector<std::string>& input,
                                       const std::vector<std::string>& members) {
  std::vector<TableColumn> columns;
  std::set<std::string, std::less<>> taken;
  const auto add = [&](std::string name, CellOf of, std::string key) {
    while (!taken.insert(name).second)
      name.insert(0, "answer_");
    columns.push_back({std::move(name), of, std::move(key)});
  };
  for (const std::string& name : input)
    add(name, CellOf::kInput, name);
  add("answer", CellOf::kAnswer, {});
  for (const std::string& name : members)
    add(name, CellOf::kMember, name);
  add("finish_reason", CellOf::kFinishReason, {});
  add("error", CellOf::kError, {});
  return columns;
}

void SeenNames::add(std::string_view name) {
  if (full() || seen_.contains(name)) return;
  seen_.emplace(name);
  names_.emplace_back(name);
}

void SeenNames::add_members(const boost::json::object& object) {
  for (const auto& member : object)
    add(member.key());
}

}  // namespace windrow::table
