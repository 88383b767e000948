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
  std::string upstream;  // as it was given
  std::string model;     // empty: the one that the rows name, else the server's only one
  std::string api_key_env;

  std::vector<int32_t> in_flight;  // empty: search
  int64_t seconds_each = 8;        // for each of these; 0: requests_each decides
  int64_t requests_each = 0;       // 0: by time

  int64_t output_tokens = 64;  // max_tokens of each request; 0: not in the body
  std::string prompt;
  std::string input;  // rows to send instead

  bool json = false;
};

// In the order of the help.
std::span<const Flag<ProbeCommand>> probe_flags();

// kInvalid where flags are missing or exclude each other.
Result<void> check_probe(const ProbeCommand& command);

}  // namespace windrow::app
