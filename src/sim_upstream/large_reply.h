// LargeReplies: replies of any number of bytes, made while they are sent, so that their length
// costs no memory: for measuring what a client holds of one, and for rows of experts. On the loop's
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "http/exchange.h"

namespace windrow::sim_upstream {

// The byte at a place of every reply of LargeReplies::send(): the letters from a to z, over and
// over.
constexpr char large_reply_byte(uint64_t at) {
  return static_cast<char>('a' + at % 26);
}

class LargeReplies {
 public:
  LargeReplies();

  // Sends a reply of so many bytes, no faster than its client reads.
  void send(http::Exchange exchange, uint64_t bytes);

  // Gives the next piece of a body, about so many bytes; empty: the end.
  using NextPiece = std::function<std::string(size_t bytes)>;
  enum class Then : uint8_t { kFinish, kReset };

  // Sends the rest of a reply that has been started, no faster than its client reads. `exchange`
  // then has no other on_disconnect().
  void send_rest(http::Exchange exchange, NextPiece next, Then then);

 private:
  struct Reply {
    http::Exchange exchange;
    NextPiece next;
    Then then = Then::kFinish;
  };

  void go_on(uint64_t reply);

  const std::string piece_;  // a whole number of alphabets

  // Replies that are being sent, by their numbers: a client may leave while its reply is about to
  // go on.
  std::map<uint64_t, Reply> replies_;
  uint64_t next_reply_ = 0;
};

}  // namespace windrow::sim_upstream
