// ReplyBudget: a bound on the memory of replies that are arriving, for all calls of the clients
// that share it. When it is used up, sockets are not read for a while, and TCP makes the servers
// wait.
//
// The rule: a reply may grow while all together hold less than the budget. When they hold as much,
// only the oldest one grows, the one that was counted first: it ends, and returns its bytes. So one
// always goes on, and memory is at most the budget, one whole reply (Limits::reply_bytes_max), and
// for each other reply kReplyCountedFrom and a piece, as much as a client reads at once. A reply
// counts from kReplyCountedFrom bytes on, until the Done of its call has returned. Bytes that
// on_data takes are not counted, and replies over HTTP/2 are counted but never wait.
//
// A server that generates for long before it answers holds no other reply up: an answer that is not
// streamed is sent when it is complete.
//
// Pure; used on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace windrow::http {

// Smaller replies are not counted.
constexpr size_t kReplyCountedFrom = size_t{64} << 10;

class ReplyBudget {
 public:
  explicit ReplyBudget(size_t bytes_max) : bytes_max_(bytes_max) {}
  ReplyBudget(const ReplyBudget&) = delete;
  ReplyBudget& operator=(const ReplyBudget&) = delete;

  size_t bytes() const { return bytes_; }

  // The bytes of one reply, for as long as this lives. Must not outlive the budget.
  class Part {
   public:
    // `resume` is called when the reply may grow after may_grow() was false. It must not use the
    // budget before it returns; so it posts its work.
    Part(ReplyBudget& budget, std::function<void()> resume);
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // Whether more of it may be read. False: `resume` will be called.
    bool may_grow();

    // The reply has so many bytes now; never fewer than before.
    void hold(size_t bytes);

   private:
    friend class ReplyBudget;

    ReplyBudget& budget_;
    const uint64_t number_;
    const std::function<void()> resume_;
    size_t bytes_ = 0;
    bool waits_ = false;
  };

 private:
  void wake();

  const size_t bytes_max_;
  size_t bytes_ = 0;
  uint64_t begun_ = 0;
  std::map<uint64_t, Part*> parts_;  // the oldest first
};

}  // namespace windrow::http
