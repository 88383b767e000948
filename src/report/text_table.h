// TextTable: two columns of plain text, a name and what is said about it, as the summary and the
// status of a job are printed.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace windrow::report {

class TextTable {
 public:
  // An empty name continues the row before.
  void row(std::string_view name, std::string_view text) {
    text_ += fmt::format("{:<14}{}\n", name, text);
  }

  // Lines of another table.
  void lines(std::string_view lines) { text_ += lines; }

  // The lines so far, each with its line end. Leaves the table empty.
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

}  // namespace windrow::report
