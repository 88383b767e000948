#include "app/commands/sim_upstream_options.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "app/settings/serve_options.h"

namespace windrow::app {
namespace {

using sim_upstream::AnswerKind;
using sim_upstream::LimitHeaders;
using sim_upstream::SimOptions;

using Text = std::string_view;

// Setters of SimOptions.

template <auto kField, auto kMin, auto kMax>
Result<void> sim_number(Text text, SimUpstreamCommand& command) {
  auto& target = command.server.sim.*kField;
  return set_number<std::remove_reference_t<decltype(target)>>(text, kMin, kMax, target);
}

using sim_upstream::TokenOptions;

template <auto kField, auto kMin, auto kMax>
Result<void> token_number(Text text, SimUpstreamCommand& command) {
  auto& target = command.server.sim.tokens.*kField;
  return set_number<std::remove_reference_t<decltype(target)>>(text, kMin, kMax, target);
}

template <bool TokenOptions::* kField>
Result<void> token_switch(Text, SimUpstreamCommand& command) {
  command.server.sim.tokens.*kField = true;
  return {};
}

constexpr int32_t kLastToken = std::numeric_limits<int32_t>::max();

// "1000-29999"
Result<void> set_token_ids(Text text, SimUpstreamCommand& command) {
  const size_t dash = text.find('-');
  TokenOptions& tokens = command.server.sim.tokens;
  if (dash == Text::npos) return refuse_value(text, "two token ids, as 1000-29999");
  if (Result<void> first = set_number(text.substr(0, dash), 0, kLastToken, tokens.first_id); !first)
    return first;
  return set_number(text.substr(dash + 1), tokens.first_id, kLastToken, tokens.last_id);
}

// A time written as a number of `Unit`.
template <class Unit, Duration SimOptions::* kField>
Result<void> sim_time(Text text, SimUpstreamCommand& command) {
  constexpr std::chrono::minutes kMost(1);  // so that any number of tokens fits a Duration
  using Real = std::chrono::duration<double, typename Unit::period>;
  const Result<double> value = parse_number(text, 0.0, Real(kMost).count());
  if (!value) return value.error();
  command.server.sim.*kField = std::chrono::duration_cast<Duration>(Real(*value));
  return {};
}

template <class Choice, size_t kCount>
Result<void> set_choice(Text text, const std::array<std::pair<Text, Choice>, kCount>& choices,
                        Choice& target) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == text) {
      target = value;
      return {};
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return refuse_value(text, "one of " + names);
}

constexpr std::array<std::pair<Text, AnswerKind>, 3> kAnswerKinds = {
    {{"text", AnswerKind::kText}, {"echo", AnswerKind::kEcho}, {"json", AnswerKind::kJson}}};

constexpr std::array<std::pair<Text, LimitHeaders>, 3> kLimitHeaders = {
    {{"retry-after", LimitHeaders::kRetryAfter},
     {"x-ratelimit", LimitHeaders::kRateLimit},
     {"none", LimitHeaders::kNone}}};

constexpr int64_t kManyTokens = 10'000'000;
constexpr int32_t kManySlots = 1'000'000;
constexpr int64_t kManyLayers = 1024;
constexpr int64_t kManyExperts = 1'000'000;
constexpr int64_t kRowValuesMax = 1 << 18;

const std::array<Flag<SimUpstreamCommand>, 37> kSimFlags = {{
    {.group = "Server",
     .name = "listen",
     .value_name = "HOST:PORT",
     .help = "address to listen on, or a port alone; 0.0.0.0 is every interface, port 0 any free "
             "port (default: 127.0.0.1:8000)",
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       const Result<ListenAddress> listen = parse_listen(text);
       if (!listen) return listen.error();
       command.server.address = listen->host;
       command.server.port = listen->port;
       return {};
     }},
    {.group = "Server",
     .name = "address",
     .value_name = "ADDRESS",
     .help = "the address of --listen alone (default: 127.0.0.1)",
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       command.server.address = text;
       return {};
     }},
    {.group = "Server",
     .name = "port",
     .value_name = "N",
     .help = "the port of --listen alone (default: 8000)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<uint16_t>(text, 0, 65535, command.server.port);
         }},
    {.group = "Server",
     .name = "instant",
     .help = "answer every request at once with one prepared reply: to measure clients",
     .set = [](Text, SimUpstreamCommand& command) -> Result<void> {
       command.server.instant = true;
       return {};
     }},
    {.group = "Server",
     .name = "stats",
     .help = "print counts of requests and faults at the end, as a line of JSON",
     .set = set_switch<&SimUpstreamCommand::stats>},
    {.group = "Models",
     .name = "model",
     .value_name = "NAME",
     .help = "a model that the server has; without any, every name is answered (repeatable)",
     .repeatable = true,
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.models.emplace_back(text);
       return {};
     }},
    {.group = "Models",
     .name = "context",
     .value_name = "TOKENS",
     .help = "maximum tokens of prompt and answer; longer requests are refused (default: 8192)",
     .set = sim_number<&SimOptions::context_tokens, 1, kManyTokens>},
    {.group = "Models",
     .name = "ollama",
     .help = "behave like Ollama: /api/tags, /api/ps and /api/show; long prompts are cut silently",
     .set = [](Text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.ollama = true;
       return {};
     }},
    {.group = "Models",
     .name = "want-key",
     .value_name = "KEY",
     .help = "refuse requests without this API key; not a secret: the command line is public",
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.key = text;
       return {};
     }},
    {.group = "Speed",
     .name = "slots",
     .value_name = "N",
     .help = "requests answered at the same time (default: 4)",
     .set = sim_number<&SimOptions::slots, 1, kManySlots>},
    {.group = "Speed",
     .name = "serial",
     .help = "one request at a time: --slots 1",
     .set = [](Text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.slots = 1;
       return {};
     }},
    {.group = "Speed",
     .name = "knee",
     .value_name = "N",
     .help = "requests that together take no longer than one; more share the time (default: slots)",
     .set = sim_number<&SimOptions::knee, 1, kManySlots>},
    {.group = "Speed",
     .name = "queue",
     .value_name = "N",
     .help = "requests queued for a slot; more get a 503 (default: 512)",
     .set = sim_number<&SimOptions::queue_max, 0, kManySlots>},
    {.group = "Speed",
     .name = "request-ms",
     .value_name = "MS",
     .help = "time of every request before its tokens (default: 0)",
     .set = sim_time<std::chrono::milliseconds, &SimOptions::request_time>},
    {.group = "Speed",
     .name = "prompt-token-us",
     .value_name = "US",
     .help = "time of a prompt token that is not cached (default: 100)",
     .set = sim_time<std::chrono::microseconds, &SimOptions::prompt_token_time>},
    {.group = "Speed",
     .name = "token-ms",
     .value_name = "MS",
     .help = "time of an answer's token (default: 10)",
     .set = sim_time<std::chrono::milliseconds, &SimOptions::token_time>},
    {.group = "Speed",
     .name = "prefix-blocks",
     .value_name = "N",
     .help = "size of the prefix cache in blocks of 16 prompt tokens; 0: none (default: 4096)",
     .set = sim_number<&SimOptions::prefix_blocks, 0, kManyTokens>},
    {.group = "Answers",
     .name = "answer",
     .value_name = "text,echo,json",
     .help = "words, the last line of the prompt, or a JSON object",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_choice(text, kAnswerKinds, command.server.sim.answer);
         }},
    {.group = "Answers",
     .name = "answer-tokens",
     .value_name = "N",
     .help = "mean length of an answer (default: 32)",
     .set = sim_number<&SimOptions::answer_tokens, 1, kManyTokens>},
    {.group = "Answers",
     .name = "answer-spread",
     .value_name = "SHARE",
     .help = "how far lengths are from the mean, as a share of it (default: 0.5)",
     .set = sim_number<&SimOptions::answer_spread, 0, 1>},
    {.group = "Answers",
     .name = "embedding-size",
     .value_name = "N",
     .help = "dimensions of an embedding (default: 16)",
     .set = sim_number<&SimOptions::embedding_size, 1, 16384>},
    {.group = "Token ids",
     .name = "token-ids",
     .value_name = "FIRST-LAST",
     .help = "range of the ids that answers are drawn from (default: 1000-29999)",
     .set = set_token_ids},
    {.group = "Token ids",
     .name = "end-token",
     .value_name = "ID",
     .help = "last token of an answer that its limit does not cut (default: 2)",
     .set = token_number<&TokenOptions::end_id, 0, kLastToken>},
    {.group = "Token ids",
     .name = "weight-version",
     .value_name = "TEXT",
     .help = "version of the weights that SGLang's replies name (default: default)",
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.tokens.weight_version = text;
       return {};
     }},
    {.group = "Token ids",
     .name = "incremental-streaming",
     .help = "events of /generate have only what is new; without this, all tokens so far",
     .set = token_switch<&TokenOptions::incremental>},
    {.group = "Token ids",
     .name = "routing-layers",
     .value_name = "N",
     .help = "layers whose experts are told for each token; 0: none are told (default: 0)",
     .set = token_number<&TokenOptions::routing_layers, 0, kManyLayers>},
    {.group = "Token ids",
     .name = "routing-topk",
     .value_name = "N",
     .help = "experts of a token in each layer (default: 8)",
     .set = token_number<&TokenOptions::routing_topk, 1, kManyExperts>},
    {.group = "Token ids",
     .name = "routing-experts",
     .value_name = "N",
     .help = "experts that each layer has (default: 256)",
     .set = token_number<&TokenOptions::routing_experts, 1, kManyExperts>},
    {.group = "Token ids",
     .name = "routing-drift",
     .help = "other experts each time that the same tokens are computed",
     .set = token_switch<&TokenOptions::routing_drift>},
    {.group = "Token ids",
     .name = "routing-twice",
     .help = "the experts of a chat a second time, in sglext, as newer versions of SGLang do",
     .set = token_switch<&TokenOptions::routing_twice>},
    {.group = "Token ids",
     .name = "indexer-layers",
     .value_name = "N",
     .help = "layers whose indexer's choices are told for each token; 0: none (default: 0)",
     .set = token_number<&TokenOptions::indexer_layers, 0, kManyLayers>},
    {.group = "Token ids",
     .name = "indexer-topk",
     .value_name = "N",
     .help = "choices of an indexer for each token (default: 16)",
     .set = token_number<&TokenOptions::indexer_topk, 1, kManyExperts>},
    {.group = "Faults",
     .name = "fault",
     .value_name = "KIND=CHANCE[:TIME]",
     .help = "a fault to inject: 429, 5xx, 500, 502, 503, 400, 400-text, 429-text, 500-text, "
             "stall, reset, slow-body, truncated, content-type, not-json, error-200, swapped, "
             "schema, null-content; in streams: stream-error, stream-garbage, no-done, no-end; "
             "with token ids: no-tokens, logprob-count, few-rows, bad-base64 (repeatable)",
     .repeatable = true,
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       const Result<sim_upstream::FaultRule> rule = sim_upstream::parse_fault(text);
       if (!rule) return rule.error();
       command.server.sim.faults.push_back(*rule);
       return {};
     }},
    {.group = "Faults",
     .name = "limit-headers",
     .value_name = "retry-after,x-ratelimit,none",
     .help = "how a 429 says when to try again",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_choice(text, kLimitHeaders, command.server.sim.limit_headers);
         }},
    {.group = "Faults",
     .name = "rpm",
     .value_name = "N",
     .help = "quota of requests per minute; 0: none",
     .set = sim_number<&SimOptions::requests_per_minute, 0, kManyTokens>},
    {.group = "Faults",
     .name = "tpm",
     .value_name = "TOKENS",
     .help = "quota of prompt tokens per minute; 0: none",
     .set = sim_number<&SimOptions::tokens_per_minute, 0, kManyTokens>},
    {.group = "Faults",
     .name = "seed",
     .value_name = "N",
     .help = "seed of faults and answers (default: 1)",
     .set = sim_number<&SimOptions::seed, 0, std::numeric_limits<uint64_t>::max()>},
}};

Result<void> check_row(Text name, int64_t layers, int64_t topk) {
  if (layers * topk <= kRowValuesMax) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("--{0}-layers {1} and --{0}-topk {2} make {3} numbers for each token; "
                           "at most {4} are possible",
                           name, layers, topk, layers * topk, kRowValuesMax)};
}

}  // namespace

std::span<const Flag<SimUpstreamCommand>> sim_flags() {
  return kSimFlags;
}

Result<void> check_sim_upstream(const SimUpstreamCommand& command) {
  const sim_upstream::SimOptions& sim = command.server.sim;
  if (command.server.instant && (!sim.faults.empty() || !sim.key.empty() ||
                                 sim.requests_per_minute > 0 || sim.tokens_per_minute > 0)) {
    return Error{ErrorKind::kInvalid,
                 "--instant looks at no request, so it cannot go with --fault, --want-key, --rpm "
                 "or --tpm"};
  }
  if (sim.knee > sim.slots) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--knee {} is more than --slots {}, so it would never be reached",
                             sim.knee, sim.slots)};
  }
  const TokenOptions& tokens = sim.tokens;
  if (tokens.routing_topk > tokens.routing_experts) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--routing-topk {} is more than --routing-experts {}: a layer has "
                             "only so many to choose from",
                             tokens.routing_topk, tokens.routing_experts)};
  }
  if (const Result<void> row = check_row("routing", tokens.routing_layers, tokens.routing_topk);
      !row)
    return row.error();
  return check_row("indexer", tokens.indexer_layers, tokens.indexer_topk);
}

}  // namespace windrow::app
