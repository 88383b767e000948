// ModelCalls: begins the calls of an instance: the prompt of a context, what it may take of the
// instance's limit of tokens, the seed, and the question to the models, whose answer comes to
// RunEnvironment::post.
//
// Used by the program thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "program/context/context_table.h"
#include "program/models/program_models.h"
#include "program/run/open_calls.h"
#include "program/run/run_environment.h"
#include "program/tasks/task_group.h"

namespace windrow::program {

class ModelCalls {
 public:
  struct Caller {
    TaskId task;
    std::string stage;
  };

  // The number of the call, or why it cannot be made.
  using Begun = std::variant<uint64_t, llm::Failure>;

  // All outlive it.
  ModelCalls(const InstanceId& id, const ProgramStart& start, const RunEnvironment& environment,
             ContextTable& contexts, OpenCalls& calls)
      : id_(id), start_(start), environment_(environment), contexts_(contexts), calls_(calls) {}

  Begun generate(const Caller& caller, ContextId context, GenerateOptions options,
                 std::optional<uint64_t> seed);
  Begun score(const Caller& caller, ContextId context, std::vector<std::string> texts);
  Begun select(const Caller& caller, ContextId context, std::vector<std::string> choices);
  Begun embed(const Caller& caller, std::string_view model, std::vector<std::string> texts,
              bool is_single);

 private:
  CallOwner owner_of(uint64_t call);
  template <class Reply>
  CallDone<Reply> done_of(uint64_t call) const;
  void ask(uint64_t call, const std::function<void()>& asking);
  void ask_to_generate(const HeldContext& held, uint64_t call, Prompt prompt,
                       GenerateOptions options);
  Begun begin_scoring(const Caller& caller, ContextId context, TraceKind kind,
                      std::vector<std::string> texts);

  const InstanceId& id_;
  const ProgramStart& start_;
  const RunEnvironment& environment_;
  ContextTable& contexts_;
  OpenCalls& calls_;
};

}  // namespace windrow::program
