#include "engine/sim/sim_calls.h"

#include <algorithm>
#include <vector>

#include "chat/tool_syntax.h"

namespace windrow::engine::sim {

std::string calls_asked_for(std::string_view message) {
  std::vector<chat::WrittenCall> calls;
  while (!message.empty()) {
    std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(line.size() + 1, message.size()));
    line = line.substr(0, line.find_last_not_of(" \r") + 1);
    if (line.empty()) continue;
    if (!line.starts_with(kCallWord)) return {};
    line.remove_prefix(kCallWord.size());
    const std::string_view name = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(name.size() + 1, line.size()));
    calls.push_back(
        {.name = std::string(name), .arguments = line.empty() ? "{}" : std::string(line)});
  }
  return calls.empty() ? std::string() : write_calls(chat::generic_tool_syntax(), calls);
}

}  // namespace windrow::engine::sim
