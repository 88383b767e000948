#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cstdio>

#include "app/commands/commands.h"
#include "app/process/console.h"
#include "report/compare_results.h"
#include "store/posix_disk.h"

namespace windrow::app {

int compare_command(const CompareCommand& command) {
  // As diff has them.
  constexpr int kSame = 0;
  constexpr int kDifferent = 1;
  constexpr int kTrouble = 2;
  store::PosixDisk disk;
  const Result<report::Comparison> compared = report::compare_results(
      disk, command.first, command.second, {.key = command.key, .examples_max = command.examples});
  if (!compared) {
    fmt::print(stderr, "windrow: {}\n", printable(compared.error().message));
    return kTrouble;
  }
  if (command.json) {
    fmt::print("{}\n", boost::json::serialize(report::comparison_to_json(*compared)));
  } else {
    fmt::print("{}", printable(report::comparison_to_text(*compared)));
  }
  return compared->differs() ? kDifferent : kSame;
}

}  // namespace windrow::app
