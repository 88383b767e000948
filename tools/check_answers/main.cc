#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <exception>
#include <span>

#include "check_answers/files.h"
#include "check_answers/options.h"
#include "check_answers/report.h"

namespace {

constexpr int kBelow = 1;
constexpr int kUnusable = 2;

int fail(const std::string& message) {
  fmt::print(stderr, "check_answers: {}\n", message);
  return kUnusable;
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace windrow::check_answers;  // NOLINT(google-build-using-namespace): it is our main
  const std::span<const char* const> arguments(argv, static_cast<size_t>(argc));
  const auto options = parse_options(arguments.subspan(1));
  if (!options) return fail(options.error().message);
  if (options->help) {
    fmt::print("{}", help_text());
    return 0;
  }
  const auto checked = check_files(options->results, options->key, options->wrong_max);
  if (!checked) return fail(checked.error().message);
  if (options->json) {
    fmt::print("{}\n", boost::json::serialize(report_json(checked->score)));
  } else {
    fmt::print("{}", report_text(checked->score));
  }
  for (const WrongAnswer& answer : checked->wrong) {
    fmt::print(stderr, "{}\n  right  {}\n  given  {}\n", answer.custom_id, answer.expected,
               answer.given.value_or("(nothing)"));
  }
  const auto& tasks = checked->score.tasks;
  const bool below = std::any_of(tasks.begin(), tasks.end(), [&](const TaskScore& task) {
    return options->min &&
           100.0 * static_cast<double>(task.right) < *options->min * static_cast<double>(task.rows);
  });
  return below ? kBelow : 0;
} catch (const std::exception& failure) {
  return fail(failure.what());
}
