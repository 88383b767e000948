#include "engine/sim/sim_calls.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <vector>

#include "chat/marks.h"
#include "chat/tool_syntax.h"
#include "json/depth.h"

namespace windrow::engine::sim {

namespace {

// Blanks of a JSON text as models write them; nothing else of it changes.
std::string with_usual_blanks(std::string_view text) {
  boost::system::error_code error;
  const boost::json::value value =
      boost::json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  if (error || !value.is_object()) return std::string(text);
  std::string spaced;
  bool in_string = false;
  bool escaped = false;
  for (const char c : text) {
    if (in_string) {
      spaced += c;
      in_string = c != '"' || escaped;
      escaped = c == '\\' && !escaped;
      continue;
    }
    if (chat::is_space(c)) continue;
    in_string = c == '"';
    spaced += c;
    if (c == ',' || c == ':') spaced += ' ';
  }
  return spaced;
}

}  // namespace

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
        {.name = std::string(name), .arguments = line.empty() ? "{}" : with_usual_blanks(line)});
  }
  return calls.empty() ? std::string() : write_calls(chat::generic_tool_syntax(), calls);
}

}  // namespace windrow::engine::sim
