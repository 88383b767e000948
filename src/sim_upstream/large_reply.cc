#include "sim_upstream/large_reply.h"

#include <algorithm>
#include <cstddef>

namespace windrow::sim_upstream {
namespace {

constexpr size_t kLargePieceBytes = size_t{26} * 2520;  // nearly 64 KiB

// In one turn of the loop, so that a fast reader leaves it to others.
constexpr int kPiecesAtOnce = 4;

constexpr size_t kUnsentMin = size_t{64} << 10;

std::string alphabets() {
  std::string text(kLargePieceBytes, ' ');
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = large_reply_byte(i);
  return text;
}

}  // namespace

LargeReplies::LargeReplies() : piece_(alphabets()) {}

void LargeReplies::send(http::Exchange exchange, uint64_t bytes) {
  exchange.start(200, {{"Content-Type", "application/octet-stream"}}, bytes);
  send_rest(
      std::move(exchange),
      [this, left = bytes](size_t) mutable {
        const auto size = static_cast<size_t>(std::min<uint64_t>(left, piece_.size()));
        left -= size;
        return piece_.substr(0, size);
      },
      Then::kFinish);
}

void LargeReplies::send_rest(http::Exchange exchange, NextPiece next, Then then) {
  replies_.push_front({std::move(exchange), std::move(next), then});
  const auto reply = replies_.begin();
  go_on(reply);
  // Comes before the last byte was sent, or not at all.
  reply->exchange.on_disconnect([this, reply] { replies_.erase(reply); });
}

void LargeReplies::go_on(std::list<Reply>::iterator reply) {
  bool ended = false;
  for (int i = 0; i < kPiecesAtOnce && !ended; ++i) {
    std::string piece = reply->next(kLargePieceBytes);
    ended = piece.empty();
    if (!ended) reply->exchange.write(std::move(piece));
  }
  reply->exchange.on_drained(kUnsentMin, [this, reply, ended] {
    if (!ended) return go_on(reply);
    if (reply->then == Then::kReset) {
      reply->exchange.reset();
    } else {
      reply->exchange.finish();
    }
    replies_.erase(reply);
  });
}

}  // namespace windrow::sim_upstream
