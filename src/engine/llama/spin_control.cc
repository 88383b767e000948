#include "engine/llama/spin_control.h"

#include <dlfcn.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <future>
#include <thread>
#include <utility>

namespace windrow::engine {
namespace {

// So much time of passes is looked at together.
constexpr Duration kWindow = std::chrono::milliseconds(200);

// The runtime's own functions: what a compiler makes of a parallel part, and how many cores it
// sees.
using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
using Cores = int (*)();

Parallel parallel_of_runtime() {
  return reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
}

Cores cores_of_runtime() {
  return reinterpret_cast<Cores>(dlsym(RTLD_DEFAULT, "omp_get_num_procs"));
}

}  // namespace

bool SpinRule::waited(double share) {
  quiet_ = share < kQuietShare ? quiet_ + 1 : 0;
  if (share > kBusyShare) briefly_ = true;
  if (quiet_ >= kQuietWindows) briefly_ = false;
  return briefly_;
}

std::optional<Duration> waited_for_core(std::string_view schedstat) {
  const size_t space = schedstat.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view rest = schedstat.substr(space + 1);
  int64_t nanoseconds = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), nanoseconds);
  if (error != std::errc() || nanoseconds < 0) return std::nullopt;
  return Duration(nanoseconds);
}

bool says_how_to_wait(const std::function<const char*(const char*)>& variable) {
  return variable("GOMP_SPINCOUNT") != nullptr || variable("OMP_WAIT_POLICY") != nullptr;
}

// A thread that had a team of more threads than there are cores. They stay, asleep, until it ends.
class SpinControl::Sleepers {
 public:
  Sleepers(Parallel parallel, unsigned count) {
    std::promise<void> there;
    std::future<void> are_there = there.get_future();
    thread_ = std::jthread(
        [parallel, count, there = std::move(there)](const std::stop_token& stop) mutable {
          parallel([](void*) {}, nullptr, count, 0);
          there.set_value();
          std::mutex mutex;
          std::condition_variable_any never;
          std::unique_lock lock(mutex);
          never.wait(lock, stop, [] { return false; });
        });
    are_there.wait();
  }

 private:
  std::jthread thread_;
};

SpinControl::SpinControl()
    : active_(!says_how_to_wait([](const char* name) { return std::getenv(name); }) &&
              parallel_of_runtime() != nullptr && cores_of_runtime() != nullptr) {}

SpinControl::~SpinControl() = default;

std::optional<Duration> SpinControl::waited_here() const {
  std::ifstream file("/proc/thread-self/schedstat");
  std::string line;
  std::getline(file, line);
  return waited_for_core(line);
}

void SpinControl::pass_ran(Duration duration) {
  if (!active_) return;
  const std::scoped_lock lock(mutex_);
  if (const int64_t thread = gettid(); thread != std::exchange(thread_, thread) || !waited_) {
    waited_ = waited_here();
    passes_ = {};
    return;
  }
  passes_ += duration;
  if (passes_ < kWindow) return;
  const std::optional<Duration> waited = waited_here();
  if (waited) change(rule_.waited(seconds(*waited - *waited_) / seconds(passes_)));
  waited_ = waited;
  passes_ = {};
}

void SpinControl::change(bool briefly) {
  if (briefly == (sleepers_ != nullptr)) return;
  sleepers_ = briefly ? std::make_unique<Sleepers>(parallel_of_runtime(),
                                                   static_cast<unsigned>(cores_of_runtime()()) + 1)
                      : nullptr;
}

bool SpinControl::briefly() const {
  const std::scoped_lock lock(mutex_);
  return sleepers_ != nullptr;
}

void SpinControl::set_briefly(bool briefly) {
  const std::scoped_lock lock(mutex_);
  if (active_) change(briefly);
}

}  // namespace windrow::engine
