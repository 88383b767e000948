// Gathers what doctor_checks judge: reads files of the system, tries an address, asks libllama.
// Changes nothing: a folder that does not exist stays so, and a lock that is free stays free. Each
// function blocks until it is done; they are called by one thread.
#pragma once

#include <string>
#include <vector>

#include "app/commands/doctor_checks.h"
#include "app/commands/doctor_server_checks.h"
#include "app/settings/serve_options.h"
#include "fleet/fleet_options.h"
#include "fleet/model_choice.h"
#include "store/disk.h"

namespace windrow::app {

CpuFacts cpu_facts();

// `library`: started, or null with the reason in `failure`.
LibraryFacts library_facts(const engine::LlamaLibrary* library, const std::string& failure);

// The device files of GPUs that this machine has.
std::vector<GpuFile> gpu_files();

MemoryFacts memory_facts();

// Whether libllama could load and compute it, as far as that shows without its weights being read.
// `library` may be null for a simulated or remote model.
CheckedModel model_facts(engine::LlamaLibrary* library, const fleet::ModelChoice& choice,
                         const fleet::EngineOptions& options);

// Takes the address for a moment, and lets go of it.
AddressFacts address_facts(const ListenAddress& address);

FolderFacts folder_facts(const std::string& path, const store::Disk& disk);

KeyFileFacts key_file_facts(const std::string& path, store::Disk& disk);

}  // namespace windrow::app
