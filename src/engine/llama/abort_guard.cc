#include "engine/llama/abort_guard.h"

#include <fmt/ranges.h>
#include <ggml.h>

#include <algorithm>
#include <cstdio>
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
  std::optional<std::string> said;
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

void on_abort(const char* said) {
  Guard* guard = guard_of_thread;
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

std::optional<std::string> guard_against_abort(const std::string& path,
                                               const std::function<void()>& call) {
  const ModelInUse in_use(path);
  Guard guard;
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

Error abort_error(std::string_view doing, std::string_view said) {
  return Error{ErrorKind::kInvalid,
               fmt::format("libllama cannot {}: {} ({}); {}", doing, in_one_line(said),
                           LlamaLibrary::version(), kNewFileAdvice)};
}

std::string last_words(std::string_view said, std::string_view paths) {
  return fmt::format("windrow: libllama ended the process{}{}: {} ({}); if it does so again, {}",
                     paths.empty() ? "" : " while it computed with ", paths, in_one_line(said),
                     LlamaLibrary::version(), kNewFileAdvice);
}

}  // namespace windrow::engine
