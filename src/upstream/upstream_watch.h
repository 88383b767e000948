// UpstreamWatch: asks every server for its models, again and again, for a program that runs for
// weeks. It notices servers that go down and come back and models that appear or go, also while
// there are no requests. The dispatcher knows how requests fare at a server (Dispatcher::readings).
//
//   const UpstreamWatch watch(loop, client, servers, {.on_change = [&](size_t server) { ... }});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "http/client.h"
#include "http/loop.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

struct WatchTimes {
  Duration period = std::chrono::minutes(1);  // while a server answers

  // After the first failure, then twice as long each time, up to the period. A third of it is
  // random, so that several watches do not ask at the same time.
  Duration retry_min = std::chrono::seconds(1);
};

// The time until a server is asked again, after so many failures since its last answer. Pure.
Duration until_next_question(const WatchTimes& times, int64_t failures, Random& random);

// What is known of a server.
struct ServerReading {
  bool asked = false;    // it has answered, or failed to, at least once
  bool answers = false;  // it did the last time

  // From its last answer; absent: it does not list them, or has never answered.
  std::optional<std::vector<std::string>> models;

  // Which product it is, as far as it shows: asked when it comes up.
  ServerIdentity identity;

  std::string problem;  // why it does not answer, for people

  // No connection has succeeded since then.
  std::optional<TimePoint> unreached_since;
};

struct WatchOptions {
  WatchTimes times;

  // Called after the first answer or failure of a server, and whenever it comes up, goes down or
  // has other models; on the loop's thread, which waits for it. May call the watch, not destroy it.
  // Not called any more once the destructor has begun. May be empty.
  std::function<void(size_t server)> on_change;

  uint64_t seed = 1;
};

// Thread-safe.
class UpstreamWatch {
 public:
  // Asks all servers at once. `client` runs on `loop`; both outlive the watch. Uses the addresses,
  // keys and headers of `servers`; a server is named by its position.
  UpstreamWatch(http::Loop& loop, http::Client& client, std::vector<UpstreamOptions> servers,
                WatchOptions options);
  ~UpstreamWatch();
  UpstreamWatch(const UpstreamWatch&) = delete;
  UpstreamWatch& operator=(const UpstreamWatch&) = delete;

  ServerReading reading(size_t server) const;
  std::optional<std::vector<std::string>> models_of(size_t server) const;
  std::optional<TimePoint> unreached_since(size_t server) const;

  // How many servers answered when they were last asked.
  size_t answering() const;

 private:
  class Core;

  http::Loop& loop_;

  // Shared with the requests in flight. Created and destroyed on the loop's thread.
  std::shared_ptr<Core> core_;
};

}  // namespace windrow::upstream
