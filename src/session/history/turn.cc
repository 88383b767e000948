#include "session/history/turn.h"

namespace windrow::session {
namespace {

// What a text takes outside itself: short ones nothing.
size_t heap_bytes(const std::string& text) {
  static const size_t inside = std::string().capacity();
  return text.capacity() > inside ? text.capacity() + 1 : 0;
}

template <class T>
size_t heap_bytes(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

size_t bytes_of(const std::shared_ptr<const std::string>& text) {
  return text ? sizeof(std::string) + heap_bytes(*text) : 0;
}

}  // namespace

std::string_view to_string(RowKind kind) {
  return kind == RowKind::kRoutedExperts ? "routed_experts" : "indexer_topk";
}

size_t bytes_of(const Turn& turn) {
  size_t bytes = sizeof(Turn);
  bytes += heap_bytes(turn.appended) + heap_bytes(turn.answer.text);
  for (const StoredMessage& message : turn.appended)
    bytes += heap_bytes(message.text);
  bytes += heap_bytes(turn.prompt) + heap_bytes(turn.sampled) + heap_bytes(turn.logprobs);
  for (const std::shared_ptr<const TokenRows>& rows : turn.rows)
    bytes += rows ? sizeof(TokenRows) + rows->values.bytes() : 0;
  bytes += heap_bytes(turn.finish_reason) + heap_bytes(turn.figures.weight_version);
  return bytes + bytes_of(turn.request_members) + bytes_of(turn.reply_members);
}

}  // namespace windrow::session
