// What a thousand instances cost: processor time of the program thread for a step, and memory.
#include <fmt/format.h>

#include <atomic>
#include <boost/json/object.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "program/parts.h"
#include "program/program_rig.h"
#include "session/gauges.h"

namespace windrow::program_bench {
namespace {

constexpr double kStepUsMax = 100;
constexpr double kBytesMax = 100'000;

// A step is one answer that is waited for: of a fork, as graphs ask, or of the next turn of a
// conversation.
constexpr const char* kSteps = R"(
return function(input)
  local ctx <close> = Context.new()
  ctx:system("Answer in a few words."):user("This is conversation " .. input.number .. ".")
  local tokens = 0
  for i = 1, input.steps do
    local asked = input.turns and ctx or ctx:fork()
    tokens = tokens + asked:generate{max_tokens = 4, temperature = 1.0}.completion_tokens
    if not input.turns then
      asked:release()
    elseif i < input.steps then
      ctx:user("And what is next?")
    end
  end
  return tokens
end
)";

std::vector<boost::json::object> inputs_of(int32_t count, int32_t steps, bool turns) {
  std::vector<boost::json::object> inputs;
  for (int32_t i = 0; i < count; ++i)
    inputs.push_back({{"number", i}, {"steps", steps}, {"turns", turns}});
  return inputs;
}

// Of the program thread, in microseconds for an instance.
double thread_us(ProgramRig& rig, int32_t instances, int32_t steps, bool turns) {
  const double before = rig.thread_seconds();
  rig.run(inputs_of(instances, steps, turns));
  return (rig.thread_seconds() - before) / instances * 1e6;
}

bool measure_steps(const Shape& shape, bool turns) {
  ProgramRig rig({.model = "sim:instant,answer-tokens=1000000", .limits = {}, .on_log = {}},
                 kSteps);
  rig.run(inputs_of(1, 1, turns));
  const double started = thread_us(rig, shape.instances, 0, turns);
  const double all = thread_us(rig, shape.instances, shape.steps, turns);
  const double step = all / shape.steps;
  const bool kept = step <= kStepUsMax;
  fmt::print(
      "{} instances of {} {}: {:.1f} us of the program thread each, with the instance's start and "
      "end (target {}), {:.1f} without; a start and end {:.1f} us  {}\n",
      shape.instances, shape.steps, turns ? "turns" : "answers of forks", step, kStepUsMax,
      (all - started) / shape.steps, started, session_bench::verdict(kept));
  return kept;
}

// Looks every millisecond.
void wait_until(const std::function<bool()>& is_so) {
  std::mutex mutex;
  std::condition_variable never_notified;
  std::unique_lock lock(mutex);
  constexpr int kLooksMax = 60'000;
  for (int look = 0; !is_so(); ++look) {
    if (look == kLooksMax) throw std::runtime_error("the instances do not get to their first call");
    never_notified.wait_for(lock, std::chrono::milliseconds(1));
  }
}

bool measure_memory(const Shape& shape) {
  // A pass takes so long that all are at their first call when the first answer comes.
  ProgramRig rig({.model = "sim:step-us=5000000", .rows_max = 32, .limits = {}, .on_log = {}},
                 kSteps);
  rig.run(inputs_of(1, 0, true));
  const double before = session_bench::resident_bytes();
  rig.start(inputs_of(shape.instances, shape.steps, true));
  wait_until([&] { return rig.calls_waiting() == shape.instances; });
  const program::ProgramLoop::Reading reading = rig.reading();
  if (reading.instances != shape.instances) throw std::runtime_error("an instance has ended early");
  const double resident = (session_bench::resident_bytes() - before) / shape.instances;
  const double lua = static_cast<double>(reading.memory_bytes) / shape.instances;
  const bool kept = resident <= kBytesMax;
  fmt::print(
      "{} instances that wait for their first answer: {:.1f} KB each resident, with their calls "
      "(target {}); {:.1f} KB of Lua by accounting; {} contexts  {}\n",
      shape.instances, resident / 1e3, kBytesMax / 1e3, lua / 1e3, reading.contexts,
      session_bench::verdict(kept));
  return kept;
}

}  // namespace

bool measure_many(const Shape& shape) {
  const bool memory_kept = measure_memory(shape);
  const bool forks_kept = measure_steps(shape, false);
  return measure_steps(shape, true) && forks_kept && memory_kept;
}

}  // namespace windrow::program_bench
