#include "dispatch/work_item.h"

#include <algorithm>

#include "llm/packed_inputs.h"

namespace windrow::dispatch {
namespace {

constexpr int64_t kBytesPerToken = 4;

// Of an answer whose request sets no limit.
constexpr int64_t kAnswerTokensGuess = 256;

// Requests for more are refused by the backend; here numbers only have to stay small.
constexpr int32_t kRowsMax = 1 << 20;

bool generates(llm::Endpoint endpoint) {
  return endpoint == llm::Endpoint::kChatCompletions || endpoint == llm::Endpoint::kCompletions;
}

int32_t rows_of(const llm::Request& request) {
  const auto inputs = static_cast<int32_t>(std::clamp<size_t>(request.inputs.size(), 1, kRowsMax));
  if (!generates(request.endpoint)) return inputs;
  const int64_t rows = int64_t{inputs} * std::max(request.choices, 1);
  return static_cast<int32_t>(std::min<int64_t>(rows, kRowsMax));
}

}  // namespace

WorkItem request_item(const llm::Request& request, size_t body_bytes,
                      const std::optional<Hash128>& question) {
  WorkItem item;
  item.rows = rows_of(request);
  item.tokens = static_cast<int64_t>(body_bytes) / kBytesPerToken;
  if (generates(request.endpoint)) {
    const int64_t each = request.output_tokens_max.value_or(kAnswerTokensGuess);
    item.tokens += std::max<int64_t>(each, 1) * item.rows;
  }
  item.tokens = std::max<int64_t>(item.tokens, 1);
  // 0 means that it is not packed.
  if (const auto key = llm::pack_key(request)) item.pack = std::max<uint64_t>(hash64(*key), 1);
  // Without a model name each server uses its own model, so answers differ.
  const bool unnamed = !request.raw.empty() && request.model.empty();
  if (!unnamed) item.same_answer = question;
  return item;
}

uint64_t tenant_id(std::string_view key) {
  return key.empty() ? 0 : std::max<uint64_t>(hash64(key), 1);
}

}  // namespace windrow::dispatch
