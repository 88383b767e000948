#include "simulate/sim_disk.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "simulate/virtual_threads.h"

namespace windrow::simulate {
namespace {

VirtualThreads& threads() {
  return *VirtualThreads::of_this_thread();
}

template <class T>
std::string said(const Result<T>& result) {
  return result ? std::string() : fmt::format(": {}", result.error().message);
}

}  // namespace

class SimDisk::Append final : public store::AppendFile {
 public:
  Append(SimDisk& disk, std::unique_ptr<store::AppendFile> beneath, std::string path)
      : disk_(disk), beneath_(std::move(beneath)), path_(std::move(path)) {}

  Result<void> append(std::string_view bytes) override {
    const std::string what = fmt::format("append {} bytes to {}", bytes.size(), path_);
    const Death death = disk_.begin(disk_.options_.write_time_max, what);
    const std::string_view part = bytes.substr(0, disk_.random_.below(bytes.size() + 1));
    if (death == Death::kBefore) threads().kill();
    if (death == Death::kWithin) {
      static_cast<void>(beneath_->append(part));
      threads().kill();
    }
    if (disk_.options_.canary == Canary::kTorn && disk_.random_.chance(0.1))
      return beneath_->append(bytes.substr(0, bytes.size() / 2));
    Result<void> done = beneath_->append(bytes);
    if (death == Death::kAfter) threads().kill();
    if (!done) disk_.trace_.event(threads().now(), threads().this_thread(), what + said(done));
    return done;
  }

  Result<void> sync() override {
    return disk_.change(disk_.options_.sync_time_max, fmt::format("sync {}", path_),
                        [&]() -> Result<void> {
                          if (disk_.options_.canary == Canary::kUnsynced) return {};
                          return beneath_->sync();
                        });
  }

  Result<void> truncate(uint64_t size) override {
    return disk_.change(disk_.options_.write_time_max, fmt::format("cut {} to {}", path_, size),
                        [&] { return beneath_->truncate(size); });
  }

  Result<uint64_t> size() const override { return beneath_->size(); }

  Result<void> check_in_place(uint64_t size) const override {
    return beneath_->check_in_place(size);
  }

 private:
  SimDisk& disk_;
  std::unique_ptr<store::AppendFile> beneath_;
  const std::string path_;
};

SimDisk::SimDisk(store::Disk& beneath, Trace& trace, SimDiskOptions options)
    : beneath_(beneath), trace_(trace), options_(options), random_(options.seed) {}

void SimDisk::took(Duration time_max) {
  threads().rest_until(threads().now() + Duration(random_.between(0, time_max.count())));
}

SimDisk::Death SimDisk::begin(Duration time_max, std::string_view what) {
  const bool dies = options_.dies_at && operations_ == *options_.dies_at;
  ++operations_;
  trace_.event(threads().now(), threads().this_thread(), what);
  took(time_max);
  if (!dies) return Death::kNone;
  trace_.event(threads().now(), threads().this_thread(), "the process dies here");
  constexpr std::array kDeaths = {Death::kBefore, Death::kWithin, Death::kAfter};
  return kDeaths.at(random_.below(kDeaths.size()));
}

template <class Do>
std::invoke_result_t<Do> SimDisk::change(Duration time_max, std::string_view what, Do change) {
  const Death death = begin(time_max, what);
  if (death == Death::kBefore) threads().kill();
  auto done = change();
  if (death != Death::kNone) threads().kill();
  if (!done) {
    trace_.event(threads().now(), threads().this_thread(), std::string(what) + said(done));
  }
  return done;
}

Result<std::unique_ptr<store::AppendFile>> SimDisk::open_append(const std::string& path) {
  auto file = change(options_.write_time_max, fmt::format("open {}", path),
                     [&] { return beneath_.open_append(path); });
  if (!file) return file.error();
  return std::make_unique<Append>(*this, *std::move(file), path);
}

Result<std::unique_ptr<store::ReadFile>> SimDisk::open_read(const std::string& path) {
  return beneath_.open_read(path);
}

Result<std::string> SimDisk::read_all(const std::string& path) {
  return beneath_.read_all(path);
}

Result<void> SimDisk::write_atomically(const std::string& path, std::string_view text) {
  return change(options_.sync_time_max, fmt::format("write {}", path),
                [&] { return beneath_.write_atomically(path, text); });
}

Result<void> SimDisk::rename(const std::string& from, const std::string& to) {
  return change(options_.write_time_max, fmt::format("rename {} to {}", from, to),
                [&] { return beneath_.rename(from, to); });
}

Result<void> SimDisk::remove(const std::string& path) {
  return change(options_.write_time_max, fmt::format("remove {}", path),
                [&] { return beneath_.remove(path); });
}

bool SimDisk::exists(const std::string& path) const {
  return beneath_.exists(path);
}

Result<void> SimDisk::sync_folder_of(const std::string& path) {
  return change(options_.sync_time_max, fmt::format("sync the folder of {}", path),
                [&] { return beneath_.sync_folder_of(path); });
}

Result<std::unique_ptr<store::FileLock>> SimDisk::lock(const std::string& path) {
  return beneath_.lock(path);
}

Result<std::unique_ptr<store::FileLock>> SimDisk::lock_file(const std::string& path) {
  return beneath_.lock_file(path);
}

Result<std::optional<std::string>> SimDisk::lock_holder(const std::string& path) const {
  return beneath_.lock_holder(path);
}

}  // namespace windrow::simulate
