// DispatchedCalls: calls of programs at dispatchers: those for which a dispatcher has no room wait
// here, and each ends soon once it is not wanted any more.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "async/in_flight_counter.h"
#include "dispatch/submitter.h"
#include "dispatch/work_item.h"
#include "llm/answer.h"
#include "llm/priority.h"
#include "llm/request.h"

namespace windrow::dispatch {
class Dispatcher;
}

namespace windrow::program {

struct DispatchedCall {
  dispatch::Dispatcher* dispatcher = nullptr;  // outlives the call
  llm::Request request;
  dispatch::WorkItem item;
  dispatch::Cost expected = 0;
  dispatch::Delivery delivery;
};

// Thread-safe. Calls that find their dispatcher full stand in a line, one for each dispatcher and
// priority, so that batches hold up nothing that is more urgent. Each line has a thread, which
// submits them in their order and blocks in their place.
class DispatchedCalls {
 public:
  using Done = std::function<void(llm::Outcome)>;

  DispatchedCalls();

  // Blocks until every Done has returned: stop what asks, by the tokens, before.
  ~DispatchedCalls();
  DispatchedCalls(const DispatchedCalls&) = delete;
  DispatchedCalls& operator=(const DispatchedCalls&) = delete;

  // Never blocks. `done` is called exactly once, on any thread, perhaps before ask has returned. It
  // gets the dispatcher's outcome; kCancelled too where `unwanted` was stopped, or the dispatcher
  // admits nothing any more.
  void ask(DispatchedCall call, std::stop_token unwanted, Done done);

  // Calls in lines.
  size_t waiting() const;

 private:
  struct Asked;
  struct Line;
  struct Stop;

  Line& line_of(const DispatchedCall& call);
  void join(const std::shared_ptr<Asked>& asked);
  void submit_in_order(Line& line, const std::stop_token& ended);
  void sent(const std::shared_ptr<Asked>& asked, std::optional<dispatch::ItemId> item);
  void stop(const std::shared_ptr<Asked>& asked);
  void end(const std::shared_ptr<Asked>& asked, llm::Outcome outcome);
  dispatch::Submitter::Done end_of(const std::shared_ptr<Asked>& asked);

  async::InFlightCounter calls_;  // and stops that are carried out
  mutable std::mutex mutex_;      // of the lines, and of the stages of calls
  std::map<std::pair<dispatch::Dispatcher*, llm::Priority>, std::unique_ptr<Line>> lines_;
};

}  // namespace windrow::program
