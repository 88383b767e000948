#include "engine/llama/wait_policy.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace windrow::engine {
namespace {

// Rounds of a waiting loop, some microseconds a thousand; the runtime's own choice is 300,000.
constexpr const char* kSpins = "1000";

}  // namespace

std::optional<WaitSetting> missing_wait_setting(
    const std::function<const char*(const char*)>& variable) {
  for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) {
    if (variable(name) != nullptr) return std::nullopt;
  }
  return WaitSetting{.name = "GOMP_SPINCOUNT", .value = kSpins};
}

void restart_with_wait_setting(char* const* arguments) {
  const std::optional<WaitSetting> setting =
      missing_wait_setting([](const char* name) { return std::getenv(name); });
  if (!setting) return;
  // Run by naming the loader on the command line, the program's own file is the loader.
  if (getauxval(AT_BASE) == 0) return;
  // By its own name, which is what lists of processes show.
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  setenv(setting->name.c_str(), setting->value.c_str(), 1);
  execv(self.c_str(), arguments);
}

}  // namespace windrow::engine
