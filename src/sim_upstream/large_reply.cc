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
  const uint64_t reply = next_reply_++;
  replies_.emplace(reply,
                   Reply{.exchange = std::move(exchange), .next = std::move(next), .then = then});
  // Comes before the last byte was sent, or not at all; perhaps at once.
  replies_.at(reply).exchange.on_disconnect([this, reply] { replies_.erase(reply); });
  go_on(reply);
}

// A write may find that the client has left, and so remove the reply.
void LargeReplies::go_on(uint64_t number) {
  const auto found = replies_.find(number);
  if (found == replies_.end()) return;
  std::string pieces;
  bool ended = false;
  for (int i = 0; i < kPiecesAtOnce && !ended; ++i) {
    const std::string piece = found->second.next(kLargePieceBytes);
    ended = piece.empty();
    pieces += piece;
  }
  if (!pieces.empty()) found->second.exchange.write(std::move(pieces));
  const auto still = replies_.find(number);
  if (still == replies_.end()) return;
  still->second.exchange.on_drained(kUnsentMin, [this, number, ended] {
    if (!ended) return go_on(number);
    const auto last = replies_.find(number);
    if (last == replies_.end()) return;
    if (last->second.then == Then::kReset) {
      last->second.exchange.reset();
    } else {
      last->second.exchange.finish();
    }
    replies_.erase(number);
  });
}

}  // namespace windrow::sim_upstream
