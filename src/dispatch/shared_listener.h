// SharedListener: an answer that is made once and heard by several. What was said so far is kept,
// no more than the answer itself; who joins hears it with the next piece, or at the end, and from
// then on with the others. Who leaves is heard of no more, and the others notice nothing.
//
// Every listener is called by one thread at a time, without a lock, and by the backend's thread
// alone: joining and leaving never wait for one. For each the pieces of a choice together are the
// choice, as llm/stream_sink.h has it.
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

  // As leave, when the answer has ended: what it has not heard of it comes before. Not while
  // on_delta is being called.
  void finish(Member member, std::function<void()> then);

  // Whether anybody has heard anything. Any thread.
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

  // Who is being told something, and what to call when that is over: then it has left.
  std::optional<Member> told_;
  std::function<void()> then_;
};

}  // namespace windrow::dispatch
