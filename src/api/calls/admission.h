// Admission: whether a call is accepted now. A call that is not gets a 429 or 503 with Retry-After
// (wire/refusals.h).
//
// * CallGate: 503 while models load, while the server stops, and while no upstream is reachable.
// * BodyMemoryBudget: 429 when the bodies in progress take all the memory that is meant for them.
//
// Elsewhere are the limits of a key (keys/rate_limiter.h) and the full queue of a dispatcher
// (Call::offer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "api/calls/model_registry.h"
#include "base/clock.h"
#include "llm/answer.h"

namespace windrow::api {

// On the loop's thread, except for refusal_of(). `registry` outlives it.
class CallGate {
 public:
  // True if none of these upstreams (ServedModel::upstreams; 0: all) is reachable. Called on any
  // thread. An empty function: upstreams are always reachable.
  using Unreachable = std::function<bool(uint64_t upstreams)>;

  CallGate(const ModelRegistry& registry, Unreachable unreachable);

  // Accepts no more calls. Calls in progress may continue until `give_up_at`.
  void close(TimePoint give_up_at) { give_up_at_ = give_up_at; }

  // True once `give_up_at` has passed.
  bool is_over(TimePoint now) const { return give_up_at_ && now >= *give_up_at_; }

  // Asks Unreachable about all upstreams, for refusal(), which is called more often.
  void look();

  ServeState state() const;

  // Why no call is accepted; nullopt: calls are accepted.
  std::optional<llm::Failure> refusal() const;

  // Why this model cannot answer now. Any thread.
  std::optional<llm::Failure> refusal_of(const ServedModel& model) const;

  // False if refusal_of() would accept every model now.
  bool may_refuse_models() const { return unreachable_upstreams_ && state() == ServeState::kReady; }

 private:
  const ModelRegistry& registry_;
  const Unreachable unreachable_upstreams_;
  std::optional<TimePoint> give_up_at_;
  bool unreachable_ = false;
};

// Thread-safe.
class BodyMemoryBudget {
 public:
  explicit BodyMemoryBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // What a request takes besides its body: its call and its item in a dispatcher.
  static constexpr size_t kRequestBytes = size_t{8} << 10;

  // Accepts a request with a body of this size. False, and nothing is taken, if the budget is used
  // up. A single request is always accepted, because another limit bounds its body.
  [[nodiscard]] bool take(size_t body_bytes) {
    const std::scoped_lock lock(mutex_);
    const size_t bytes = body_bytes + kRequestBytes;
    if (requests_ > 0 && bytes_ + bytes > bytes_max_) return false;
    bytes_ += bytes;
    ++requests_;
    return true;
  }

  // A request that was accepted takes more memory. False, and nothing is taken, as for take().
  [[nodiscard]] bool grow(size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (requests_ > 1 && bytes_ + bytes > bytes_max_) return false;
    bytes_ += bytes;
    return true;
  }

  // A request has ended: `bytes` is its body and all that it grew by.
  void release(size_t bytes) {
    const std::scoped_lock lock(mutex_);
    bytes_ -= bytes + kRequestBytes;
    --requests_;
  }

  size_t bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
  }
  size_t bytes_max() const { return bytes_max_; }

 private:
  const size_t bytes_max_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  int64_t requests_ = 0;
};

// Unpacks a body, if it is compressed, and takes memory for what it becomes unpacked and parsed;
// adds that to `taken`. 413 or 429 where that is too much, 400 for a body that cannot be unpacked.
// Any thread.
std::optional<llm::Failure> admit_body(BodyMemoryBudget& budget, bool gzip, size_t unpacked_max,
                                       std::string& body, size_t& taken);

inline llm::Failure no_room_for_body() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "server_overloaded",
          .message =
              "the request bodies in progress use all the memory that is meant for them; "
              "try again later",
          .overloaded = true,
          .retry_after_ms = 1000};
}

}  // namespace windrow::api
