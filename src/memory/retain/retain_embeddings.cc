#include "memory/retain/retain_embeddings.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "memory/models/blocking_calls.h"
#include "memory/models/fitting_texts.h"

namespace windrow::memory {
namespace {

constexpr size_t kTextsOfCall = 256;

std::optional<llm::Failure> embed_call(std::span<NewFact> facts, MemoryModels& models,
                                       std::string_view model, const ModelCaller& caller,
                                       const std::stop_token& unwanted) {
  std::vector<std::string> all;
  all.reserve(facts.size());
  for (const NewFact& fact : facts)
    all.push_back(fact.text);
  FittingTexts texts(std::move(all));
  for (;;) {
    EmbedOutcome outcome = embed_and_wait(models, model, texts.texts(), caller, unwanted);
    if (auto* const failure = std::get_if<llm::Failure>(&outcome)) {
      if (texts.shorten(*failure)) continue;
      return std::move(*failure);
    }
    auto& vectors = std::get<std::vector<std::vector<float>>>(outcome);
    for (size_t i = 0; i < facts.size(); ++i)
      facts[i].embedding = std::move(vectors[i]);
    return std::nullopt;
  }
}

}  // namespace

std::optional<llm::Failure> embed_facts(std::span<NewFact> facts, MemoryModels& models,
                                        std::string_view model, const ModelCaller& caller,
                                        const std::stop_token& unwanted) {
  while (!facts.empty()) {
    const std::span<NewFact> call = facts.first(std::min(kTextsOfCall, facts.size()));
    std::optional<llm::Failure> failure = embed_call(call, models, model, caller, unwanted);
    if (failure) return failure;
    facts = facts.subspan(call.size());
  }
  return std::nullopt;
}

}  // namespace windrow::memory
