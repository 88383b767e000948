#include "memory/consolidation/run_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace windrow::memory {
namespace {

constexpr size_t kScopesNamed = 8;

Duration sum_of(const BatchTimes& times) {
  return times.recall + times.model + times.embedding + times.commit;
}

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("  {:<24} {:>12}\n", name, value);
}

std::string row(std::string_view name, int64_t value) {
  return row(name, fmt::format("{}", value));
}

}  // namespace

std::string name_of(const Scope& scope) {
  if (scope.is_empty()) return "[untagged]";
  return fmt::format("[{}]", fmt::join(scope.list(), ", "));
}

std::string RunLog::add(const BatchLine& batch, Duration now) {
  counts_ += batch.counts;
  times_.recall += batch.times.recall;
  times_.model += batch.times.model;
  times_.embedding += batch.times.embedding;
  times_.commit += batch.times.commit;
  ScopeShare& share = scopes_[batch.scope];
  ++share.batches;
  share.facts += static_cast<int64_t>(batch.facts);
  share.busy += sum_of(batch.times);
  const auto processed = static_cast<double>(std::max<int64_t>(counts_.facts_processed, 1));
  const ConsolidationCounts& counts = batch.counts;
  return fmt::format(
      "[CONSOLIDATION] bank={} llm_batch #{} ({} memories, {} llm calls) scope={} | "
      "processed={}/{} "
      "| recall={:.3f}s, llm={:.3f}s, embedding={:.3f}s, db_write={:.3f}s | created={} updated={} "
      "deleted={} merged={} skipped={}{}{} | input_tokens={} | avg={:.3f}s/memory",
      bank_, batch.number, batch.facts, counts.llm_calls, name_of(batch.scope),
      counts_.facts_processed, total_, seconds(batch.times.recall), seconds(batch.times.model),
      seconds(batch.times.embedding), seconds(batch.times.commit), counts.observations_created,
      counts.observations_updated, counts.observations_deleted, counts.observations_merged,
      counts.facts_skipped,
      counts.facts_failed > 0 ? fmt::format(" failed={}", counts.facts_failed) : "",
      counts.actions_rejected > 0 ? fmt::format(" rejected={}", counts.actions_rejected) : "",
      counts.input_tokens, seconds(now) / processed);
}

std::string RunLog::table(Duration wall, double mean_in_flight) const {
  std::string text = fmt::format("consolidation of {}\n", bank_);
  text += row("facts", counts_.facts_processed);
  text += row("observations created", counts_.observations_created);
  text += row("observations updated", counts_.observations_updated);
  text += row("observations deleted", counts_.observations_deleted);
  text += row("observations merged", counts_.observations_merged);
  text += row("facts without effect", counts_.facts_skipped);
  text += row("facts failed", counts_.facts_failed);
  text += row("actions rejected", counts_.actions_rejected);
  text += row("batches", counts_.batches);
  text += row("batches halved", counts_.splits);
  text += row("LLM calls", counts_.llm_calls);
  text += row("tokens in", counts_.input_tokens);
  text += row("of these cached", counts_.cached_tokens);
  text += row("tokens out", counts_.output_tokens);
  text += row("wall time", fmt::format("{:.2f} s", seconds(wall)));
  text += row("mean calls in flight", fmt::format("{:.2f}", mean_in_flight));
  const double all = std::max(seconds(sum_of(times_)), 1e-9);
  text += row("share of recall", fmt::format("{:.1f} %", 100 * seconds(times_.recall) / all));
  text += row("share of the model", fmt::format("{:.1f} %", 100 * seconds(times_.model) / all));
  text += row("share of commit", fmt::format("{:.1f} %", 100 * seconds(times_.commit) / all));
  std::vector<std::pair<Scope, ScopeShare>> longest(scopes_.begin(), scopes_.end());
  std::ranges::sort(longest, [](const auto& one, const auto& other) {
    return std::tie(other.second.busy, one.first) < std::tie(one.second.busy, other.first);
  });
  if (longest.size() > 1) text += "  longest scopes\n";
  for (size_t i = 0; longest.size() > 1 && i < std::min(longest.size(), kScopesNamed); ++i) {
    const auto& [scope, share] = longest[i];
    text += fmt::format("    {:<34} {:>6} facts {:>6} batches {:>9.2f} s\n", name_of(scope),
                        share.facts, share.batches, seconds(share.busy));
  }
  return text;
}

}  // namespace windrow::memory
