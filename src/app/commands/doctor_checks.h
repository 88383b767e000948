// What `windrow doctor` says of a machine: facts -> findings, each with what to do. Pure; the facts
// are gathered by doctor_facts.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/llama/llama_library.h"

namespace windrow::app {

enum class Verdict : uint8_t { kOk, kWarning, kFault };

// The result of one check. A warning works, but worse than it could; a fault does not work.
struct Finding {
  std::string name;  // of the check: "model"
  Verdict verdict = Verdict::kOk;
  std::string says;
  std::string advice = {};  // what to do; empty when nothing is to be done

  friend bool operator==(const Finding&, const Finding&) = default;
};

// --- the processor ---

struct CpuFacts {
  std::string model;  // as the kernel names it; may be empty
  int cores = 0;      // that this process may use
  int level = 0;      // of x86-64, 1 to 4: what compilers call x86-64-v3; 0: another processor
};

// `cpu_info`: the contents of /proc/cpuinfo.
CpuFacts parse_cpu_info(std::string_view cpu_info, int cores);

// --- libllama ---

struct LibraryFacts {
  std::string path;           // of libllama in this process; empty: part of the program
  std::string built_against;  // "libllama0 1:0.7.0+dfsg-2, libggml0 0.27.0-1", or of the system
  std::string tested;         // the same of the versions that the tests ran with
  std::string failure;        // why it does not start; empty: it does
  std::vector<std::string> plugins;  // paths of those of libggml that are loaded
  std::vector<engine::Device> devices;
};

// The paths of the shared libraries in `maps`, the contents of /proc/PID/maps, whose file name
// begins with `name`. In their order, each once.
std::vector<std::string> libraries_in_maps(std::string_view maps, std::string_view name);

Finding check_runtime(const LibraryFacts& library);
Finding check_cpu(const CpuFacts& cpu, const LibraryFacts& library);

// --- devices and memory ---

// A device file of a GPU, such as /dev/nvidia0.
struct GpuFile {
  std::string path;
  bool may_use = false;  // this user may open it for reading and writing
};

Finding check_devices(const LibraryFacts& library, std::span<const GpuFile> gpus);

struct MemoryFacts {
  uint64_t total_bytes = 0;      // of the machine
  uint64_t available_bytes = 0;  // without swapping
  uint64_t limit_bytes = 0;      // of the container or service; 0: none
};

// `mem_info`: the contents of /proc/meminfo. `limit`: those of memory.max of the control group;
// empty where there is none.
MemoryFacts parse_memory_info(std::string_view mem_info, std::string_view limit);

// What a model can get on the CPU.
uint64_t usable_memory(const MemoryFacts& memory);

Finding check_memory_size(const MemoryFacts& memory);

// --- models ---

struct CheckedModel {
  std::string named;        // as it was given
  bool is_remote = false;   // it is downloaded when it is first used
  std::string failure;      // why it cannot be loaded; empty: it can
  std::string description;  // "qwen3 0.6B Q8_0"
  uint64_t bytes = 0;       // with the contexts that a first request is likely to need
};

// `device_bytes`: free memory of the device that the model would be on.
Finding check_model(const CheckedModel& model, uint64_t device_bytes);

// --- all of it ---

bool has_fault(std::span<const Finding> findings);

// {"version", "works", "checks": [{"check", "verdict", "says", "advice"?}]}.
boost::json::object findings_json(std::span<const Finding> findings, std::string_view version);

// A line for each, its advice below it, and the sum at the end.
std::string findings_text(std::span<const Finding> findings);

}  // namespace windrow::app
