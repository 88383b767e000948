// Turns aborts of libggml into errors where that is possible. libllama and libggml check their
// input by assertions, and one that fails ends the process: a file with an absurd header would end
// a server for all its clients.
//
// libggml calls a callback first. Within guard_against_abort() that callback throws: libllama
// catches the exception where it catches its own (while it loads a model or makes a context), and a
// pass of one thread lets it through. In all other places nothing can be saved (threads of libggml
// let no exception pass), so the callback writes which model it was and what to do, and the process
// ends.
//
// One abort is no fault of a model: libggml also aborts, on threads of its own, when an RPC worker
// does not answer any more. Its connections cannot be made again within the process, so that ends
// with the exit code 3 and a message which says so. What a job has stored is safe, as after a kill.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::engine {

// Installs libggml's callback, of which a process has one, for its lifetime; LlamaLibrary has one.
// Made and destroyed while no other thread is in libggml.
class AbortWatch {
 public:
  AbortWatch();
  ~AbortWatch();
  AbortWatch(const AbortWatch&) = delete;
  AbortWatch& operator=(const AbortWatch&) = delete;

  // From now on the process uses this RPC worker (HOST:PORT). Any thread.
  void add_worker(const std::string& worker) const;

 private:
  void (*const before_)(const char*);
};

// While one exists, this thread and libggml's threads for it compute with the model of this file;
// it is named if the process ends. Any thread; `path` outlives it.
class ModelInUse {
 public:
  explicit ModelInUse(const std::string& path);
  ~ModelInUse();
  ModelInUse(const ModelInUse&) = delete;
  ModelInUse& operator=(const ModelInUse&) = delete;

 private:
  const std::string& path_;
};

// Runs `call`, which uses libllama with the model of this file on this thread alone. Returns
// libggml's message if it would have ended the process; nullopt: it did not. After a message the
// object that `call` was making is unusable; a context in which a pass ran may only be freed. Needs
// an AbortWatch.
std::optional<std::string> guard_against_abort(const std::string& path,
                                               const std::function<void()>& call);

// The same for a call that connects to an RPC worker: that the worker does not answer is a message,
// too, and no end of the process.
std::optional<std::string> guard_connection(const std::function<void()>& call);

// The error of a model for which `doing` ("make a context") ended so. kInvalid; the caller puts the
// file in front.
Error abort_error(std::string_view doing, std::string_view said);

// Whether libggml said that it cannot reach an RPC worker, or not any more. Pure.
bool is_lost_worker(std::string_view said);

// The line for that; `workers`: the ones that are used. Pure.
std::string lost_worker_words(std::string_view said, std::string_view workers);

// The line that is written before the process ends. `paths`: of the models that compute.
std::string last_words(std::string_view said, std::string_view paths);

}  // namespace windrow::engine
