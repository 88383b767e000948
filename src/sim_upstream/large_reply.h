// LargeReplies: replies of any number of bytes, made while they are sent, so that their length
// costs no memory: for measuring what a client holds of one. On the loop's thread.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <utility>

#include "http/exchange.h"

namespace windrow::sim_upstream {

// The byte at a place of every such reply: the letters from a to z, over and over.
constexpr char large_reply_byte(uint64_t at) {
  return static_cast<char>('a' + at % 26);
}

class LargeReplies {
 public:
  LargeReplies();

  // Sends a reply of so many bytes, no faster than its client reads.
  void send(http::Exchange exchange, uint64_t bytes);

 private:
  struct Reply {
    explicit Reply(http::Exchange to, uint64_t bytes) : exchange(std::move(to)), left(bytes) {}

    http::Exchange exchange;
    uint64_t left = 0;
  };

  void go_on(std::list<Reply>::iterator reply);

  const std::string piece_;  // a whole number of alphabets
  std::list<Reply> replies_;
};

}  // namespace windrow::sim_upstream
