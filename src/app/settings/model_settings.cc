#include "app/settings/model_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/sim/sim_options.h"
#include "model_store/model_source.h"

namespace windrow::app {
namespace {

// The value without the name in front, if it is for this model.
std::optional<std::string> value_for(const fleet::ModelChoice& choice, const std::string& given,
                                     const std::vector<fleet::ModelChoice>& choices) {
  const size_t equals = given.find('=');
  const std::string_view name = std::string_view(given).substr(0, equals);
  const bool is_name =
      equals != std::string::npos &&
      std::ranges::any_of(choices, [&](const fleet::ModelChoice& one) { return one.name == name; });
  if (!is_name) return given;
  if (name != choice.name) return std::nullopt;
  return given.substr(equals + 1);
}

std::vector<std::string> values_for(const fleet::ModelChoice& choice,
                                    const std::vector<std::string>& given,
                                    const std::vector<fleet::ModelChoice>& choices) {
  std::vector<std::string> values;
  for (const std::string& one : given) {
    std::optional<std::string> value = value_for(choice, one, choices);
    if (value) values.push_back(*std::move(value));
  }
  return values;
}

// A value for this model goes before one for all models; of several the last counts.
std::optional<std::string> value_of(const fleet::ModelChoice& choice,
                                    const std::vector<std::string>& given,
                                    const std::vector<fleet::ModelChoice>& choices) {
  std::optional<std::string> of_all;
  std::optional<std::string> of_this;
  for (const std::string& one : given) {
    std::optional<std::string> value = value_for(choice, one, choices);
    if (value == one) {
      of_all = std::move(value);
    } else if (value) {
      of_this = std::move(value);
    }
  }
  return of_this ? of_this : of_all;
}

// FILE or FILE=SCALE; the text after the last "=" is a scale if it is a number.
Result<engine::AdapterChoice> parse_adapter(const std::string& value) {
  engine::AdapterChoice adapter{.path = value};
  const size_t equals = value.rfind('=');
  if (equals != std::string::npos) {
    std::string_view number = std::string_view(value).substr(equals + 1);
    if (number.starts_with('+') && !number.starts_with("+-")) number.remove_prefix(1);
    float scale = 0;
    const char* end = number.data() + number.size();
    const auto parsed = std::from_chars(number.data(), end, scale);
    if (parsed.ec != std::errc::invalid_argument && parsed.ptr == end) {
      if (parsed.ec != std::errc() || !std::isfinite(scale)) {
        return Error{ErrorKind::kInvalid,
                     fmt::format("--lora {}: {} is no scale; it must be a number such as 0.5",
                                 value, value.substr(equals + 1))};
      }
      adapter.scale = scale;
      adapter.path = value.substr(0, equals);
    }
  }
  if (adapter.path.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--lora {} names no file; write FILE or FILE=SCALE", value)};
  }
  return adapter;
}

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "GGUF";
constexpr std::string_view kLfsPointer = "version https://git-lfs";

Error folder_error(const std::string& path) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> models;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".gguf") models.push_back(entry.path().string());
  }
  std::ranges::sort(models);
  if (models.size() > kNamed) models.resize(kNamed);
  return Error{
      ErrorKind::kInvalid,
      models.empty()
          ? fmt::format("{}: this is a folder without .gguf files; name a model's file", path)
          : fmt::format("{}: this is a folder; name a file in it, such as {}", path,
                        fmt::join(models, " or "))};
}

}  // namespace

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

Result<void> add_model_options(std::vector<fleet::ModelChoice>& choices, const Settings& settings) {
  for (fleet::ModelChoice& choice : choices) {
    choice.chat_template = value_of(choice, settings.chat_templates, choices).value_or("");
    if (const auto pooling = value_of(choice, settings.poolings, choices)) {
      choice.pooling = engine::parse_pooling(*pooling);
      if (!choice.pooling) {
        return Error{ErrorKind::kInvalid,
                     fmt::format("--pooling {}: it must be mean, cls, last or rank", *pooling)};
      }
    }
    for (const std::string& value : values_for(choice, settings.adapters, choices)) {
      Result<engine::AdapterChoice> adapter = parse_adapter(value);
      if (!adapter) return adapter.error();
      choice.adapters.push_back(*std::move(adapter));
    }
  }
  return {};
}

Result<std::vector<fleet::ModelChoice>> tokenizer_choices(const Settings& settings) {
  std::vector<fleet::ModelChoice> choices;
  for (const std::string& text : settings.tokenizers) {
    const std::string place = fmt::format("--tokenizer {}", text);
    const size_t equals = text.find('=');
    // Names of models elsewhere may have a slash.
    fleet::ModelChoice choice{.name = text.substr(0, equals),
                              .path = equals == std::string::npos ? "" : text.substr(equals + 1)};
    if (choice.name.empty() || choice.path.empty() || engine::sim::is_sim(text)) {
      return Error{ErrorKind::kInvalid,
                   place + ": write NAME=PATH, the name of the server's model and a GGUF file"};
    }
    if (settings.upstreams.empty()) {
      return Error{ErrorKind::kInvalid,
                   place +
                       ": it is for models of --upstream servers; a model in this process has "
                       "its own tokenizer, so leave it out"};
    }
    if (model_store::is_remote(choice.path)) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: download the file first; `windrow inspect {}` does", place,
                               choice.path)};
    }
    if (std::ranges::find(choices, choice.name, &fleet::ModelChoice::name) != choices.end()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("--tokenizer names {} twice; keep one of them", choice.name)};
    }
    if (fleet::is_simulated(choice)) {
      if (auto simulated = engine::sim::parse_sim(choice.path); !simulated)
        return simulated.error().in(place);
    } else if (Result<void> checked = check_model_file(choice.path); !checked) {
      return checked.error().in("--tokenizer");
    }
    choices.push_back(std::move(choice));
  }
  for (fleet::ModelChoice& choice : choices)
    choice.chat_template = value_of(choice, settings.chat_templates, choices).value_or("");
  return choices;
}

Result<void> check_model_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return Error{
        ErrorKind::kNotFound,
        fmt::format("{}: there is no such model file{}", path,
                    path == "sim" ? "; for a simulated model write sim: with a colon" : "")};
  }
  if (fs::is_directory(status)) return folder_error(path);

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorKind::kNotFound, fmt::format("{}: the model file cannot be read: {}", path,
                                                   std::generic_category().message(errno))};
  }
  std::string start(kLfsPointer.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  if (start.starts_with(kMagic)) return {};
  if (start == kLfsPointer) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this is a Git LFS pointer, not the model itself; fetch it with "
                             "git lfs pull",
                             path)};
  }
  if (start.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this file is empty; get the model again", path)};
  }
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: this is not a GGUF file (it does not start with \"GGUF\"); other "
                           "formats must be converted first",
                           path)};
}

}  // namespace windrow::app
