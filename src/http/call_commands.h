// What a client's callers ask of its loop, from any thread: sent and cancelled calls, handed over
// in bursts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "http/client.h"
#include "http/loop.h"
#include "http/mailbox.h"

namespace windrow::http {

// A call that was sent, or (without a request) one to cancel.
struct CallCommand {
  CallId id;
  std::optional<ClientRequest> request;
  Client::Done done;
  TimePoint start{};
};

// Any thread.
class CallCommands {
 public:
  // `wake` runs on the loop's thread, soon after something came.
  CallCommands(Loop& loop, Loop::Task wake) : loop_(loop), wake_(std::move(wake)) {}

  CallId send(ClientRequest request, Client::Done done) {
    const CallId id(next_id_.fetch_add(1, std::memory_order_relaxed));
    put({id, std::move(request), std::move(done), loop_.clock().now()});
    return id;
  }

  void cancel(CallId id) { put({.id = id}); }

  // In the order they came; `commands` must be empty.
  void take(std::vector<CallCommand>& commands) { mailbox_.take(commands); }

 private:
  void put(CallCommand command) {
    if (mailbox_.put(std::move(command))) loop_.post(wake_);
  }

  Loop& loop_;
  const Loop::Task wake_;
  Mailbox<CallCommand> mailbox_;
  std::atomic<uint64_t> next_id_ = 1;
};

}  // namespace windrow::http
