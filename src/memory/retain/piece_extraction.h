// PieceExtraction: asks a chat model which facts the texts of a retain state, several texts at a
// time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/bank/bank.h"
#include "memory/models/memory_models.h"
#include "memory/retain/extraction.h"
#include "memory/retain/retain_plan.h"

namespace windrow::memory {

// The code of the failure of a model whose answer could not be used.
inline constexpr std::string_view kUnusableExtractionCode = "extraction_response";

// Used by one thread, which it blocks. All arguments outlive it.
class PieceExtraction {
 public:
  PieceExtraction(MemoryModels& models, const BankConfig& config,
                  const std::vector<RetainItem>& items, const ModelCaller& caller, UnixMs now);

  // Sets the facts of each piece. A piece that was asked about before is not asked about again. The
  // first failure of the model ends it; a response that cannot be used is asked for once more, then
  // it is a 502. Stopping `unwanted` ends the calls that are out.
  std::optional<llm::Failure> extract(std::span<const Piece> pieces,
                                      const std::stop_token& unwanted,
                                      std::vector<std::vector<ExtractedFact>>& facts);

  const llm::Usage& usage() const { return usage_; }

 private:
  using Key = std::pair<size_t, std::string>;  // item and text

  std::optional<llm::Failure> ask(std::span<const Key> asked, double temperature,
                                  const std::stop_token& unwanted, std::vector<ChatReply>& replies);
  ChatCall call_of(const Key& asked, double temperature) const;
  std::vector<Key> read(std::span<const Key> asked, const std::vector<ChatReply>& replies);

  MemoryModels& models_;
  const BankConfig& config_;
  const std::vector<RetainItem>& items_;
  const ModelCaller& caller_;
  const UnixMs now_;

  std::map<Key, std::vector<ExtractedFact>> known_;
  std::string why_unread_;  // of the first response of a round that could not be used
  llm::Usage usage_;
};

}  // namespace windrow::memory
