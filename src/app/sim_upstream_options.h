// The flags of `windrow sim-upstream`: the one table behind its command line and its help.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim_upstream/sim_server.h"

namespace windrow::app {

struct SimUpstreamCommand {
  sim_upstream::SimServerOptions server{.port = 8000};
  bool stats = false;  // at the end, as one line of JSON
};

struct SimFlag {
  std::string_view group;
  std::string_view name;        // "slots": --slots
  std::string_view value_name;  // empty for what is on or off
  std::string_view help;        // one line, lower case, no full stop
  bool repeatable = false;

  // `text` is empty for what is on or off. kInvalid for a value that the flag does not take.
  Result<void> (*set)(std::string_view text, SimUpstreamCommand& command) = nullptr;
};

// In the order of the help.
std::span<const SimFlag> sim_flags();

// Whether the flags can stand together: kInvalid when not.
Result<void> check_sim_upstream(const SimUpstreamCommand& command);

}  // namespace windrow::app
