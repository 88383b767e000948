#include "report/log_tally.h"

#include <algorithm>
#include <tuple>

#include "json/values.h"
#include "report/answer_content.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

// The part of a message that is kept as an example.
constexpr size_t kMessageBytesMax = 400;

std::optional<int64_t> number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return value->get_int64();
}

// As /v1/responses and /v1/messages count, the latter without what was read from the cache.
llm::TokenCount tokens_elsewhere(const json::object& usage) {
  llm::TokenCount tokens;
  tokens.completion = number_in(usage, "output_tokens").value_or(0);
  tokens.prompt = number_in(usage, "input_tokens").value_or(0);
  if (const json::object* details = object_in(usage, "input_tokens_details")) {
    tokens.cached = std::min(number_in(*details, "cached_tokens").value_or(0), tokens.prompt);
  } else {
    tokens.cached = number_in(usage, "cache_read_input_tokens").value_or(0);
    tokens.prompt += tokens.cached;
  }
  if (const json::object* details = object_in(usage, "output_tokens_details")) {
    tokens.reasoning =
        std::min(number_in(*details, "reasoning_tokens").value_or(0), tokens.completion);
  }
  return tokens;
}

// At most so many bytes, and no half character at the end.
std::string beginning(std::string_view text) {
  if (text.size() <= kMessageBytesMax) return std::string(text);
  size_t size = kMessageBytesMax;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
    --size;
  return std::string(text.substr(0, size)) + "...";
}

}  // namespace

// Rerank bodies have only a total, embeddings no completion.
llm::TokenCount tokens_in_usage(const json::object& usage) {
  if (usage.contains("input_tokens")) return tokens_elsewhere(usage);
  llm::TokenCount tokens;
  tokens.completion = number_in(usage, "completion_tokens").value_or(0);
  const std::optional<int64_t> prompt = number_in(usage, "prompt_tokens");
  tokens.prompt = prompt ? *prompt : number_in(usage, "total_tokens").value_or(0);
  if (const json::object* details = object_in(usage, "prompt_tokens_details")) {
    tokens.cached = std::min(number_in(*details, "cached_tokens").value_or(0), tokens.prompt);
  }
  if (const json::object* details = object_in(usage, "completion_tokens_details")) {
    tokens.reasoning =
        std::min(number_in(*details, "reasoning_tokens").value_or(0), tokens.completion);
  }
  return tokens;
}

std::string_view failure_class(int32_t status) {
  constexpr int32_t kTimeout = 408;
  constexpr int32_t kTooMany = 429;
  constexpr int32_t kServer = 500;
  constexpr int32_t kUnavailable = 503;
  constexpr int32_t kGatewayTimeout = 504;
  if (status == 0) return "line";
  if (status == kTimeout || status == kGatewayTimeout) return "timeout";
  if (status == kTooMany || status == kUnavailable) return "overloaded";
  return status < kServer ? "request" : "server";
}

std::optional<batch::LogLine> LogTally::read(batch::LogKind kind, uint64_t number,
                                             std::string_view text) {
  const json::value* const value = parsed_.parse(text);
  line_ = batch::LogLine{.number = number, .size = text.size() + 1};
  const std::optional<std::string_view> why =
      value == nullptr ? std::optional<std::string_view>("it is not JSON")
                       : batch::read_log_line(*value, kind, line_);
  if (!why) return line_;
  OddLines& odd = odd_[static_cast<size_t>(kind)];
  if (odd.lines++ == 0) {
    odd.first = number;
    odd.first_why = *why;
  }
  return std::nullopt;
}

// How many attempts there were. `answer_tokens`: how many of their tokens the answer has.
int64_t LogTally::count_attempts(const json::object& line, int64_t answer_tokens) {
  const json::object* windrow = object_in(line, "windrow");
  if (windrow == nullptr) return 0;
  const int64_t attempts = number_in(*windrow, "attempts").value_or(0);
  attempts_ += attempts;
  if (attempts > 1) ++retried_;
  const int64_t tokens = number_in(*windrow, "tokens").value_or(answer_tokens);
  lost_tokens_ += std::max<int64_t>(tokens - answer_tokens, 0);
  return attempts;
}

void LogTally::count_timings(const json::object& line) {
  const json::object* windrow = object_in(line, "windrow");
  const json::object* timings = windrow == nullptr ? nullptr : object_in(*windrow, "timings");
  if (timings == nullptr) return;
  int64_t sum_ms = 0;
  bool any = false;
  const auto add = [&](std::string_view name, LatencyHistogram& histogram) {
    const std::optional<int64_t> ms = number_in(*timings, name);
    if (!ms) return;
    histogram.add(*ms);
    sum_ms += *ms;
    any = true;
  };
  add("queue_ms", queue_);
  add("prefill_ms", prefill_);
  add("decode_ms", decode_);
  if (any) latency_.add(sum_ms);
}

void LogTally::count_body(const json::object& body, const llm::TokenCount& tokens) {
  for (std::string& reason : finish_reasons_of(body)) {
    if (finish_reasons_.size() >= kFinishReasonsMax && !finish_reasons_.contains(reason))
      reason = "others";
    ++finish_reasons_[std::move(reason)];
  }
  if (tokens.prompt > 0) prompt_lengths_.add(tokens.prompt);
  if (tokens.completion > 0) output_lengths_.add(tokens.completion);
}

void LogTally::count_result() {
  ++succeeded_;
  const json::object& line = parsed_.value()->get_object();
  count_timings(line);
  const json::object* response = object_in(line, "response");
  const json::object* body = response == nullptr ? nullptr : object_in(*response, "body");
  const json::object* usage = body == nullptr ? nullptr : object_in(*body, "usage");
  const llm::TokenCount tokens = usage == nullptr ? llm::TokenCount() : tokens_in_usage(*usage);
  const int64_t attempts = count_attempts(line, tokens.prompt + tokens.completion);
  if (attempts > 1) ++retried_succeeded_;
  if (body == nullptr) return;
  count_body(*body, tokens);
  std::string model(text_in(*body, "model"));
  if (models_.size() >= kModelsMax && !models_.contains(model)) model = "others";
  ModelTally& tally = models_[model];
  ++tally.rows;
  tally.tokens += tokens;
  if (attempts > 0) tally.computed += tokens;
}

void LogTally::count_failure() {
  ++failed_;
  const json::object& line = parsed_.value()->get_object();
  count_attempts(line, 0);
  std::pair<int32_t, std::string> key(line_.status, line_.code);
  if (failures_.size() >= kFailureKindsMax && !failures_.contains(key)) key = {0, "others"};
  const auto [found, added] = failures_.try_emplace(key);
  FailureKind& kind = found->second;
  ++kind.rows;
  if (!added) return;
  kind.status = key.first;
  kind.code = key.second;
  kind.example_line = line_.input_line;
  kind.example_id = line_.custom_id;
  if (const json::object* error = object_in(line, "error")) {
    kind.example_message = beginning(text_in(*error, "message"));
  }
}

std::vector<FailureKind> LogTally::failures() const {
  std::vector<FailureKind> kinds;
  kinds.reserve(failures_.size());
  for (const auto& [key, kind] : failures_)
    kinds.push_back(kind);
  std::ranges::sort(kinds, {}, [](const FailureKind& kind) {
    return std::tuple(-kind.rows, kind.status, std::string_view(kind.code));
  });
  return kinds;
}

}  // namespace windrow::report
