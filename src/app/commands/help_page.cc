#include "app/commands/help_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace windrow::app {
namespace {

constexpr size_t kWidthMin = 40;
constexpr size_t kWidthMax = 110;

// Where the words of an entry begin; less on a narrow terminal.
constexpr size_t kEntryColumn = 28;
constexpr size_t kNarrowColumn = 8;
constexpr size_t kNarrow = 64;

}  // namespace

size_t help_width(const Environment& environment, std::optional<size_t> terminal) {
  const std::string text = variable(environment, "COLUMNS");
  size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool said = error == std::errc() && end == text.data() + text.size() && columns > 0;
  if (!said) columns = terminal.value_or(kHelpWidth);
  return std::clamp(columns, kWidthMin, kWidthMax);
}

void HelpPage::usage(std::initializer_list<std::string_view> forms) {
  for (const std::string_view form : forms)
    text_ += fmt::format("{}\n", form);
}

void HelpPage::paragraph(std::string_view words) {
  text_ += '\n';
  wrap(words, 0);
}

void HelpPage::examples(std::initializer_list<Example> examples) {
  heading("Examples");
  for (const Example& example : examples) {
    if (!example.says.empty()) text_ += fmt::format("  # {}\n", example.says);
    text_ += fmt::format("  {}\n", example.command);
  }
}

void HelpPage::heading(std::string_view words) {
  text_ += fmt::format("\n{}\n", words);
}

void HelpPage::entry(std::string_view left, std::string_view words) {
  const size_t column = width_ < kNarrow ? kNarrowColumn : kEntryColumn;
  std::string line = fmt::format("  {}", left);
  if (line.size() + 2 > column) {
    text_ += line + "\n";
    line.clear();
  }
  text_ += line + std::string(column - line.size(), ' ');
  wrap(words, column);
}

void HelpPage::exit_codes(std::initializer_list<ExitCode> codes) {
  heading("Exit codes");
  for (const ExitCode& code : codes)
    entry(fmt::format("{}", code.code), code.says);
}

// The text stands at column `indent`. A word that is too long for a line stays whole.
void HelpPage::wrap(std::string_view words, size_t indent) {
  size_t column = indent;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (column > indent && column + 1 + word.size() > width_) {
      text_ += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      text_ += ' ';
      ++column;
    }
    text_ += word;
    column += word.size();
  }
  text_ += '\n';
}

}  // namespace windrow::app
