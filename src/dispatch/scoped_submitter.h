// ScopedSubmitter: the part of a dispatcher that one job has beside others and beside a server's
// clients. Its cancellations reach the requests of this job alone.
//
// It has no more unfinished than keep the dispatcher busy and a few more, so that several jobs move
// on side by side and what waits takes little memory.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "dispatch/dispatcher.h"
#include "dispatch/submitter.h"

namespace windrow::dispatch {

struct ShareOptions {
  // Unfinished at a time: twice what the dispatcher has out at most, and so many more.
  int32_t ahead = 64;

  // The sum of WorkItem::tokens of unfinished requests: a bound of memory. One request is always
  // taken.
  int64_t tokens_max = int64_t{16} << 20;
};

class ScopedSubmitter final : public Submitter {
 public:
  // `dispatcher` outlives it.
  explicit ScopedSubmitter(Dispatcher& dispatcher, ShareOptions options = {});

  // As stop_admitting() and cancel_all(), and waits until every Done has returned. Not in a Done.
  ~ScopedSubmitter() override;
  ScopedSubmitter(const ScopedSubmitter&) = delete;
  ScopedSubmitter& operator=(const ScopedSubmitter&) = delete;

  // As Submitter says: any thread but one that is in a Done, and only for requests that came
  // through this object.
  [[nodiscard]] bool submit(llm::Request request, WorkItem item, Cost expected, Done done) override;
  void stop_admitting() override;
  void cancel_waiting() override;
  void cancel_all() override;

  // Requests that were accepted and whose Done has not returned.
  int32_t in_flight() const;

 private:
  enum class Cancel : uint8_t { kNothing, kWaiting, kAll };

  struct Live {
    std::optional<ItemId> item;  // nothing: being submitted
    int64_t tokens = 0;
  };

  bool has_room();  // with the lock

  void cancel_those(Cancel what);
  void ended(uint64_t serial);

  Dispatcher& dispatcher_;
  const ShareOptions options_;
  std::stop_source left_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  boost::unordered_flat_map<uint64_t, Live> live_;
  uint64_t submitted_ = 0;
  int64_t tokens_ = 0;  // of all that live
  size_t bound_ = 0;    // as it was read last
  int32_t waiting_ = 0;
  bool admitting_ = true;
  Cancel cancelled_ = Cancel::kNothing;
};

}  // namespace windrow::dispatch
