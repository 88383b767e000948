// The flags of `windrow probe` (flag_table.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/commands/flag_table.h"
#include "base/result.h"

namespace windrow::app {

struct ProbeCommand {
  std::string upstream;  // as it was written
  std::string model;     // empty: the rows' own, else the only one there is
  std::string api_key_env;

  std::vector<int32_t> in_flight;  // empty: 1, 2, 4, ... while that brings more
  int64_t seconds_each = 8;        // of one number in flight; 0: --requests-each says it
  int64_t requests_each = 0;       // 0: by time

  int64_t output_tokens = 64;  // asked of each answer; 0: the body says nothing about it
  std::string prompt;
  std::string input;  // rows to send instead

  bool json = false;
};

// In the order of the help.
std::span<const Flag<ProbeCommand>> probe_flags();

// Whether the flags can stand together: kInvalid when not.
Result<void> check_probe(const ProbeCommand& command);

}  // namespace windrow::app
