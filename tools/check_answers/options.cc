#include "check_answers/options.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace windrow::check_answers {

namespace {

Error invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

template <class Number>
Result<Number> parse_number(std::string_view flag, std::string_view text, Number max) {
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || !(number >= 0) ||
      number > max) {
    return invalid(fmt::format("{} takes a number from 0 to {}, not '{}'", flag, max, text));
  }
  return number;
}

}  // namespace

std::string_view help_text() {
  return R"(check_answers: how many answers of a model are right.

usage: check_answers [options] RESULTS.jsonl KEY.jsonl

  RESULTS.jsonl     OpenAI Batch output of chat completions, as `windrow run` writes it
  KEY.jsonl         {"custom_id": ..., "task": ..., "answer": ...} for every row
  --json            one JSON object instead of a table
  --show-wrong N    the first N wrong answers as well
  --min PERCENT     exit code 1 when a task is below it
  --help            this text

Exit code: 0, 1 when --min is not reached, 2 when a file or the command is unusable.
)";
}

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options;
  std::vector<std::string_view> files;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--min" || argument == "--show-wrong") {
      if (++i == arguments.size()) return invalid(fmt::format("{} needs a value", argument));
      if (argument == "--min") {
        const Result<double> number = parse_number<double>(argument, arguments[i], 100);
        if (!number) return number.error();
        options.min = *number;
      } else {
        const Result<size_t> number = parse_number<size_t>(argument, arguments[i], 1'000'000);
        if (!number) return number.error();
        options.wrong_max = *number;
      }
    } else if (argument.starts_with("-")) {
      return invalid(fmt::format("unknown argument '{}': --help lists the flags", argument));
    } else {
      files.push_back(argument);
    }
  }
  if (files.size() != 2) return invalid("name two files: the results and the key");
  options.results = files[0];
  options.key = files[1];
  return options;
}

}  // namespace windrow::check_answers
