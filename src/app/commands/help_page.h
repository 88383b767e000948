// HelpPage: a text of --help, wrapped to a width: usage, what the command does, examples, flags in
// two columns. packaging/generate.py reads such pages. Pure.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/settings/environment.h"

namespace windrow::app {

inline constexpr size_t kHelpWidth = 80;

// The width for a page: as COLUMNS says, else that of the terminal, else kHelpWidth. Pages are
// neither narrower than 40 columns nor wider than 110: longer lines are hard to read. `terminal`:
// its columns, where there is one.
size_t help_width(const Environment& environment, std::optional<size_t> terminal);

class HelpPage {
 public:
  explicit HelpPage(size_t width) : width_(width) {}

  // Forms of the command, a line each, which are not wrapped.
  void usage(std::initializer_list<std::string_view> forms);

  // Words, wrapped; with an empty line before.
  void paragraph(std::string_view words);

  // "Examples", each with its explanation as a comment behind it or in the line above.
  struct Example {
    std::string_view command;
    std::string_view says;
  };
  void examples(std::initializer_list<Example> examples);

  // A line of its own, with an empty line before.
  void heading(std::string_view words);

  // "  --rows-max N              rows computed together (default: 16)", words wrapped.
  void entry(std::string_view left, std::string_view words);

  // "Exit codes" with an entry for each.
  struct ExitCode {
    int code;
    std::string_view says;
  };
  void exit_codes(std::initializer_list<ExitCode> codes);

  std::string take() { return std::move(text_); }

 private:
  void wrap(std::string_view words, size_t indent);

  const size_t width_;
  std::string text_;
};

}  // namespace windrow::app
