// The flags of `windrow probe`: the one table behind its command line and its help.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

struct ProbeFlag {
  std::string_view group;
  std::string_view name;        // "in-flight": --in-flight
  std::string_view value_name;  // empty for what is on or off
  std::string_view help;        // one line, lower case, no full stop
  bool repeatable = false;

  // `text` is empty for what is on or off. kInvalid for a value that the flag does not take.
  Result<void> (*set)(std::string_view text, ProbeCommand& command) = nullptr;
};

// In the order of the help.
std::span<const ProbeFlag> probe_flags();

// Whether the flags can stand together: kInvalid when not.
Result<void> check_probe(const ProbeCommand& command);

}  // namespace windrow::app
