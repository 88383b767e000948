// UpstreamWatch: asks every server for its models, again and again, for a program that runs for
// weeks: one that was down joins when it is up, models that appear or go are seen. Whether requests
// fare well at a server is the dispatcher's to know (Dispatcher::readings); this tells who is there
// at all, also while nobody asks anything.
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

#include "http/client.h"
#include "http/loop.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"
#include "upstream/watch_times.h"

namespace windrow::upstream {

// What a server said last.
struct ServerReading {
  bool asked = false;    // it has answered, or failed to, once
  bool answers = false;  // and did, the last time

  // Of a server that answers, or of the last time it did; absent: it does not say, or never did.
  std::optional<std::vector<std::string>> models;

  // Which one it is, as far as it shows: asked when it comes, and when it comes back.
  ServerIdentity identity;

  std::string problem;  // why it does not answer, for people

  // Nobody is there: no connection, again and again since then.
  std::optional<TimePoint> unreached_since;
};

struct WatchOptions {
  WatchTimes times;

  // Told after the first answer or failure of a server, and whenever it comes, goes, or has other
  // models; on the loop's thread, which waits for it. May call the watch, not destroy it. Not
  // called any more once the destructor has begun. May be empty.
  std::function<void(size_t server)> on_change;

  uint64_t seed = 1;
};

// Thread-safe.
class UpstreamWatch {
 public:
  // Asks all of them at once. `client` runs on `loop`; both outlive it. Of `servers` it takes
  // addresses, keys and headers; they are named by their place in it.
  UpstreamWatch(http::Loop& loop, http::Client& client, std::vector<UpstreamOptions> servers,
                WatchOptions options);
  ~UpstreamWatch();
  UpstreamWatch(const UpstreamWatch&) = delete;
  UpstreamWatch& operator=(const UpstreamWatch&) = delete;

  ServerReading reading(size_t server) const;
  std::optional<std::vector<std::string>> models_of(size_t server) const;
  std::optional<TimePoint> unreached_since(size_t server) const;

  // How many answer. Before all were asked it may be less than there are.
  size_t answering() const;

 private:
  class Core;

  http::Loop& loop_;

  // Shared with the questions that are out. Lives and dies on the loop's thread.
  std::shared_ptr<Core> core_;
};

}  // namespace windrow::upstream
