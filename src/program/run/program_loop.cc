#include "program/run/program_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "async/start_thread.h"
#include "base/ensure.h"
#include "program/lua/lua_program.h"
#include "program/run/program_run.h"

namespace windrow::program {
namespace {

// What a program's file may do before it is run: nothing.
class NoHost final : public ProgramHost {
 public:
  std::variant<ContextId, llm::Failure> new_context(TaskId, std::string_view,
                                                    ContextOptions) override {
    return nothing();
  }
  std::variant<std::vector<ContextId>, llm::Failure> fork(TaskId, ContextId, size_t) override {
    return nothing();
  }
  HeldContext* find(ContextId) override { return nullptr; }
  void release(ContextId) override {}
  std::optional<std::string> memory_fault() const override { return std::nullopt; }
  std::optional<llm::Failure> begin_generate(TaskId, ContextId, GenerateOptions,
                                             std::optional<uint64_t>) override {
    return nothing();
  }
  std::optional<llm::Failure> begin_score(TaskId, ContextId, std::vector<std::string>) override {
    return nothing();
  }
  std::optional<llm::Failure> begin_select(TaskId, ContextId, std::vector<std::string>) override {
    return nothing();
  }
  std::optional<llm::Failure> begin_embed(TaskId, std::string_view, std::vector<std::string>,
                                          bool) override {
    return nothing();
  }
  std::optional<llm::Failure> begin_group(TaskId, uint32_t, GroupKind, size_t, size_t) override {
    return nothing();
  }
  size_t branches_max() const override { return 0; }
  uint64_t random(TaskId) override { return 0; }
  void set_stage(TaskId, std::string_view) override {}
  ProgramUsage usage() const override { return {}; }
  void log(std::string_view) override {}

 private:
  static llm::Failure nothing() {
    return {.failure_class = llm::FailureClass::kRequest,
            .status = 400,
            .code = std::string(kProgramInvalid),
            .message = "not outside the program's function",
            .param = {}};
  }
};

}  // namespace

struct ProgramLoop::State {
  State(std::shared_ptr<const Program> the_program, ProgramModels& models, PassLog& passes,
        Trace* trace, const Clock& the_clock, ProgramLoopOptions the_options)
      : program(std::move(the_program)),
        options(std::move(the_options)),
        clock(the_clock),
        environment{.program = *program,
                    .models = models,
                    .passes = passes,
                    .trace = trace,
                    .clock = clock,
                    .options = options,
                    .post = [this](InstanceId id, CallEnded ended) {
                      put(Event{.kind = Event::Kind::kCall, .id = id, .call = std::move(ended)});
                    }} {}

  struct Event {
    enum class Kind : uint8_t { kStart, kCall, kCancel };
    Kind kind = Kind::kStart;
    InstanceId id;
    ProgramStart start;
    Done done;
    CallEnded call;
  };

  // --- any thread ---
  void put(Event event);

  // --- the program thread ---
  void run();
  std::vector<Event> take_events(bool may_sleep);
  void handle(Event event);
  void run_slices();
  void end_late_ones();
  void work_on(ProgramRun& instance, const std::function<void()>& work);
  void look_at(ProgramRun& instance);
  bool is_stopping() const;
  void publish();
  static llm::Failure cancelled();
  static llm::Failure could_not_start(const std::exception& error);

  const std::shared_ptr<const Program> program;
  const ProgramLoopOptions options;
  const Clock& clock;
  const RunEnvironment environment;

  mutable std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex:
  std::vector<Event> inbox;
  uint64_t given = 0;
  bool looks = false;  // the time may have changed
  bool stopping = false;
  uint64_t readings_wanted = 0;
  uint64_t readings_made = 0;
  Reading reading;

  // The program thread's:
  std::map<InstanceId, std::unique_ptr<ProgramRun>> instances;
  std::deque<InstanceId> ready;  // those with a task that wants to run, each once
  std::set<InstanceId> is_in_ready;
  std::set<std::pair<TimePoint, InstanceId>> deadlines;

  std::thread thread;
};

llm::Failure ProgramLoop::State::could_not_start(const std::exception& error) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 500,
          .code = "internal_error",
          .message = fmt::format("the program could not start: {}", error.what()),
          .param = {}};
}

llm::Failure ProgramLoop::State::cancelled() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "the program was cancelled",
          .param = {}};
}

void ProgramLoop::State::put(Event event) {
  const std::scoped_lock lock(mutex);
  inbox.push_back(std::move(event));
  // Under the lock, so that the loop may be destroyed as soon as its thread has seen the event.
  changed.notify_all();
}

std::vector<ProgramLoop::State::Event> ProgramLoop::State::take_events(bool may_sleep) {
  std::unique_lock lock(mutex);
  const auto has_work = [&] {
    return !inbox.empty() || looks || readings_wanted > readings_made ||
           (stopping && instances.empty());
  };
  if (may_sleep && !has_work()) {
    if (deadlines.empty()) {
      changed.wait(lock, has_work);
    } else {
      changed.wait_for(lock, deadlines.begin()->first - clock.now(), has_work);
    }
  }
  looks = false;
  return std::exchange(inbox, {});
}

void ProgramLoop::State::run() {
  while (true) {
    std::vector<Event> events = take_events(ready.empty());
    for (Event& event : events)
      handle(std::move(event));
    end_late_ones();
    run_slices();
    publish();
    if (!is_stopping()) continue;
    if (instances.empty()) return;
    std::vector<ProgramRun*> running;
    running.reserve(instances.size());
    for (const auto& [id, instance] : instances)
      running.push_back(instance.get());
    for (ProgramRun* instance : running) {
      instance->cancel(cancelled());
      look_at(*instance);
    }
  }
}

// The loop is being destroyed, and nothing more is to be started.
bool ProgramLoop::State::is_stopping() const {
  const std::scoped_lock lock(mutex);
  return stopping && inbox.empty();
}

void ProgramLoop::State::handle(Event event) {
  if (event.kind == Event::Kind::kStart) {
    std::unique_ptr<ProgramRun> made;
    try {
      made =
          std::make_unique<ProgramRun>(event.id, std::move(event.start), environment, event.done);
    } catch (const std::exception& error) {
      return event.done({.outcome = could_not_start(error), .usage = {}});
    }
    ProgramRun& instance = *made;
    deadlines.emplace(instance.deadline(), event.id);
    instances.emplace(event.id, std::move(made));
    return look_at(instance);
  }
  const auto found = instances.find(event.id);
  if (found == instances.end()) return;
  ProgramRun& instance = *found->second;
  if (event.kind == Event::Kind::kCancel) {
    instance.cancel(cancelled());
    return look_at(instance);
  }
  work_on(instance, [&] { instance.on_call(std::move(event.call)); });
}

// What throws while an instance is worked on fails its row and no other.
void ProgramLoop::State::work_on(ProgramRun& instance, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    instance.fail_on(error);
  }
  look_at(instance);
}

// Puts an instance among those that want to run, or takes it away when it is over.
void ProgramLoop::State::look_at(ProgramRun& instance) {
  const InstanceId id = instance.id();
  if (instance.is_over()) {
    deadlines.erase({instance.deadline(), id});
    const auto found = instances.find(id);
    const std::unique_ptr<ProgramRun> over = std::move(found->second);
    instances.erase(found);
    return over->finish();
  }
  if (instance.is_ready() && is_in_ready.insert(id).second) ready.push_back(id);
}

// A slice of each instance that wants one. What its calls bring meanwhile comes next.
void ProgramLoop::State::run_slices() {
  for (size_t turns = ready.size(); turns > 0; --turns) {
    const InstanceId id = ready.front();
    ready.pop_front();
    is_in_ready.erase(id);
    const auto found = instances.find(id);
    if (found == instances.end()) continue;
    ProgramRun& instance = *found->second;
    work_on(instance, [&] {
      if (instance.is_ready()) instance.step();
    });
  }
}

void ProgramLoop::State::end_late_ones() {
  if (deadlines.empty()) return;
  const TimePoint now = clock.now();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    const InstanceId id = deadlines.begin()->second;
    deadlines.erase(deadlines.begin());
    const auto found = instances.find(id);
    if (found == instances.end()) continue;
    found->second->on_deadline();
    look_at(*found->second);
  }
}

void ProgramLoop::State::publish() {
  uint64_t wanted = 0;
  {
    const std::scoped_lock lock(mutex);
    if (readings_wanted == readings_made) return;
    wanted = readings_wanted;
  }
  Reading now;
  for (const auto& [id, instance] : instances) {
    ++now.instances;
    now.contexts += static_cast<int64_t>(instance->contexts());
    now.tasks += static_cast<int64_t>(instance->tasks());
    now.memory_bytes += static_cast<int64_t>(instance->memory_bytes());
  }
  const std::scoped_lock lock(mutex);
  reading = now;
  readings_made = wanted;
  changed.notify_all();
}

ProgramLoop::ProgramLoop(std::shared_ptr<const Program> program, ProgramModels& models,
                         PassLog& passes, Trace* trace, const Clock& clock,
                         ProgramLoopOptions options)
    : state_(std::make_unique<State>(std::move(program), models, passes, trace, clock,
                                     std::move(options))) {
  state_->thread = async::start_thread("the program thread", [this] { state_->run(); });
}

ProgramLoop::~ProgramLoop() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
    state_->looks = true;
    state_->changed.notify_all();
  }
  state_->thread.join();
}

Result<void> ProgramLoop::check(const Program& program, const ProgramLimits& limits) {
  const SystemClock clock;
  NoHost host;
  LuaProgram lua(limits, clock, host);
  return lua.load(program.source, program.name);
}

InstanceId ProgramLoop::start(ProgramStart start, Done done) {
  const std::scoped_lock lock(state_->mutex);
  const InstanceId id(++state_->given);
  state_->inbox.push_back({.kind = State::Event::Kind::kStart,
                           .id = id,
                           .start = std::move(start),
                           .done = std::move(done),
                           .call = {}});
  state_->changed.notify_all();
  return id;
}

void ProgramLoop::cancel(InstanceId instance) {
  state_->put({.kind = State::Event::Kind::kCancel,
               .id = instance,
               .start = {},
               .done = nullptr,
               .call = {}});
}

void ProgramLoop::check_time() {
  const std::scoped_lock lock(state_->mutex);
  state_->looks = true;
  state_->changed.notify_all();
}

ProgramLoop::Reading ProgramLoop::reading() const {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const uint64_t mine = ++state.readings_wanted;
  state.changed.notify_all();
  state.changed.wait(lock, [&] { return state.readings_made >= mine; });
  return state.reading;
}

}  // namespace windrow::program
