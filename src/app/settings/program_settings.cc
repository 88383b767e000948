#include "app/settings/program_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "app/settings/run_options.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "program/library/program_library.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kEndingOfPrograms = ".lua";

std::string text_of(const Settings& settings, const SettingRow& row) {
  const json::value value = value_of(settings, row);
  if (!value.is_string()) return json::serialize(value);
  return value.get_string().empty() ? std::string(row.default_words)
                                    : std::string(value.get_string());
}

// A hash of all modules: an instance may require any of them.
std::string modules_identity() {
  uint64_t hash = 0;
  for (const program::ShippedScript& script : program::shipped_scripts()) {
    if (script.is_module) hash = hash64(script.source, hash64(script.name, hash));
  }
  return to_hex(hash);
}

Error unknown_program(const std::string& named) {
  std::vector<std::string_view> shipped;
  for (const program::ShippedScript& script : program::shipped_scripts()) {
    if (!script.is_module) shipped.push_back(script.name);
  }
  if (shipped.empty()) {
    return {ErrorKind::kNotFound,
            fmt::format("there is no program {}; name a file that ends in .lua", named)};
  }
  return {ErrorKind::kNotFound,
          fmt::format("{0} is neither a file nor a program that Windrow ships{1} There are {2}; a "
                      "program of your own is a file: ./{0}.lua",
                      named, did_you_mean(named, shipped, "."), fmt::join(shipped, ", "))};
}

Result<void> check_model_name(std::string_view flag, const std::string& name,
                              const std::vector<fleet::ModelChoice>& models) {
  if (name.empty() || models.empty()) return {};
  std::vector<std::string> served;
  for (const fleet::ModelChoice& choice : models)
    served.push_back(fleet::served_name(choice));
  if (std::ranges::find(served, name) != served.end()) return {};
  return Error{ErrorKind::kInvalid, fmt::format("{} {}: there is no such model; --model names {}",
                                                flag, name, fmt::join(served, ", "))};
}

}  // namespace

Result<program::Program> load_program(store::Disk& disk, const std::string& named) {
  const bool is_path = named.find('/') != std::string::npos || named.ends_with(kEndingOfPrograms);
  if (!is_path && !disk.exists(named)) {
    const program::ShippedScript* const shipped = program::find_shipped_program(named);
    if (shipped == nullptr) return unknown_program(named);
    return program::Program{.name = named, .source = std::string(shipped->source)};
  }
  Result<std::string> source = disk.read_all(named);
  if (!source) return source.error();
  return program::Program{.name = std::filesystem::path(named).filename().string(),
                          .source = *std::move(source)};
}

program::ProgramLimits program_limits(const Settings& settings) {
  return {.memory_bytes_max = static_cast<size_t>(settings.program_memory_mb) << 20U,
          .instructions_max = settings.program_instructions,
          .wall_max = std::chrono::seconds(settings.program_seconds),
          .tokens_max = settings.program_tokens,
          .contexts_max = static_cast<size_t>(settings.program_contexts),
          .children_max = static_cast<size_t>(settings.program_branches)};
}

std::vector<batch::JobSetting> program_job_settings(const Settings& settings,
                                                    const program::Program& program,
                                                    bool with_upstreams) {
  const std::string& source = program.source;
  std::vector<batch::JobSetting> list = {
      {std::string(kProgramSetting), fmt::format("{}, {} bytes, {}", program.name, source.size(),
                                                 to_hex(hash64(source, source.size())))},
      {"program modules", modules_identity()}};
  for (const SettingRow& row : setting_rows()) {
    if (row.group != SettingGroup::kPrograms || !row.alters_answers) continue;
    list.push_back({std::string(row.name), text_of(settings, row)});
  }
  // Jobs of requests have it only with models in this process.
  if (with_upstreams) {
    list.push_back({"max-tokens-default", fmt::to_string(settings.output_tokens_default)});
  }
  return list;
}

Result<void> check_program_models(const Settings& settings,
                                  const std::vector<fleet::ModelChoice>& models) {
  Result<void> checked = check_model_name("--program-model", settings.program_model, models);
  if (!checked) return checked;
  return check_model_name("--program-embed-model", settings.program_embed_model, models);
}

bool is_chrome_trace(const std::string& path) {
  return path.ends_with(".json");
}

Result<void> check_trace_path(const std::string& path) {
  if (path.empty()) return {};
  if (!is_chrome_trace(path) && !path.ends_with(".txt")) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--trace {}: the ending of the file says what is written; name it "
                             "NAME.json for Chrome's trace format or NAME.txt for a text",
                             path)};
  }
  return check_written_path("--trace", path);
}

}  // namespace windrow::app
