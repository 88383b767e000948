// ProgramRig: a ProgramLoop with scripted models and a clock that the test moves, and instances
// whose end the test waits for.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/manual_clock.h"
#include "program/run/program_loop.h"
#include "program/testing/scripted_models.h"
#include "program/trace/pass_log.h"
#include "program/trace/trace.h"

namespace windrow::program::testing {

// The end of an instance that was started.
class RunningInstance {
 public:
  RunningInstance(InstanceId id, std::future<ProgramEnd> end) : id_(id), end_(std::move(end)) {}

  InstanceId id() const { return id_; }

  // Blocks until it has ended.
  ProgramEnd end() { return end_.get(); }

  // The `result` of its body; fails the test where it has none.
  boost::json::value result() {
    ProgramEnd ended = end();
    if (const auto* failure = std::get_if<llm::Failure>(&ended.outcome)) {
      ADD_FAILURE() << failure->code << ": " << failure->message;
      return {};
    }
    return boost::json::parse(std::get<std::string>(ended.outcome)).at("result");
  }

  // Why it failed; fails the test where it has a result.
  llm::Failure failure() {
    ProgramEnd ended = end();
    if (const auto* body = std::get_if<std::string>(&ended.outcome)) {
      ADD_FAILURE() << "it has a result: " << *body;
      return {};
    }
    return std::get<llm::Failure>(std::move(ended.outcome));
  }

 private:
  InstanceId id_;
  std::future<ProgramEnd> end_;
};

class ProgramRig {
 public:
  explicit ProgramRig(std::string source, ProgramLimits limits = {}, bool upstream = false)
      : models(upstream),
        passes(clock),
        trace(10'000),
        loop(
            std::make_shared<Program>(Program{.name = "test.lua", .source = std::move(source)}),
            models, passes, &trace, clock,
            {.limits = limits, .output_tokens_default = 4096, .on_log = [this](auto id, auto line) {
               const std::scoped_lock lock(mutex);
               lines.emplace_back(std::string(id) + ": " + std::string(line));
             }}) {}

  RunningInstance start(std::string input = "", uint64_t seed = 1, std::string id = "row") {
    auto ended = std::make_shared<std::promise<ProgramEnd>>();
    std::future<ProgramEnd> end = ended->get_future();
    ProgramStart what;
    what.input = std::move(input);
    what.id = std::move(id);
    what.seed = seed;
    const InstanceId instance =
        loop.start(std::move(what), [ended](ProgramEnd how) { ended->set_value(std::move(how)); });
    return RunningInstance(instance, std::move(end));
  }

  std::vector<std::string> log() const {
    const std::scoped_lock lock(mutex);
    return lines;
  }

  // Nothing of any instance is left.
  void expect_nothing_left() {
    const ProgramLoop::Reading reading = loop.reading();
    EXPECT_EQ(reading.instances, 0);
    EXPECT_EQ(reading.contexts, 0);
    EXPECT_EQ(models.holds(), 0U);
    EXPECT_TRUE(models.waiting().empty());
  }

  windrow::testing::ManualClock clock;
  ScriptedModels models;
  PassLog passes;
  Trace trace;
  mutable std::mutex mutex;
  std::vector<std::string> lines;
  ProgramLoop loop;  // the last member: it ends first
};

// A program whose function has this body.
inline std::string program_of(std::string_view body) {
  return "return function(input)\n" + std::string(body) + "\nend\n";
}

}  // namespace windrow::program::testing
