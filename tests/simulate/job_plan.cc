#include "simulate/job_plan.h"

#include <algorithm>
#include <utility>

#include "simulate/draw.h"

namespace windrow::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using store::testing::Faults;

Faults draw_disk_faults(Random& random) {
  Faults faults;
  switch (random.below(10)) {
    case 0:
      faults.bytes_until_full = any_size(random, 40'000);
      break;
    case 1:
      faults.appends_until_short = random.between(0, 10);
      faults.truncate_fails = random.chance(0.3);
      break;
    case 2:
      faults.syncs_until_failure = random.between(0, 12);
      faults.truncate_fails = random.chance(0.3);
      break;
    case 3:
      faults.sync_folder_fails = random.chance(0.5);
      faults.write_atomically_fails = random.chance(0.5);
      faults.rename_fails = random.chance(0.5);
      break;
    default:
      break;
  }
  return faults;
}

// The two together: so that what they bound is reached by small jobs too.
void draw_memory(Random& random, Generation& generation) {
  if (random.chance(0.7)) {
    generation.look_ahead = {
        .rows_max = static_cast<size_t>(any_size(random, 32)),
        .bytes_max = random.chance(0.2) ? static_cast<size_t>(any_size(random, 16'384)) : 1 << 20,
        .joins_max = static_cast<size_t>(any_size(random, 8))};
  }
  if (random.chance(0.5))
    generation.unwritten_bytes_max = static_cast<size_t>(any_size(random, 8192));
}

void draw_dispatch(Random& random, Generation& generation) {
  dispatch::DispatchOptions& options = generation.dispatch;
  options.coalesce = random.chance(0.7);
  options.in_flight_max = static_cast<int32_t>(random.between(1, 8));
  options.attempts_max = random.chance(0.3) ? 1000 : static_cast<int32_t>(random.between(1, 5));
  options.seed = random.next();
  generation.plain_dispatcher = generation.servers.size() == 1 && random.chance(0.2);
  if (generation.plain_dispatcher) return;
  options.waiting_max = static_cast<int32_t>(random.below(20));
  options.backoff_base =
      random.chance(0.2) ? Duration{} : between(random, milliseconds(1), seconds(2));
  if (random.chance(0.2)) options.quotas = {{.requests_per_minute = random.between(60, 6000)}};
  if (random.chance(0.3)) options.router.failures_max = static_cast<int32_t>(random.below(6));
  if (random.chance(0.5)) {
    generation.concurrency = dispatch::ConcurrencyOptions{
        .fixed = random.chance(0.3) ? static_cast<int32_t>(random.between(1, 8)) : 0,
        .limit_max = static_cast<int32_t>(random.between(8, 32))};
  }
}

Generation draw_generation(Random& random, const std::vector<ServerPlan>& servers, int64_t rows) {
  Generation generation;
  generation.seed = random.next();
  generation.disk = draw_disk_faults(random);
  switch (random.below(6)) {
    case 0:
    case 1:
      generation.dies_at_operation = random.between(0, 40);
      break;
    case 2:
      generation.dies_at_step = any_size(random, 16'000);
      break;
    case 3:
      generation.stops_at = Duration(any_size(random, Duration(minutes(1)).count()));
      if (random.chance(0.5))
        generation.stops_now_at = *generation.stops_at + between(random, Duration{}, seconds(5));
      break;
    case 4:
      generation.stops_now_at = Duration(any_size(random, Duration(minutes(1)).count()));
      break;
    default:
      break;
  }
  generation.power_is_lost = random.chance(0.4);
  for (const ServerPlan& server : servers) {
    generation.servers.push_back(server);
    generation.servers.back().options.faults = draw_server_faults(random);
    generation.servers.back().outage = draw_outage(random);
  }
  if (random.chance(0.15)) generation.rows_max = random.between(0, rows);
  generation.ordered = random.chance(0.3);
  generation.retry_failed = random.chance(0.3);
  generation.only_retried = generation.retry_failed && random.chance(0.3);
  generation.grace =
      random.chance(0.3) ? Duration{} : between(random, milliseconds(1), seconds(20));
  generation.request_timeout = between(random, seconds(1), minutes(1));
  generation.input.piece_bytes = static_cast<size_t>(any_size(random, 65536));
  generation.input.rereadable = random.chance(0.7);
  draw_dispatch(random, generation);
  draw_memory(random, generation);
  return generation;
}

}  // namespace

bool Generation::disk_breaks() const {
  return disk.bytes_until_full || disk.appends_until_short || disk.syncs_until_failure ||
         disk.truncate_fails || disk.rename_fails || disk.write_atomically_fails ||
         disk.sync_folder_fails;
}

JobPlan draw_plan(uint64_t seed, std::optional<int64_t> rows) {
  Random random(seed);
  JobPlan plan;
  plan.threads = {.seed = random.next(),
                  .interleaving = static_cast<Interleaving>(random.below(3)),
                  .spurious_wake = random.chance(0.3) ? 0.02 : 0,
                  .hiccup = random.chance(0.2) ? 0.002 : 0};
  if (!rows) rows = any_size(random, 256);
  plan.input = draw_input(random, *rows);
  std::vector<ServerPlan> servers;
  for (uint64_t count = 1 + random.below(3); count > 0; --count)
    servers.push_back(draw_server(random));
  for (uint64_t count = random.below(5); count > 0; --count)
    plan.generations.push_back(draw_generation(random, servers, *rows));

  plan.last.servers = servers;
  for (ServerPlan& server : plan.last.servers)
    server.options.queue_max = 512;
  plan.last.ordered = random.chance(0.5);
  plan.last.grace = seconds(10);
  plan.last.seed = random.next();
  draw_dispatch(random, plan.last);
  draw_memory(random, plan.last);
  plan.last.dispatch.attempts_max = 1000;
  return plan;
}

}  // namespace windrow::simulate
