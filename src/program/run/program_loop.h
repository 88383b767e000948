// ProgramLoop: the thread that runs all instances of programs of a job or a server.
//
// Instances take turns: each turn is one slice of one task (LuaState), so an instance that computes
// or loops does not keep others from their answers. The loop sleeps until something comes into
// its inbox or the next instance is out of time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/result.h"
#include "llm/answer.h"
#include "llm/priority.h"
#include "program/limits.h"
#include "program/models/program_models.h"
#include "program/program_usage.h"
#include "program/trace/pass_log.h"
#include "program/trace/trace.h"

namespace windrow::program {

using InstanceId = Id<struct InstanceTag>;  // counted from 1

// A program: its source. Immutable.
struct Program {
  std::string name;    // for results and tracebacks: "graph_of_thought", "sort.lua"
  std::string source;  // Lua
};

// One run of it.
struct ProgramStart {
  std::string input;  // JSON; empty: null
  std::string id;     // for logs and traces: the row's custom_id
  std::string model;  // of contexts that name none; empty: the only one
  std::string key;    // the tenant; empty: none
  llm::Priority priority = llm::Priority::kBatch;
  uint64_t seed = 0;
};

struct ProgramEnd {
  // The result's body (program_result.h), or why there is none: kRequest with a code of limits.h or
  // of a model's failure, kCancelled, or a model's kBackend.
  std::variant<std::string, llm::Failure> outcome;
  ProgramUsage usage;
};

struct ProgramLoopOptions {
  ProgramLimits limits;

  // Of answers whose program does not say how long they may be.
  int32_t output_tokens_default = 4096;

  // A line of log() or print(); called on the program thread. May be empty.
  std::function<void(std::string_view id, std::string_view line)> on_log;
};

// Thread-safe.
class ProgramLoop {
 public:
  using Done = std::function<void(ProgramEnd)>;

  // All of them outlive it; `trace` may be null. Starts the thread.
  ProgramLoop(std::shared_ptr<const Program> program, ProgramModels& models, PassLog& passes,
              Trace* trace, const Clock& clock, ProgramLoopOptions options);

  // Cancels what runs, and waits until every Done has returned.
  ~ProgramLoop();
  ProgramLoop(const ProgramLoop&) = delete;
  ProgramLoop& operator=(const ProgramLoop&) = delete;

  // Whether a program can be run: it compiles, and returns a function. kInvalid with the line. Any
  // thread; needs no loop.
  static Result<void> check(const Program& program, const ProgramLimits& limits);

  // Starts an instance. Done is called once, on the program thread.
  InstanceId start(ProgramStart start, Done done);

  // The instance ends with kCancelled, soon: its calls are stopped, its contexts released. Nothing
  // happens when it has ended.
  void cancel(InstanceId instance);

  // The clock may have moved: a test that moves it calls this.
  void check_time();

  // Figures of this moment. Blocks until the program thread has made them, so not in a Done.
  struct Reading {
    int64_t instances = 0;
    int64_t contexts = 0;  // of all instances
    int64_t tasks = 0;
    int64_t memory_bytes = 0;  // of Lua
  };
  Reading reading() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace windrow::program
