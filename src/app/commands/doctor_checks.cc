#include "app/commands/doctor_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <charconv>
#include <utility>

#include "base/format.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kBlankCharacters = " \t\r";
constexpr uint64_t kGibibyte = uint64_t{1} << 30;

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlankCharacters);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlankCharacters) - begin + 1);
}

// Cuts the first line off.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Cuts the first word off, up to `separator`.
std::string_view take_word(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// The value of the first line "NAME : VALUE".
std::string_view value_in_lines(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (without_blanks(take_word(line, ':')) == name) return without_blanks(line);
  }
  return {};
}

// 0 for a text that does not begin with a number.
uint64_t number_at_front(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view file_name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// --- the processor ---

// The flags that each level adds, by the kernel's names.
constexpr auto kFlagsOfLevel2 =
    std::to_array<std::string_view>({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"});
constexpr auto kFlagsOfLevel3 = std::to_array<std::string_view>(
    {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"});
constexpr auto kFlagsOfLevel4 =
    std::to_array<std::string_view>({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"});

int level_of(std::string_view flags) {
  const std::string padded = fmt::format(" {} ", flags);
  const auto has = [&](std::string_view flag) {
    return padded.find(fmt::format(" {} ", flag)) != std::string::npos;
  };
  if (!has("lm")) return 0;
  if (!std::ranges::all_of(kFlagsOfLevel2, has)) return 1;
  if (!std::ranges::all_of(kFlagsOfLevel3, has)) return 2;
  return std::ranges::all_of(kFlagsOfLevel4, has) ? 4 : 3;
}

constexpr std::string_view kCpuPlugin = "libggml-cpu";

// What a plug-in for CPUs asks of one. A processor that has more is not used as it could be.
int level_of_plugin(std::string_view file) {
  constexpr auto kBelow3 = std::to_array<std::pair<std::string_view, int>>({{"-x64.", 1},
                                                                            {"-sse42.", 2},
                                                                            {"-sandybridge.", 2},
                                                                            {"-ivybridge.", 2},
                                                                            {"-piledriver.", 2}});
  for (const auto& [part, level] : kBelow3) {
    if (file.find(part) != std::string_view::npos) return level;
  }
  return 3;
}

}  // namespace

CpuFacts parse_cpu_info(std::string_view cpu_info, int cores) {
  return {.model = std::string(value_in_lines(cpu_info, "model name")),
          .cores = cores,
          .level = level_of(value_in_lines(cpu_info, "flags"))};
}

Finding check_cpu(const CpuFacts& cpu, const LibraryFacts& library) {
  constexpr int kWithAvx2 = 3;
  const auto plugin = std::ranges::find_if(library.plugins, [](const std::string& path) {
    return file_name_of(path).starts_with(kCpuPlugin);
  });
  const bool has_plugin = plugin != library.plugins.end();
  Finding finding{.name = "cpu",
                  .says = fmt::format("{}, {} core{}",
                                      cpu.model.empty() ? "a processor without a name" : cpu.model,
                                      cpu.cores, cpu.cores == 1 ? "" : "s")};
  if (cpu.level > 0) finding.says += fmt::format(", x86-64-v{}", cpu.level);
  if (has_plugin) finding.says += fmt::format("; computes with {}", file_name_of(*plugin));
  if (cpu.level > 0 && cpu.level < kWithAvx2) {
    finding.verdict = Verdict::kWarning;
    finding.says += "; it has no AVX2";
    finding.advice =
        "it works, several times slower than on a processor with AVX2 (x86-64-v3); of a virtual "
        "machine, pass the host's processor through";
  } else if (has_plugin && cpu.level >= kWithAvx2 && level_of_plugin(*plugin) < kWithAvx2) {
    finding.verdict = Verdict::kWarning;
    finding.says += ", which does not use AVX2 although the processor has it";
    finding.advice = fmt::format(
        "plug-ins for newer processors are missing in {}: install Windrow or libggml again",
        plugin->substr(0, plugin->rfind('/')));
  }
  return finding;
}

// --- libllama ---

std::vector<std::string> libraries_in_maps(std::string_view maps, std::string_view name) {
  std::vector<std::string> paths;
  while (!maps.empty()) {
    const std::string_view line = take_line(maps);
    const size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    std::string path(line.substr(slash));
    if (!file_name_of(path).starts_with(name)) continue;
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
  }
  return paths;
}

namespace {

// "libllama0 1:0.7.0+dfsg-2, ..." -> "0.7.0".
std::string_view upstream_version(std::string_view packages) {
  take_word(packages, ' ');
  std::string_view version = take_word(packages, ',');
  if (const size_t colon = version.find(':'); colon != std::string_view::npos)
    version.remove_prefix(colon + 1);
  return version.substr(0, version.find_first_of("+-"));
}

// Built against the packages of the tests, or against a libllama of the system of that version.
bool is_tested(const LibraryFacts& library) {
  return library.built_against == library.tested ||
         library.built_against.starts_with(
             fmt::format("libllama {} ", upstream_version(library.tested)));
}

}  // namespace

Finding check_runtime(const LibraryFacts& library) {
  Finding finding{.name = "runtime",
                  .says = fmt::format(
                      "{} ({})", library.path.empty() ? "libllama in the program" : library.path,
                      library.built_against)};
  if (!library.failure.empty()) {
    finding.verdict = Verdict::kFault;
    finding.says += fmt::format(": {}", library.failure);
    finding.advice = "install Windrow again, with the plug-ins that belong to it";
  } else if (is_tested(library)) {
    finding.says += ", the version that was tested";
  } else {
    finding.verdict = Verdict::kWarning;
    finding.says += fmt::format("; tested was {}", library.tested);
    finding.advice = "it should work; where answers are wrong, compare with the tested version";
  }
  return finding;
}

// --- devices and memory ---

Finding check_devices(const LibraryFacts& library, std::span<const GpuFile> gpus) {
  std::vector<std::string> words;
  bool has_gpu = false;
  for (const engine::Device& device : library.devices) {
    has_gpu |= device.kind != engine::DeviceKind::kCpu;
    words.push_back(fmt::format("{} ({}, {} free of {})", device.name, device.description,
                                human_bytes(device.memory_free_bytes),
                                human_bytes(device.memory_bytes)));
  }
  Finding finding{.name = "devices",
                  .says = words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "))};
  if (words.empty()) {
    finding.verdict = Verdict::kFault;
    finding.advice = "nothing can be computed without a plug-in of libggml; see the check runtime";
    return finding;
  }
  if (has_gpu || gpus.empty()) return finding;
  finding.verdict = Verdict::kWarning;
  const auto denied = std::ranges::find_if_not(gpus, &GpuFile::may_use);
  if (denied != gpus.end()) {
    finding.says += fmt::format("; {} is there, and this user may not use it", denied->path);
    finding.advice =
        "as root: usermod -aG render,video USER, then log in again; of the service: "
        "SupplementaryGroups=render video";
  } else {
    finding.says += fmt::format("; {} is there, and no plug-in for it is", gpus.front().path);
    finding.advice = "docs/devices.md says how to compute on a GPU; without one this is no mistake";
  }
  return finding;
}

MemoryFacts parse_memory_info(std::string_view mem_info, std::string_view limit) {
  constexpr uint64_t kKibibyte = 1024;
  return {.total_bytes = number_at_front(value_in_lines(mem_info, "MemTotal")) * kKibibyte,
          .available_bytes = number_at_front(value_in_lines(mem_info, "MemAvailable")) * kKibibyte,
          .limit_bytes = number_at_front(limit)};  // "max": none
}

uint64_t usable_memory(const MemoryFacts& memory) {
  if (memory.limit_bytes == 0) return memory.available_bytes;
  return std::min(memory.available_bytes, memory.limit_bytes);
}

Finding check_memory_size(const MemoryFacts& memory) {
  const bool limited = memory.limit_bytes > 0 && memory.limit_bytes < memory.total_bytes;
  Finding finding{
      .name = "memory",
      .says = fmt::format("{} available of {}{}", human_bytes(memory.available_bytes),
                          human_bytes(memory.total_bytes),
                          limited ? fmt::format(", limited to {}", human_bytes(memory.limit_bytes))
                                  : std::string())};
  if (usable_memory(memory) < kGibibyte) {
    finding.verdict = Verdict::kWarning;
    finding.advice =
        "that is little for a model and its contexts: end other programs, or set --ctx";
  }
  return finding;
}

// --- models ---

Finding check_model(const CheckedModel& model, uint64_t device_bytes) {
  Finding finding{.name = "model", .says = model.named};
  if (!model.failure.empty()) {
    finding.verdict = Verdict::kFault;
    // A reason that comes from its file says which one.
    finding.says = model.failure.find(model.named) == std::string::npos
                       ? fmt::format("{}: {}", model.named, model.failure)
                       : model.failure;
    finding.advice = "name another file with --model, or get this one again";
    return finding;
  }
  if (model.is_remote) {
    finding.says += " is downloaded when it is first used";
    return finding;
  }
  finding.says +=
      fmt::format(": {}, about {} with its contexts", model.description, human_bytes(model.bytes));
  if (model.bytes > device_bytes) {
    finding.verdict = Verdict::kWarning;
    finding.says += fmt::format(", and {} are free", human_bytes(device_bytes));
    finding.advice =
        "take a smaller model or a smaller quantisation of it, or smaller contexts (--ctx, "
        "--kv-type q8_0)";
  }
  return finding;
}

// --- all of it ---

namespace {

std::string_view verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kFault:
      return "fault";
  }
  return "";
}

std::string counted_word(size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

}  // namespace

bool has_fault(std::span<const Finding> findings) {
  return std::ranges::find(findings, Verdict::kFault, &Finding::verdict) != findings.end();
}

json::object findings_json(std::span<const Finding> findings, std::string_view version) {
  json::array checks;
  for (const Finding& finding : findings) {
    json::object check{{"check", finding.name},
                       {"verdict", verdict_word(finding.verdict)},
                       {"says", finding.says}};
    if (!finding.advice.empty()) check["advice"] = finding.advice;
    checks.push_back(std::move(check));
  }
  return {{"version", version}, {"works", !has_fault(findings)}, {"checks", std::move(checks)}};
}

std::string findings_text(std::span<const Finding> findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text +=
        fmt::format("{:<8} {:<11} {}\n", verdict_word(finding.verdict), finding.name, finding.says);
    if (!finding.advice.empty()) text += fmt::format("{:<20} -> {}\n", "", finding.advice);
  }
  const auto faults =
      static_cast<size_t>(std::ranges::count(findings, Verdict::kFault, &Finding::verdict));
  const auto warnings =
      static_cast<size_t>(std::ranges::count(findings, Verdict::kWarning, &Finding::verdict));
  if (faults == 0 && warnings == 0) return text + "nothing is wrong\n";
  return text +
         fmt::format("{}, {}\n", counted_word(faults, "fault"), counted_word(warnings, "warning"));
}

}  // namespace windrow::app
