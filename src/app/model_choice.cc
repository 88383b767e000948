#include "app/model_choice.h"

#include <fmt/format.h>

#include <set>

#include "engine/sim/sim_options.h"

namespace windrow::app {

fleet::ModelChoice parse_model_choice(std::string_view text) {
  const size_t equals = text.find('=');
  const bool named = equals != std::string_view::npos && equals > 0 && !engine::sim::is_sim(text) &&
                     text.substr(0, equals).find('/') == std::string_view::npos;
  if (!named) return fleet::ModelChoice{.name = "", .path = std::string(text)};
  return fleet::ModelChoice{.name = std::string(text.substr(0, equals)),
                            .path = std::string(text.substr(equals + 1))};
}

Result<std::vector<fleet::ModelChoice>> parse_model_choices(const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return Error{ErrorKind::kInvalid,
                 "no model was named; add --model PATH of a .gguf file, or --upstream URL "
                 "of a server"};
  }
  std::vector<fleet::ModelChoice> choices;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    fleet::ModelChoice choice = parse_model_choice(text);
    if (choice.path.empty()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("--model {} names no file; write NAME=PATH", text)};
    }
    if (choice.name.empty() && texts.size() > 1) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("--model {} has no name, but there is more than one model; write "
                               "--model NAME={}, where rows say NAME as their model",
                               text, text)};
    }
    if (!names.insert(choice.name).second) {
      return Error{
          ErrorKind::kInvalid,
          fmt::format("--model names {} twice; give each model a name of its own", choice.name)};
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace windrow::app
