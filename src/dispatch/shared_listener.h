// SharedListener: one streamed answer that several listeners get. It keeps the deltas so far, at
// most one answer's worth. A listener that joins later gets them before the next delta, or at the
// end; one that leaves gets nothing more, and the others do not notice.
//
// Invariant: for each listener the deltas of a choice together are the choice, as for any
// llm::StreamSink.
//
// Listeners are called and destroyed without a lock. They are called by one thread at a time, and
// only by the backend's: join and leave never wait for a listener.
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

  // `keeps`: listeners may join after the first delta, so deltas are kept for them.
  explicit SharedListener(bool keeps) : keeps_(keeps) {}

  // Adds a listener, which is held until it leaves. Returns its name for the functions below. Any
  // thread.
  Member join(std::shared_ptr<llm::StreamSink> listener);

  // On the backend's thread.
  void on_delta(llm::Delta piece) override;

  // Removes a listener; once for each. It gets no delta after `then`, which is called once: before
  // leave returns, or, where the listener is being called at this moment, afterwards by the thread
  // that calls it. Any thread, also from within on_delta of a listener.
  void leave(Member member, std::function<void()> then);

  // As leave, when the answer has ended: first the listener gets the deltas that it has not had.
  // Not while on_delta is being called.
  void finish(Member member, std::function<void()> then);

  // Whether a delta has come. Any thread.
  bool has_begun() const;

 private:
  struct Joined {
    std::shared_ptr<llm::StreamSink> listener;
    bool is_current = false;  // it has had all deltas so far
  };

  using Lock = std::unique_lock<std::mutex>;

  void emit(Lock& lock, Member member, std::vector<llm::Delta> pieces);

  const bool keeps_;
  mutable std::mutex mutex_;
  std::map<Member, Joined> listeners_;
  Member joined_ = 0;               // the last one
  std::vector<llm::Delta> deltas_;  // so far; empty unless they are kept
  bool has_begun_ = false;

  // The member whose listener is being called, and what to call when it returns: then it has left.
  std::optional<Member> called_;
  std::function<void()> then_;
};

}  // namespace windrow::dispatch
