#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/doctor_checks.h"
#include "app/commands/doctor_facts.h"
#include "app/commands/doctor_server_checks.h"
#include "app/process/open_files.h"
#include "app/settings/fleet_settings.h"
#include "app/settings/model_settings.h"
#include "app/settings/resolve_settings.h"
#include "app/settings/serve_options.h"
#include "engine/llama/device_choice.h"
#include "engine/llama/llama_library.h"
#include "store/posix_disk.h"

namespace windrow::app {
namespace {

constexpr int kExitFault = 1;
constexpr int kExitNoCommand = 2;

// The free memory of the devices that such a model would be on.
Result<uint64_t> free_bytes_for_models(const LibraryFacts& library, const MemoryFacts& memory,
                                       const Settings& settings) {
  if (library.devices.empty()) return usable_memory(memory);
  const Result<engine::ChosenDevices> chosen =
      engine::choose_devices(library.devices, device_choice(settings));
  if (!chosen) return chosen.error();
  std::vector<uint64_t> free_bytes;
  for (const size_t holder : chosen->holders) {
    const engine::Device& device = library.devices[holder];
    free_bytes.push_back(device.kind == engine::DeviceKind::kCpu ? usable_memory(memory)
                                                                 : device.memory_free_bytes);
  }
  return engine::shared_free_bytes(free_bytes, chosen->shares);
}

// What is wrong with the setting itself; there is nothing to try then.
Finding wrong_setting(std::string name, const Error& error) {
  return {.name = std::move(name),
          .verdict = Verdict::kFault,
          .says = error.message,
          .advice = "`windrow config show` says where a setting comes from"};
}

void check_models(engine::LlamaLibrary* library, const Settings& settings, uint64_t device_bytes,
                  std::vector<Finding>& findings) {
  if (settings.models.empty()) {
    findings.push_back(
        settings.upstreams.empty()
            ? Finding{.name = "model", .says = "none was given; --model FILE checks one"}
            : Finding{.name = "model",
                      .says = "servers answer; `windrow probe --upstream URL` asks one"});
    return;
  }
  Result<std::vector<fleet::ModelChoice>> choices = parse_model_choices(settings.models);
  if (!choices) {
    findings.push_back(wrong_setting("model", choices.error()));
    return;
  }
  if (const Result<void> options = add_model_options(*choices, settings); !options) {
    findings.push_back(wrong_setting("model", options.error()));
    return;
  }
  for (const fleet::ModelChoice& choice : *choices) {
    findings.push_back(check_model(
        model_facts(library, choice, engine_options(SettingsOf::kServe, settings)), device_bytes));
  }
}

void check_server(const Settings& settings, std::vector<Finding>& findings) {
  store::PosixDisk disk;
  if (const Result<ServeOptions> options = serve_options(settings); options) {
    findings.push_back(check_address(address_facts(options->listen)));
  } else {
    findings.push_back(wrong_setting("address", options.error()));
  }
  if (!settings.data_dir.empty())
    findings.push_back(check_data_folder(folder_facts(settings.data_dir, disk)));
  if (!settings.api_keys.empty())
    findings.push_back(check_key_file(key_file_facts(settings.api_keys, disk)));
  if (const Result<uint64_t> files_max = raise_open_files(); files_max) {
    findings.push_back(check_open_files(*files_max));
  } else {
    findings.push_back(wrong_setting("open files", files_max.error()));
  }
}

}  // namespace

int doctor_command(const DoctorCommand& command, const Environment& environment) {
  store::PosixDisk disk;
  const Result<ResolvedSettings> resolved = load_settings(command.flags, environment, disk);
  if (!resolved) {
    fmt::print(stderr, "windrow: {}\n", resolved.error().message);
    return kExitNoCommand;
  }
  const Settings& settings = resolved->values;
  const auto started = engine::LlamaLibrary::start(backends_folder(), settings.rpc_workers);
  engine::LlamaLibrary* const library = started ? started->get() : nullptr;
  const LibraryFacts facts =
      library_facts(library, started ? std::string() : started.error().message);
  const MemoryFacts memory = memory_facts();

  std::vector<Finding> findings;
  for (const std::string& warning : resolved->warnings)
    findings.push_back({.name = "settings", .verdict = Verdict::kWarning, .says = warning});
  findings.push_back(check_runtime(facts));
  findings.push_back(check_cpu(cpu_facts(), facts));
  findings.push_back(check_devices(facts, gpu_files()));
  findings.push_back(check_memory_size(memory));
  const Result<uint64_t> for_models = free_bytes_for_models(facts, memory, settings);
  if (!for_models) findings.push_back(wrong_setting("device", for_models.error()));
  check_models(library, settings, for_models ? *for_models : usable_memory(memory), findings);
  check_server(settings, findings);

  if (settings.json) {
    fmt::print("{}\n", boost::json::serialize(findings_json(findings, WINDROW_VERSION)));
  } else {
    fmt::print("{}", findings_text(findings));
  }
  return has_fault(findings) ? kExitFault : 0;
}

}  // namespace windrow::app
