// ReplyBudget: how many bytes of replies may lie in memory at a time, of all calls of the clients
// that share it. Where it is used up, sockets are not read for a while, and TCP makes the servers
// wait.
//
// The rule: a reply grows while all together hold less than the room. When they hold as much, only
// the oldest one grows, the one that was counted first: it comes to its end, and gives its bytes
// back. So there is always one that goes on, and what is held is at most the room, one whole reply
// (Limits::reply_bytes_max), and of each other one kReplyCountedFrom and a piece, as much as a
// client reads at once. A reply counts from that many bytes on, until the Done of its call has
// returned. What on_data takes is not counted, and replies over HTTP/2 are counted but never wait.
//
// A server that generates for long before it answers holds nothing up: a reply that is not asked
// for as a stream is sent when it is whole.
//
// Pure; one thread at a time: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace windrow::http {

// Smaller replies cost nothing here.
constexpr size_t kReplyCountedFrom = size_t{64} << 10;

class ReplyBudget {
 public:
  explicit ReplyBudget(size_t bytes_max) : bytes_max_(bytes_max) {}
  ReplyBudget(const ReplyBudget&) = delete;
  ReplyBudget& operator=(const ReplyBudget&) = delete;

  size_t bytes() const { return bytes_; }

  // One reply's part of it, while this lives; not beyond the room.
  class Part {
   public:
    // `resume` is called when the reply may grow after may_grow said no; it must not change the
    // room at once, so it posts what it does.
    Part(ReplyBudget& room, std::function<void()> resume);
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // Whether more of it may be read. False: `resume` will say when.
    bool may_grow();

    // It holds so many bytes now; never fewer than before.
    void hold(size_t bytes);

   private:
    friend class ReplyBudget;

    ReplyBudget& room_;
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
