// What becomes of an abort of libggml. libllama and libggml check by assertions what they are
// given, and one that fails ends the process: a file with an absurd header would take a server and
// all its clients with it.
//
// libggml tells a callback first. Within guard_against_abort that callback throws: libllama catches
// it where it catches its own exceptions (while it loads a model and makes a context), and a pass
// of one thread lets it through. Elsewhere nothing can be saved any more (threads of libggml let no
// exception pass), so it is said which model it was and what to do, and the process ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::engine {

// libggml's callback, which is one for the process: while one of these exists (LlamaLibrary has
// it), aborts become what is described above. Made and destroyed where no other thread is in
// libggml.
class AbortWatch {
 public:
  AbortWatch();
  ~AbortWatch();
  AbortWatch(const AbortWatch&) = delete;
  AbortWatch& operator=(const AbortWatch&) = delete;

 private:
  void (*const before_)(const char*);
};

// While one exists, this thread and the threads that libggml has for it compute with the model of
// this file, which is named should the process end. Any thread; `path` outlives it.
class ModelInUse {
 public:
  explicit ModelInUse(const std::string& path);
  ~ModelInUse();
  ModelInUse(const ModelInUse&) = delete;
  ModelInUse& operator=(const ModelInUse&) = delete;

 private:
  const std::string& path_;
};

// Runs `call`, which calls libllama for the model of this file on this thread alone. What libggml
// said when it would have ended the process in it; empty: it did not. What `call` was making is
// lost then: where it is a context in which a pass ran, it may only be freed. Needs an AbortWatch.
std::optional<std::string> guard_against_abort(const std::string& path,
                                               const std::function<void()>& call);

// Of a model whose `doing` ("make a context") ended like this; for the caller to put the file in
// front. kInvalid.
Error abort_error(std::string_view doing, std::string_view said);

// What is written before the process ends, a line; `paths`: of the models that compute.
std::string last_words(std::string_view said, std::string_view paths);

}  // namespace windrow::engine
