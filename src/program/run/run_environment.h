// What an instance uses, the same for all of a ProgramLoop, and the failures that are its own.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "llm/answer.h"
#include "program/models/program_models.h"
#include "program/run/open_calls.h"
#include "program/run/program_loop.h"
#include "program/trace/pass_log.h"
#include "program/trace/trace.h"

namespace windrow::program {

// The end of a call of an instance.
struct CallEnded {
  uint64_t call = 0;
  CallOutcomes outcome;
};

// What an instance uses; all of it outlives it.
struct RunEnvironment {
  const Program& program;
  ProgramModels& models;
  PassLog& passes;
  Trace* trace = nullptr;  // null: none
  const Clock& clock;
  const ProgramLoopOptions& options;

  // Takes the end of a call to on_call(), on any thread, without blocking.
  std::function<void(InstanceId instance, CallEnded ended)> post;
};

// 422: the program, or what it was given, is at fault.
llm::Failure program_failure(std::string_view code, std::string message);

// 500: memory, for one, was not to be had.
llm::Failure internal_failure(const std::exception& error);

}  // namespace windrow::program
