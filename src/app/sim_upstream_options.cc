#include "app/sim_upstream_options.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include "app/listen_address.h"

namespace windrow::app {
namespace {

using sim_upstream::AnswerKind;
using sim_upstream::LimitHeaders;

using Text = std::string_view;

Error refuse(Text text, std::string_view accepted) {
  return {ErrorKind::kInvalid, fmt::format("\"{}\" is not {}", text, accepted)};
}

template <class Number>
Result<void> set_number(Text text, Number value_min, Number value_max, Number& target) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Written so that a value that is no number at all fails too.
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= value_min && value <= value_max)) {
    return refuse(text, fmt::format("a {} from {} to {}",
                                    std::is_integral_v<Number> ? "whole number" : "number",
                                    value_min, value_max));
  }
  target = value;
  return {};
}

// A time written as a number of `Unit`.
template <class Unit>
Result<void> set_time(Text text, Duration& target) {
  constexpr std::chrono::minutes kMost(1);  // so that any number of tokens fits a Duration
  using Real = std::chrono::duration<double, typename Unit::period>;
  double value = 0;
  if (const Result<void> set = set_number(text, 0.0, Real(kMost).count(), value); !set) return set;
  target = std::chrono::duration_cast<Duration>(Real(value));
  return {};
}

constexpr int64_t kManyTokens = 10'000'000;
constexpr int32_t kManySlots = 1'000'000;

const std::array<SimFlag, 26> kSimFlags = {{
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
     .help = "answer at once with one prepared reply, whatever is asked: to measure clients",
     .set = [](Text, SimUpstreamCommand& command) -> Result<void> {
       command.server.instant = true;
       return {};
     }},
    {.group = "Server",
     .name = "stats",
     .help = "at the end print what happened as a line of JSON",
     .set = [](Text, SimUpstreamCommand& command) -> Result<void> {
       command.stats = true;
       return {};
     }},
    {.group = "Models",
     .name = "model",
     .value_name = "NAME",
     .help = "a model there is; without any, every name is answered (repeatable)",
     .repeatable = true,
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.models.emplace_back(text);
       return {};
     }},
    {.group = "Models",
     .name = "context",
     .value_name = "TOKENS",
     .help = "of one request, prompt and answer; longer ones are refused (default: 8192)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int64_t>(text, 1, kManyTokens, command.server.sim.context_tokens);
         }},
    {.group = "Models",
     .name = "ollama",
     .help = "has /api/tags, /api/ps and /api/show, and cuts long prompts silently",
     .set = [](Text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.ollama = true;
       return {};
     }},
    {.group = "Models",
     .name = "want-key",
     .value_name = "KEY",
     .help = "refuse who does not show it; it is no secret, as anyone here can see it",
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.key = text;
       return {};
     }},
    {.group = "Speed",
     .name = "slots",
     .value_name = "N",
     .help = "requests answered together (default: 4)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int32_t>(text, 1, kManySlots, command.server.sim.slots);
         }},
    {.group = "Speed",
     .name = "serial",
     .help = "one after the other: --slots 1",
     .set = [](Text, SimUpstreamCommand& command) -> Result<void> {
       command.server.sim.slots = 1;
       return {};
     }},
    {.group = "Speed",
     .name = "knee",
     .value_name = "N",
     .help = "requests that together take no longer than one; more share the time (default: slots)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int32_t>(text, 1, kManySlots, command.server.sim.knee);
         }},
    {.group = "Speed",
     .name = "queue",
     .value_name = "N",
     .help = "requests that may wait for a slot; more get a 503 (default: 512)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int32_t>(text, 0, kManySlots, command.server.sim.queue_max);
         }},
    {.group = "Speed",
     .name = "request-ms",
     .value_name = "MS",
     .help = "what every request takes before its tokens (default: 0)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_time<std::chrono::milliseconds>(text, command.server.sim.request_time);
         }},
    {.group = "Speed",
     .name = "prompt-token-us",
     .value_name = "US",
     .help = "what a token of a prompt takes that is not cached (default: 100)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_time<std::chrono::microseconds>(text, command.server.sim.prompt_token_time);
         }},
    {.group = "Speed",
     .name = "token-ms",
     .value_name = "MS",
     .help = "what a token of an answer takes (default: 10)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_time<std::chrono::milliseconds>(text, command.server.sim.token_time);
         }},
    {.group = "Speed",
     .name = "prefix-blocks",
     .value_name = "N",
     .help = "blocks of 16 prompt tokens that are remembered; 0: none (default: 4096)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int64_t>(text, 0, kManyTokens, command.server.sim.prefix_blocks);
         }},
    {.group = "Answers",
     .name = "answer",
     .value_name = "text,echo,json",
     .help = "words, the last line of what was asked, or an object",
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       AnswerKind& answer = command.server.sim.answer;
       if (text == "text")
         answer = AnswerKind::kText;
       else if (text == "echo")
         answer = AnswerKind::kEcho;
       else if (text == "json")
         answer = AnswerKind::kJson;
       else
         return refuse(text, "one of text, echo, json");
       return {};
     }},
    {.group = "Answers",
     .name = "answer-tokens",
     .value_name = "N",
     .help = "mean length of an answer (default: 32)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int64_t>(text, 1, kManyTokens, command.server.sim.answer_tokens);
         }},
    {.group = "Answers",
     .name = "answer-spread",
     .value_name = "SHARE",
     .help = "how far lengths are from the mean, as a share of it (default: 0.5)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<double>(text, 0, 1, command.server.sim.answer_spread);
         }},
    {.group = "Answers",
     .name = "embedding-size",
     .value_name = "N",
     .help = "numbers of an embedding (default: 16)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int64_t>(text, 1, 16384, command.server.sim.embedding_size);
         }},
    {.group = "Faults",
     .name = "fault",
     .value_name = "KIND=CHANCE[:TIME]",
     .help = "what goes wrong: 429, 5xx, 500, 502, 503, stall, reset, slow-body, truncated, "
             "content-type, swapped, schema; of streams: stream-error, stream-garbage, no-done "
             "(repeatable)",
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
     .help = "how a 429 says when to come back",
     .set = [](Text text, SimUpstreamCommand& command) -> Result<void> {
       LimitHeaders& headers = command.server.sim.limit_headers;
       if (text == "retry-after")
         headers = LimitHeaders::kRetryAfter;
       else if (text == "x-ratelimit")
         headers = LimitHeaders::kRateLimit;
       else if (text == "none")
         headers = LimitHeaders::kNone;
       else
         return refuse(text, "one of retry-after, x-ratelimit, none");
       return {};
     }},
    {.group = "Faults",
     .name = "rpm",
     .value_name = "N",
     .help = "a quota of requests per minute; 0: none",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int64_t>(text, 0, kManyTokens, command.server.sim.requests_per_minute);
         }},
    {.group = "Faults",
     .name = "tpm",
     .value_name = "TOKENS",
     .help = "a quota of prompt tokens per minute; 0: none",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<int64_t>(text, 0, kManyTokens, command.server.sim.tokens_per_minute);
         }},
    {.group = "Faults",
     .name = "seed",
     .value_name = "N",
     .help = "of the faults and the answers (default: 1)",
     .set =
         [](Text text, SimUpstreamCommand& command) {
           return set_number<uint64_t>(text, 0, std::numeric_limits<uint64_t>::max(),
                                       command.server.sim.seed);
         }},
}};

}  // namespace

std::span<const SimFlag> sim_flags() {
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
  return {};
}

}  // namespace windrow::app
