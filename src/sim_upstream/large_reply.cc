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
  replies_.emplace_front(std::move(exchange), bytes);
  const auto reply = replies_.begin();
  reply->exchange.start(200, {{"Content-Type", "application/octet-stream"}}, bytes);
  if (bytes == 0) {
    reply->exchange.finish();
    replies_.erase(reply);
    return;
  }
  go_on(reply);
  // Comes before the last byte was sent, or not at all.
  reply->exchange.on_disconnect([this, reply] { replies_.erase(reply); });
}

void LargeReplies::go_on(std::list<Reply>::iterator reply) {
  for (int i = 0; i < kPiecesAtOnce && reply->left > 0; ++i) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(reply->left, piece_.size()));
    reply->left -= size;
    reply->exchange.write(piece_.substr(0, size));
  }
  reply->exchange.on_drained(kUnsentMin, [this, reply] {
    if (reply->left > 0) return go_on(reply);
    reply->exchange.finish();
    replies_.erase(reply);
  });
}

}  // namespace windrow::sim_upstream
