// windrow-simulate: whole jobs on a simulated disk, network, server and time, each decided by a
// seed.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "simulate/canary.h"
#include "simulate/seed_run.h"

namespace windrow::simulate {
namespace {

constexpr std::string_view kUsage =
    R"(usage: windrow-simulate --seed N [--seeds COUNT] [--rows N] [--canary NAME]
                        [--keep-going] [--verbose]

Runs whole jobs on a simulated disk, network, server and time. Everything that happens, to the
interleaving of threads, is drawn from the seed; the same seed does the same again.

  --seed N       the first seed
  --seeds COUNT  so many, one after the other, to the first that fails [1]
  --keep-going   and those after it
  --rows N       lines of the input, instead of a drawn number
  --verbose      show everything that happens
  --canary NAME  plant a defect, to see whether it is found:
)";

constexpr std::string_view kExitCodes = R"(
exit code: 0 all is well, 1 an invariant does not hold, 2 these words were not understood
)";

struct Options {
  SeedOptions first;
  uint64_t seeds = 1;
  bool keep_going = false;
};

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

std::optional<Options> read_options(int count, char** words) {
  Options options;
  bool seeded = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--verbose" || word == "--keep-going") {
      (word == "--verbose" ? options.first.verbose : options.keep_going) = true;
      continue;
    }
    if (++i == count) return std::nullopt;
    const std::string_view value = words[i];
    bool understood = false;
    if (word == "--seed") understood = seeded = read_number(value, options.first.seed);
    if (word == "--seeds") understood = read_number(value, options.seeds);
    if (word == "--rows") understood = read_number(value, options.first.rows.emplace());
    if (word == "--canary") {
      const std::optional<Canary> canary = canary_of(value);
      understood = canary.has_value();
      options.first.canary = canary.value_or(Canary::kNone);
    }
    if (!understood) return std::nullopt;
  }
  if (!seeded) return std::nullopt;
  return options;
}

void print_usage() {
  fmt::print(stderr, "{}", kUsage);
  for (const CanaryName& canary : kCanaries)
    fmt::print(stderr, "                   {:<12}{}\n", canary.name, canary.what);
  fmt::print(stderr, "{}", kExitCodes);
}

int simulate_all(const Options& options) {
  uint64_t failed = 0;
  SeedOptions seed = options.first;
  for (uint64_t i = 0; i < options.seeds; ++i, ++seed.seed) {
    const SeedRun run = run_seed(seed, [](std::string_view text) { fmt::print("{}", text); });
    if (run.well) continue;
    ++failed;
    if (!options.keep_going) break;
  }
  if (options.seeds > 1) {
    fmt::print("{}", failed == 0 ? fmt::format("all of {} seeds went well\n", options.seeds)
                                 : fmt::format("{} seeds failed\n", failed));
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace windrow::simulate

int main(int count, char** words) {
  try {
    const auto options = windrow::simulate::read_options(count, words);
    if (options) return windrow::simulate::simulate_all(*options);
    windrow::simulate::print_usage();
  } catch (const std::exception& error) {
    fmt::print(stderr, "windrow-simulate: {}\n", error.what());
  }
  return 2;
}
