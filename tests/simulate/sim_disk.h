// SimDisk: wraps a disk. Operations take time and are traced, and the process is killed at a drawn
// moment: before, within or after an operation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/random.h"
#include "simulate/canary.h"
#include "simulate/trace.h"
#include "store/disk.h"

namespace windrow::simulate {

struct SimDiskOptions {
  uint64_t seed = 1;
  Duration write_time_max = std::chrono::milliseconds(1);
  Duration sync_time_max = std::chrono::milliseconds(20);

  // The process dies with this operation that changes the disk, counted from 0.
  std::optional<int64_t> dies_at;
  Canary canary = Canary::kNone;
};

// Used by threads of one run. `beneath` and `trace` outlive it.
class SimDisk final : public store::Disk {
 public:
  SimDisk(store::Disk& beneath, Trace& trace, SimDiskOptions options);

  Result<std::unique_ptr<store::AppendFile>> open_append(const std::string& path) override;
  Result<std::unique_ptr<store::ReadFile>> open_read(const std::string& path) override;
  Result<std::string> read_all(const std::string& path) override;
  Result<void> write_atomically(const std::string& path, std::string_view text) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<void> sync_folder_of(const std::string& path) override;
  Result<std::unique_ptr<store::FileLock>> lock(const std::string& path) override;
  Result<std::unique_ptr<store::FileLock>> lock_file(const std::string& path) override;
  Result<std::optional<std::string>> lock_holder(const std::string& path) const override;

 private:
  class Append;

  // When the process dies: before the operation is done, after, or (an append) in its middle.
  enum class Death : uint8_t { kNone, kBefore, kWithin, kAfter };

  Death begin(Duration time_max, std::string_view what);
  template <class Do>
  std::invoke_result_t<Do> change(Duration time_max, std::string_view what, Do change);
  void took(Duration time_max);

  store::Disk& beneath_;
  Trace& trace_;
  const SimDiskOptions options_;
  Random random_;
  int64_t operations_ = 0;
};

}  // namespace windrow::simulate
