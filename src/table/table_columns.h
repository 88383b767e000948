// The columns of a table of answers: those of the input, then answer, the members of structured
// answers, finish_reason and error. A name that is there already gets "answer_" in front. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::table {

enum class CellOf : uint8_t { kInput, kAnswer, kMember, kFinishReason, kError };

struct TableColumn {
  std::string name;  // in the table
  CellOf of = CellOf::kInput;
  std::string key;  // of an input's column or a member: its own name
};

std::vector<TableColumn> table_columns(const std::vector<std::string>& input,
                                       const std::vector<std::string>& members);

// The names of members in the order in which they were first seen.
class SeenNames {
 public:
  // More names than this are not kept: a table of so many columns is none.
  static constexpr size_t kNamesMax = 10'000;

  void add(std::string_view name);
  void add_members(const boost::json::object& object);
  const std::vector<std::string>& names() const { return names_; }
  bool full() const { return names_.size() == kNamesMax; }

 private:
  std::vector<std::string> names_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace windrow::table
