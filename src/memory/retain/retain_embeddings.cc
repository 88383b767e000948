#include "memory/retain/retain_embeddings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "memory/models/blocking_calls.h"

namespace windrow::memory {
namespace {

constexpr size_t kTextsOfCall = 256;

// Each attempt cuts texts that are too long to nine tenths of what would fit if all of them had as
// many bytes per token as the one that was too long.
constexpr int32_t kAttempts = 6;

std::optional<size_t> shorter_limit(const llm::Failure& failure, size_t longest) {
  if (!failure.prompt_excess || failure.prompt_excess->tokens <= 0 ||
      failure.prompt_excess->tokens_max <= 0)
    return std::nullopt;
  const double part = static_cast<double>(failure.prompt_excess->tokens_max) /
                      static_cast<double>(failure.prompt_excess->tokens);
  const auto limit = static_cast<size_t>(static_cast<double>(longest) * std::min(part, 1.0) * 0.9);
  return limit == 0 ? std::nullopt : std::optional(limit);
}

std::optional<llm::Failure> embed_call(std::span<NewFact> facts, MemoryModels& models,
                                       std::string_view model, const ModelCaller& caller) {
  size_t longest = 0;
  for (const NewFact& fact : facts)
    longest = std::max(longest, fact.text.size());
  for (int32_t attempt = 1;; ++attempt) {
    std::vector<std::string> texts;
    texts.reserve(facts.size());
    for (const NewFact& fact : facts)
      texts.push_back(beginning_of(fact.text, longest));
    EmbedOutcome outcome = embed_and_wait(models, model, std::move(texts), caller);
    auto* const failure = std::get_if<llm::Failure>(&outcome);
    if (failure == nullptr) {
      auto& vectors = std::get<std::vector<std::vector<float>>>(outcome);
      for (size_t i = 0; i < facts.size(); ++i)
        facts[i].embedding = std::move(vectors[i]);
      return std::nullopt;
    }
    const std::optional<size_t> limit = shorter_limit(*failure, longest);
    if (!limit || attempt == kAttempts) return std::move(*failure);
    longest = *limit;
  }
}

}  // namespace

std::optional<llm::Failure> embed_facts(std::span<NewFact> facts, MemoryModels& models,
                                        std::string_view model, const ModelCaller& caller) {
  while (!facts.empty()) {
    const std::span<NewFact> call = facts.first(std::min(kTextsOfCall, facts.size()));
    std::optional<llm::Failure> failure = embed_call(call, models, model, caller);
    if (failure) return failure;
    facts = facts.subspan(call.size());
  }
  return std::nullopt;
}

std::string beginning_of(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  text = text.substr(0, bytes_max);
  text.remove_suffix(utf8_incomplete_tail(text));
  return std::string(text);
}

}  // namespace windrow::memory
