#include "program/rows/program_rows.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace windrow::program {
namespace {

dispatch::DispatchResult result_of(ProgramEnd end, Duration taken) {
  const llm::Usage& used = end.usage.tokens;
  dispatch::DispatchResult result;
  result.tokens = int64_t{used.prompt_tokens} + used.completion_tokens;
  if (auto* failure = std::get_if<llm::Failure>(&end.outcome)) {
    failure->usage = used;
    result.outcome = std::move(*failure);
    return result;
  }
  llm::Answer answer;
  answer.raw = std::move(std::get<std::string>(end.outcome));
  answer.usage = used;
  answer.timings.decode_ms = milliseconds(taken);
  result.outcome = std::move(answer);
  return result;
}

}  // namespace

ProgramRows::ProgramRows(ProgramLoop& loop, const Clock& clock, ProgramRowsOptions options)
    : loop_(loop), clock_(clock), options_(std::move(options)) {}

ProgramRows::~ProgramRows() {
  stop_admitting();
  cancel_all();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return live_.empty(); });
}

bool ProgramRows::submit(llm::Request request, dispatch::WorkItem /*item*/,
                         dispatch::Cost /*expected*/, Done done) {
  uint64_t serial = 0;
  {
    std::unique_lock lock(mutex_);
    const auto instances_max = static_cast<size_t>(std::max(options_.instances_max, 1));
    changed_.wait(lock, [&] { return !admitting_ || live_.size() < instances_max; });
    if (!admitting_) return false;
    serial = ++submitted_;
    live_.emplace(serial, Live{});
  }
  ProgramStart start{.input = std::move(request.raw),
                     .id = std::move(request.model),
                     .model = options_.model,
                     .key = {},
                     .priority = llm::Priority::kBatch,
                     .seed = request.sampling.seed};
  const InstanceId id = loop_.start(std::move(start), [this, serial, began = clock_.now(),
                                                       done = std::move(done)](ProgramEnd end) {
    done(result_of(std::move(end), clock_.now() - began));
    ended(serial);
  });
  bool cancelled = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(serial);
    if (found == live_.end()) return true;
    found->second.id = id;
    cancelled = found->second.cancelled;
  }
  // A cancellation meanwhile did not know its id yet.
  if (cancelled) loop_.cancel(id);
  return true;
}

// Notifies under the lock: the destructor may be waiting for this.
void ProgramRows::ended(uint64_t serial) {
  const std::scoped_lock lock(mutex_);
  live_.erase(serial);
  changed_.notify_all();
}

void ProgramRows::stop_admitting() {
  const std::scoped_lock lock(mutex_);
  admitting_ = false;
  changed_.notify_all();
}

void ProgramRows::cancel_all() {
  std::vector<InstanceId> ids;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [serial, live] : live_) {
      live.cancelled = true;
      if (live.id) ids.push_back(*live.id);
    }
  }
  for (const InstanceId id : ids)
    loop_.cancel(id);
}

int32_t ProgramRows::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int32_t>(live_.size());
}

}  // namespace windrow::program
