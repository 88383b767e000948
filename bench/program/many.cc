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

constexpr const char* kConversation = R"(
return function(input)
  local ctx <close> = Context.new()
  ctx:system("Answer in a few words."):user("This is conversation " .. input.number .. ".")
  local tokens = 0
  for i = 1, input.steps do
    tokens = tokens + ctx:generate{max_tokens = 4, temperature = 1.0}.completion_tokens
    if i < input.steps then ctx:user("And what is next?") end
  end
  return tokens
end
)";

std::vector<boost::json::object> conversations(int32_t count, int32_t steps) {
  std::vector<boost::json::object> inputs;
  for (int32_t i = 0; i < count; ++i)
    inputs.push_back({{"number", i}, {"steps", steps}});
  return inputs;
}

// Of the program thread, in microseconds for an instance.
double thread_us(ProgramRig& rig, int32_t instances, int32_t steps) {
  const double before = rig.thread_seconds();
  rig.run(conversations(instances, steps));
  return (rig.thread_seconds() - before) / instances * 1e6;
}

bool measure_steps(const Shape& shape) {
  ProgramRig rig({.model = "sim:instant,answer-tokens=1000000", .limits = {}, .on_log = {}},
                 kConversation);
  rig.run(conversations(1, 1));
  const double started = thread_us(rig, shape.instances, 0);
  const double all = thread_us(rig, shape.instances, shape.steps);
  const double step = all / shape.steps;
  const bool kept = step <= kStepUsMax;
  fmt::print(
      "{} instances of {} steps: {:.1f} us of the program thread a step with the instance's start "
      "and end (target {}), {:.1f} without; a start and end {:.1f} us  {}\n",
      shape.instances, shape.steps, step, kStepUsMax, (all - started) / shape.steps, started,
      session_bench::verdict(kept));
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
                 kConversation);
  rig.run(conversations(1, 0));
  const double before = session_bench::resident_bytes();
  rig.start(conversations(shape.instances, shape.steps));
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
  return measure_steps(shape) && memory_kept;
}

}  // namespace windrow::program_bench
