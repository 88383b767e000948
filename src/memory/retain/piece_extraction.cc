#include "memory/retain/piece_extraction.h"

#include <fmt/format.h>

#include "memory/models/blocking_calls.h"
#include "memory/retain/retain_rules.h"

namespace windrow::memory {
namespace {

constexpr int32_t kExtractionsInFlight = 8;

// A second answer at temperature 0 would be the first again.
constexpr double kSecondTemperature = 0.3;

llm::Failure unread_failure(size_t item, std::string_view why) {
  const std::string param = fmt::format("items[{}].content", item);
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 502,
          .code = std::string(kUnusableExtractionCode),
          .message = fmt::format("the model's answer about the facts of {} could not be used, "
                                 "twice: {}; send it again, set another chat_model, or set "
                                 "retain_extraction_mode to \"verbatim\"",
                                 param, why),
          .param = param};
}

}  // namespace

PieceExtraction::PieceExtraction(MemoryModels& models, const BankConfig& config,
                                 const std::vector<RetainItem>& items, const ModelCaller& caller,
                                 UnixMs now)
    : models_(models), config_(config), items_(items), caller_(caller), now_(now) {}

std::optional<llm::Failure> PieceExtraction::extract(
    std::span<const Piece> pieces, const std::stop_token& unwanted,
    std::vector<std::vector<ExtractedFact>>& facts) {
  std::vector<Key> wanted;
  for (const Piece& piece : pieces) {
    Key key(piece.item, piece.text);
    // An empty entry, so that a text that an item has twice is asked about once.
    if (known_.try_emplace(key).second) wanted.push_back(std::move(key));
  }
  for (const double temperature : {0.0, kSecondTemperature}) {
    std::vector<ChatReply> replies(wanted.size());
    std::optional<llm::Failure> failure = ask(wanted, temperature, unwanted, replies);
    if (failure) return failure;
    wanted = read(wanted, replies);
  }
  if (!wanted.empty()) return unread_failure(wanted.front().first, why_unread_);
  facts.clear();
  for (const Piece& piece : pieces)
    facts.push_back(known_.at(Key(piece.item, piece.text)));
  return std::nullopt;
}

std::optional<llm::Failure> PieceExtraction::ask(std::span<const Key> asked, double temperature,
                                                 const std::stop_token& unwanted,
                                                 std::vector<ChatReply>& replies) {
  std::optional<llm::Failure> failure = do_in_parallel(
      asked.size(), kExtractionsInFlight,
      [&](size_t part, std::stop_token stops, auto done) {
        models_.chat(call_of(asked[part], temperature), std::move(stops),
                     [&reply = replies[part], done = std::move(done)](ChatOutcome outcome) {
                       if (auto* const fault = std::get_if<llm::Failure>(&outcome))
                         return done(std::move(*fault));
                       reply = std::get<ChatReply>(std::move(outcome));
                       done(std::nullopt);
                     });
      },
      unwanted);
  if (failure) failure->message = fmt::format("extraction of facts: {}", failure->message);
  return failure;
}

ChatCall PieceExtraction::call_of(const Key& asked, double temperature) const {
  const RetainItem& item = items_[asked.first];
  ExtractionPrompt prompt =
      extraction_prompt({.text = asked.second,
                         .context = item.context,
                         .written = mentioned_at(item, now_),
                         .now = now_,
                         .mission = config_.retain_mission,
                         .verbose = config_.retain_extraction_mode == "verbose"},
                        config_.prompt_profile);
  return {.model = config_.chat_model,
          .system = std::move(prompt.system),
          .user = std::move(prompt.user),
          .schema = std::move(prompt.schema),
          .schema_name = "facts",
          .temperature = temperature,
          .caller = caller_};
}

// What has to be asked again.
std::vector<PieceExtraction::Key> PieceExtraction::read(std::span<const Key> asked,
                                                        const std::vector<ChatReply>& replies) {
  std::vector<Key> unread;
  for (size_t i = 0; i < asked.size(); ++i) {
    usage_.prompt_tokens += replies[i].usage.prompt_tokens;
    usage_.completion_tokens += replies[i].usage.completion_tokens;
    usage_.cached_tokens += replies[i].usage.cached_tokens;
    usage_.reasoning_tokens += replies[i].usage.reasoning_tokens;
    Result<std::vector<ExtractedFact>> facts =
        extracted_facts(replies[i].text, config_.prompt_profile);
    if (facts && !replies[i].truncated) {
      known_[asked[i]] = *std::move(facts);
      continue;
    }
    if (unread.empty()) {
      why_unread_ = replies[i].truncated ? "it was cut off at the limit of tokens (a smaller "
                                           "retain_chunk_size makes answers shorter)"
                                         : facts.error().message;
    }
    unread.push_back(asked[i]);
  }
  return unread;
}

}  // namespace windrow::memory
