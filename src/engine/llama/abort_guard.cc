#include "engine/llama/abort_guard.h"

#include <fmt/ranges.h>
#include <ggml.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/llama/gguf_header.h"
#include "engine/llama/llama_library.h"

namespace windrow::engine {
namespace {

// Thrown out of libggml. libllama catches what is a std::exception.
class AbortOfGgml final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Guard {
  bool connects = false;  // to a worker
  std::optional<std::string> said = std::nullopt;
};

// The callback is given nothing but a text, so what it has to know can only lie here.
thread_local Guard* guard_of_thread = nullptr;

struct ModelsInUse {
  std::mutex mutex;
  std::vector<const std::string*> paths;
};

ModelsInUse& models_in_use() {
  static ModelsInUse models;
  return models;
}

struct Workers {
  std::mutex mutex;
  std::vector<std::string> names;
};

Workers& workers_in_use() {
  static Workers workers;
  return workers;
}

std::string names_of_workers() {
  Workers& workers = workers_in_use();
  const std::scoped_lock lock(workers.mutex);
  return fmt::format("{}", fmt::join(workers.names, ", "));
}

std::string paths_in_use() {
  ModelsInUse& models = models_in_use();
  // No thread aborts while it holds the mutex, and all hold it briefly.
  const std::scoped_lock lock(models.mutex);
  std::vector<std::string> paths;
  for (const std::string* path : models.paths) {
    if (std::ranges::find(paths, *path) == paths.end()) paths.push_back(*path);
  }
  return fmt::format("{}", fmt::join(paths, ", "));
}

constexpr int kLostWorkerExit = 3;  // the model or its device is unusable

void on_abort(const char* said) {
  Guard* guard = guard_of_thread;
  if (is_lost_worker(said) && (guard == nullptr || !guard->connects)) {
    const std::string words = lost_worker_words(said, names_of_workers());
    fmt::print(stderr, "{}\n", words);  // tidy-allow print: it ends here
    std::fflush(stderr);
    std::_Exit(kLostWorkerExit);
  }
  // A second exception beside one that is on its way would end the process with less to read.
  if (guard != nullptr && std::uncaught_exceptions() == 0) {
    if (!guard->said) guard->said = said;
    throw AbortOfGgml(said);
  }
  fmt::print(stderr, "{}\n", last_words(said, paths_in_use()));  // tidy-allow print: it ends here
  std::fflush(stderr);
}

}  // namespace

AbortWatch::AbortWatch() : before_(ggml_set_abort_callback(&on_abort)) {}

AbortWatch::~AbortWatch() {
  ggml_set_abort_callback(before_);
}

void AbortWatch::add_worker(const std::string& worker) const {
  Workers& workers = workers_in_use();
  const std::scoped_lock lock(workers.mutex);
  workers.names.push_back(worker);
}

ModelInUse::ModelInUse(const std::string& path) : path_(path) {
  ModelsInUse& models = models_in_use();
  const std::scoped_lock lock(models.mutex);
  models.paths.push_back(&path_);
}

ModelInUse::~ModelInUse() {
  ModelsInUse& models = models_in_use();
  const std::scoped_lock lock(models.mutex);
  models.paths.erase(std::ranges::find(models.paths, &path_));
}

namespace {

std::optional<std::string> guarded(Guard guard, const std::function<void()>& call) {
  Guard* const outer = std::exchange(guard_of_thread, &guard);
  try {
    call();
  } catch (const AbortOfGgml&) {
    // It is in guard.said.
  } catch (...) {
    guard_of_thread = outer;
    throw;
  }
  guard_of_thread = outer;
  return std::move(guard.said);
}

}  // namespace

std::optional<std::string> guard_against_abort(const std::string& path,
                                               const std::function<void()>& call) {
  const ModelInUse in_use(path);
  return guarded({}, call);
}

std::optional<std::string> guard_connection(const std::function<void()>& call) {
  return guarded({.connects = true}, call);
}

Error abort_error(std::string_view doing, std::string_view said) {
  return Error{ErrorKind::kInvalid,
               fmt::format("libllama cannot {}: {} ({}); {}", doing, in_one_line(said),
                           LlamaLibrary::version(), kNewFileAdvice)};
}

bool is_lost_worker(std::string_view said) {
  constexpr std::string_view kSayings[] = {"Remote RPC server", "Failed to connect to",
                                           "RPC handshake failed"};
  return std::ranges::any_of(kSayings, [&](std::string_view saying) {
    return said.find(saying) != std::string_view::npos;
  });
}

std::string lost_worker_words(std::string_view said, std::string_view workers) {
  return fmt::format(
      "windrow: an RPC worker ended, or cannot be reached any more (workers: {}); see which one, "
      "start it again, and run the same command: a job goes on from what it has stored (libggml: "
      "{})",
      workers, in_one_line(said));
}

std::string last_words(std::string_view said, std::string_view paths) {
  return fmt::format("windrow: libllama ended the process{}{}: {} ({}); if it does so again, {}",
                     paths.empty() ? "" : " while it computed with ", paths, in_one_line(said),
                     LlamaLibrary::version(), kNewFileAdvice);
}

}  // namespace windrow::engine
