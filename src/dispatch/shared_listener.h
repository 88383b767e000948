// SharedListener: one streamed answer that several listeners get. It keeps the deltas so far, at
// most one answer's worth. A listener that joins later gets them before the next delta, or at the
// end; one that leaves gets nothing more, and the others do not notice.
//
// Invariant: for each listener the deltas of a choice together are the choice, as for any
// llm::StreamSink.
//
// Listeners are called without a lock, by one thread at a time, and only by the backend's: join and
// leave never wait for a listener.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "llm/stream_sink.h"

namespace windrow::dispatch {

class SharedListener final : public llm::StreamSink {
 public:
  using Member = uint64_t;

  // `keeps`: others may join when something has been said.
  explicit SharedListener(bool keeps) : keeps_(keeps) {}

  // Any thread.
  Member join(std::shared_ptr<llm::StreamSink> listener);

  void on_delta(llm::Delta piece) override;

  // The member hears nothing after `then`, which is called when it hears nothing at this moment:
  // now, or by the thread that is telling it something.
  void leave(Member member, std::function<void()> then);

  // As leave, when the answer has ended: it gets the deltas that it has not had first. Not while
  // on_delta is being called.
  void finish(Member member, std::function<void()> then);

  // Whether a delta has come. Any thread.
  bool has_begun() const;

 private:
  struct Hearer {
    std::shared_ptr<llm::StreamSink> listener;
    bool has_heard = false;  // all that was said so far
  };

  using Lock = std::unique_lock<std::mutex>;

  void keep(const llm::Delta& piece);
  void tell(Lock& lock, Member member, std::vector<llm::Delta> pieces);

  const bool keeps_;
  mutable std::mutex mutex_;
  std::map<Member, Hearer> hearers_;
  Member joined_ = 0;
  std::vector<llm::Delta> said_;
  bool has_begun_ = false;

  // The member whose listener is being called, and what to call when it returns: then it has left.
  std::optional<Member> told_;
  std::function<void()> then_;
};

}  // namespace windrow::dispatch
