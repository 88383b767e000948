#include "simulate/server_plan.h"

#include <memory>
#include <utility>

#include "simulate/draw.h"

namespace windrow::simulate {

using sim_upstream::FaultKind;
using sim_upstream::FaultRule;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::vector<FaultRule> draw_server_faults(Random& random) {
  std::vector<FaultRule> rules;
  const auto maybe = [&](FaultKind kind, double at_most, std::optional<Duration> duration) {
    if (random.chance(0.3))
      rules.push_back({.kind = kind, .probability = at_most * random.unit(), .duration = duration});
  };
  maybe(FaultKind::kRateLimit, 0.1, between(random, milliseconds(100), seconds(20)));
  maybe(FaultKind::kServerError, 0.1, between(random, milliseconds(10), seconds(5)));
  maybe(FaultKind::kStall, 0.05, std::nullopt);
  maybe(FaultKind::kStall, 0.1, between(random, seconds(1), minutes(2)));
  maybe(FaultKind::kReset, 0.2, std::nullopt);
  maybe(FaultKind::kSlowBody, 0.2, between(random, milliseconds(10), seconds(10)));
  maybe(FaultKind::kTruncated, 0.2, std::nullopt);
  maybe(FaultKind::kContentType, 0.2, std::nullopt);
  return rules;
}

ServerPlan draw_server(Random& random) {
  ServerPlan server;
  sim_upstream::SimOptions& options = server.options;
  options.seed = random.next();
  options.context_tokens = kContextTokens;
  options.slots = static_cast<int32_t>(random.between(1, 8));
  options.queue_max = random.chance(0.2) ? static_cast<int32_t>(random.below(4)) : 512;
  options.token_time = between(random, Duration{}, milliseconds(20));
  options.answer_tokens = random.between(1, 40);
  options.answer = sim_upstream::AnswerKind::kEcho;
  options.limit_headers = static_cast<sim_upstream::LimitHeaders>(random.below(3));
  return server;
}

std::optional<PlannedOutage> draw_outage(Random& random) {
  if (!random.chance(0.15)) return std::nullopt;
  const Duration from = between(random, Duration{}, seconds(10));
  return PlannedOutage{.from = from, .to = from + between(random, Duration{}, minutes(2))};
}

std::vector<SimServer> start_servers(const std::vector<ServerPlan>& plans, TimePoint now,
                                     Canary canary) {
  std::vector<SimServer> servers;
  for (const ServerPlan& plan : plans) {
    sim_upstream::SimOptions options = plan.options;
    if (canary == Canary::kSwapped)
      options.faults.push_back({.kind = FaultKind::kSwapped, .probability = 0.05});
    SimServer& server = servers.emplace_back();
    server.upstream = std::make_unique<sim_upstream::SimulatedUpstream>(std::move(options));
    if (plan.outage) server.outage = Outage{now + plan.outage->from, now + plan.outage->to};
  }
  return servers;
}

}  // namespace windrow::simulate
