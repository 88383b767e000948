#include "dispatch/packer.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

// Calls of a size before the next size is tried, and what a doubling must bring.
constexpr int32_t kCalls = 4;
constexpr double kPackerGain = 1.1;

// Turns of a token at weight 1, so that a token at a large weight is not rounded to nothing.
constexpr int64_t kTurnsOfToken = 1024;

}  // namespace

std::string_view to_string(PackReason reason) {
  switch (reason) {
    case PackReason::kAlone:
      return "alone";
    case PackReason::kRows:
      return "rows";
    case PackReason::kTokens:
      return "tokens";
    case PackReason::kWindow:
      return "window";
    case PackReason::kRoom:
      return "room";
  }
  ENSURE(false, "no such reason: {}", static_cast<int>(reason));
}

// --- size ---------------------------------------------------------------------------------------

PackSize::PackSize(const PackerOptions& options)
    : tokens_min_(std::max<int64_t>(options.tokens_min, 1)),
      tokens_max_(std::max(options.tokens_max, tokens_min_)),
      tokens_(std::min(4 * tokens_min_, tokens_max_)) {}

void PackSize::answered(int64_t tokens, Duration took) {
  // A call that is not full says little about full ones.
  if (settled_ || tokens * 4 < tokens_ * 3) return;
  tokens_sum_ += static_cast<double>(tokens);
  seconds_sum_ += std::max(seconds(took), 1e-9);
  if (++calls_ < kCalls) return;
  const double per_s = tokens_sum_ / seconds_sum_;
  tokens_sum_ = 0;
  seconds_sum_ = 0;
  calls_ = 0;
  if (before_per_s_ > 0 && per_s < kPackerGain * before_per_s_) {
    settled_ = true;
    tokens_ = std::max(tokens_ / 2, tokens_min_);
  } else if (tokens_ >= tokens_max_) {
    settled_ = true;
  } else {
    before_per_s_ = per_s;
    tokens_ = std::min(2 * tokens_, tokens_max_);
  }
}

void PackSize::too_large(int64_t tokens) {
  tokens_max_ = std::max(std::min(tokens_max_, tokens / 2), tokens_min_);
  tokens_ = std::min(tokens_, tokens_max_);
}

// --- packs --------------------------------------------------------------------------------------

std::optional<Pack> split_pack(Pack& pack, int32_t rows_max) {
  const auto keep = static_cast<std::ptrdiff_t>(std::max(rows_max, 1));
  if (std::ssize(pack.items) <= keep) return std::nullopt;
  Pack rest;
  const auto move_rest = [keep](auto& from, auto& to) {
    to.assign(from.begin() + keep, from.end());
    from.erase(from.begin() + keep, from.end());
  };
  move_rest(pack.items, rest.items);
  move_rest(pack.since, rest.since);
  move_rest(pack.rows_max, rest.rows_max);
  move_rest(pack.turns, rest.turns);
  for (const WorkItem& item : rest.items)
    rest.tokens += item.tokens;
  pack.tokens -= rest.tokens;
  pack.reason = PackReason::kRows;
  return rest;
}

// --- in -----------------------------------------------------------------------------------------

// The tenant goes on where its last row ended, or joins at the present turn.
int64_t Packer::turn_of(const WorkItem& item) {
  int64_t& next = next_turns_[item.tenant];
  const int64_t turn = std::max(next, turn_);
  next = turn + item.tokens * kTurnsOfToken / std::max(item.weight, 1);
  return turn;
}

void Packer::add(TimePoint now, const WorkItem& item, int32_t rows_max) {
  insert({turn_of(item), ++last_number_},
         {item, now, std::max(std::min(rows_max, options_.rows_max), 1)});
}

void Packer::put_back(const Pack& pack) {
  for (size_t i = pack.items.size(); i-- > 0;)
    insert({pack.turns[i], --first_number_}, {pack.items[i], pack.since[i], pack.rows_max[i]});
}

bool Packer::replace(ItemId id, const WorkItem& item) {
  const auto rank = ranks_.find(id);
  if (rank == ranks_.end()) return false;
  const auto [kind, where] = rank->second;
  ENSURE(item.pack == kind, "item {} cannot be packed with those of {}", item.id.value(),
         id.value());
  kinds_.at(kind).rows.at(where).item = item;
  ranks_.erase(rank);
  ranks_.emplace(item.id, std::pair(kind, where));
  return true;
}

void Packer::hide(uint64_t pack, const Kind& kind) {
  if (kind.rows.empty()) return;
  fronts_.erase({kind.rows.begin()->first, pack});
  ages_.erase({kind.ages.begin()->first, pack});
}

void Packer::show(uint64_t pack, const Kind& kind) {
  if (kind.rows.empty()) return;
  fronts_.emplace(kind.rows.begin()->first, pack);
  ages_.emplace(kind.ages.begin()->first, pack);
}

void Packer::insert(Rank rank, const Waiting& waiting) {
  const uint64_t pack = waiting.item.pack;
  const bool fresh = ranks_.try_emplace(waiting.item.id, pack, rank).second;
  ENSURE(fresh, "item {} waits already", waiting.item.id.value());
  Kind& kind = kinds_[pack];
  hide(pack, kind);
  kind.rows.emplace(rank, waiting);
  kind.ages.emplace(waiting.since, rank);
  show(pack, kind);
}

Packer::Waiting Packer::remove(uint64_t pack, Rank rank) {
  const auto kind = kinds_.find(pack);
  hide(pack, kind->second);
  auto row = kind->second.rows.extract(rank);
  kind->second.ages.erase({row.mapped().since, rank});
  ranks_.erase(row.mapped().item.id);
  show(pack, kind->second);
  if (kind->second.rows.empty()) kinds_.erase(kind);
  // No tenant is ahead of another any more.
  if (ranks_.empty()) {
    for (const auto& [tenant, next] : next_turns_)
      turn_ = std::max(turn_, next);
    next_turns_.clear();
  }
  return row.mapped();
}

// --- out ----------------------------------------------------------------------------------------

Packer::Extent Packer::first_of(const Kind& kind) const {
  Extent extent;
  int64_t tokens = 0;
  int32_t rows_max = options_.rows_max;
  for (const auto& [rank, waiting] : kind.rows) {
    if (extent.rows >= std::min(rows_max, waiting.rows_max)) {
      extent.reason = PackReason::kRows;
      return extent;
    }
    if (extent.rows > 0 && tokens + waiting.item.tokens > size_.tokens()) {
      extent.reason = PackReason::kTokens;
      return extent;
    }
    rows_max = std::min(rows_max, waiting.rows_max);
    tokens += waiting.item.tokens;
    ++extent.rows;
  }
  if (extent.rows >= rows_max) {
    extent.reason = PackReason::kRows;
  } else if (tokens >= size_.tokens()) {
    extent.reason = PackReason::kTokens;
  }
  return extent;
}

Pack Packer::take_first(uint64_t pack, Extent extent) {
  Pack taken{.reason = extent.reason};
  for (int32_t row = 0; row < extent.rows; ++row) {
    const Rank rank = kinds_.at(pack).rows.begin()->first;
    turn_ = std::max(turn_, rank.first);
    const Waiting waiting = remove(pack, rank);
    taken.tokens += waiting.item.tokens;
    taken.items.push_back(waiting.item);
    taken.since.push_back(waiting.since);
    taken.rows_max.push_back(waiting.rows_max);
    taken.turns.push_back(rank.first);
  }
  return taken;
}

// The kind whose first row has its turn first, among kinds that need not wait for their window.
std::optional<Pack> Packer::next(TimePoint now) {
  for (const auto& [rank, pack] : fronts_) {
    const Kind& kind = kinds_.at(pack);
    Extent extent = first_of(kind);
    if (extent.reason == PackReason::kRoom && options_.window > Duration{}) {
      if (now < kind.ages.begin()->first + options_.window) continue;
      extent.reason = PackReason::kWindow;
    }
    return take_first(pack, extent);
  }
  return std::nullopt;
}

std::optional<TimePoint> Packer::wake_at(TimePoint now) const {
  if (options_.window <= Duration{}) return std::nullopt;
  const auto next = ages_.upper_bound({now - options_.window, UINT64_MAX});
  if (next == ages_.end()) return std::nullopt;
  return next->first + options_.window;
}

// --- taken out ----------------------------------------------------------------------------------

std::optional<WorkItem> Packer::take(ItemId id) {
  const auto rank = ranks_.find(id);
  if (rank == ranks_.end()) return std::nullopt;
  const auto [pack, where] = rank->second;
  return remove(pack, where).item;
}

std::vector<WorkItem> Packer::take_all() {
  std::vector<WorkItem> all;
  all.reserve(ranks_.size());
  for (const auto& [pack, kind] : kinds_) {
    for (const auto& [rank, waiting] : kind.rows)
      all.push_back(waiting.item);
  }
  for (const WorkItem& item : all)
    take(item.id);
  return all;
}

}  // namespace windrow::dispatch
