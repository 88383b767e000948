#include "session/history/turn.h"

#include "base/ensure.h"

namespace windrow::session {
namespace {

// A short text lies within its object, and the object is counted where it lies.
size_t heap_bytes_of(const std::string& text) {
  static const size_t kWithin = std::string().capacity();
  return text.capacity() > kWithin ? text.capacity() + 1 : 0;
}

template <class T>
size_t heap_bytes_of(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

}  // namespace

std::string_view to_string(RowKind kind) {
  switch (kind) {
    case RowKind::kRoutedExperts:
      return "routed_experts";
    case RowKind::kIndexerTopk:
      return "indexer_topk";
  }
  ENSURE(false, "a row kind has the value {}", static_cast<int>(kind));
}

std::array<std::shared_ptr<const std::string>, 3> shared_members(const Turn& turn) {
  return {turn.request_members, turn.reply_members, turn.chat_members};
}

size_t bytes_of(const Turn& turn) {
  size_t bytes = sizeof(Turn) + heap_bytes_of(turn.appended) + heap_bytes_of(turn.answer.text) +
                 heap_bytes_of(turn.prompt) + heap_bytes_of(turn.sampled) +
                 heap_bytes_of(turn.logprobs) + heap_bytes_of(turn.finish_reason) +
                 heap_bytes_of(turn.figures.weight_version);
  for (const StoredMessage& message : turn.appended)
    bytes += heap_bytes_of(message.text);
  for (const auto& rows : turn.rows)
    if (rows) bytes += sizeof(TokenRows) + rows->values.bytes();
  for (const auto& members : shared_members(turn))
    if (members) bytes += bytes_of_members(*members);
  return bytes;
}

size_t bytes_of_members(const std::string& members) {
  return sizeof(members) + heap_bytes_of(members);
}

}  // namespace windrow::session
