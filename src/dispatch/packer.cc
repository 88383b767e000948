#include "dispatch/packer.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

// What a size must have shown before the next is tried, and what a doubling must bring.
constexpr int32_t kCalls = 4;
constexpr double kGain = 1.1;

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
  if (before_per_s_ > 0 && per_s < kGain * before_per_s_) {
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
  rest.items.assign(pack.items.begin() + keep, pack.items.end());
  rest.since.assign(pack.since.begin() + keep, pack.since.end());
  rest.rows_max.assign(pack.rows_max.begin() + keep, pack.rows_max.end());
  for (const WorkItem& item : rest.items)
    rest.tokens += item.tokens;
  pack.items.erase(pack.items.begin() + keep, pack.items.end());
  pack.since.erase(pack.since.begin() + keep, pack.since.end());
  pack.rows_max.erase(pack.rows_max.begin() + keep, pack.rows_max.end());
  pack.tokens -= rest.tokens;
  pack.reason = PackReason::kRows;
  return rest;
}

// --- in -----------------------------------------------------------------------------------------

void Packer::add(TimePoint now, const WorkItem& item, int32_t rows_max) {
  insert(++last_number_, {item, now, std::max(std::min(rows_max, options_.rows_max), 1)});
}

void Packer::put_back(const Pack& pack) {
  for (size_t i = pack.items.size(); i-- > 0;)
    insert(--first_number_, {pack.items[i], pack.since[i], pack.rows_max[i]});
}

bool Packer::replace(ItemId id, const WorkItem& item) {
  const auto place = places_.find(id);
  if (place == places_.end()) return false;
  const auto [kind, number] = place->second;
  ENSURE(item.pack == kind, "item {} cannot be packed with those of {}", item.id.value(),
         id.value());
  kinds_.at(kind).at(number).item = item;
  places_.erase(place);
  places_.emplace(item.id, std::pair(kind, number));
  return true;
}

void Packer::insert(int64_t number, const Waiting& waiting) {
  const uint64_t pack = waiting.item.pack;
  const bool fresh = places_.try_emplace(waiting.item.id, pack, number).second;
  ENSURE(fresh, "item {} waits already", waiting.item.id.value());
  Kind& kind = kinds_[pack];
  if (kind.empty() || number < kind.begin()->first) {
    if (!kind.empty()) fronts_.erase({kind.begin()->second.since, pack});
    fronts_.emplace(waiting.since, pack);
  }
  kind.emplace(number, waiting);
}

// --- out ----------------------------------------------------------------------------------------

Packer::Extent Packer::first_of(const Kind& kind) const {
  Extent extent;
  int64_t tokens = 0;
  int32_t rows_max = options_.rows_max;
  for (const auto& [number, waiting] : kind) {
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
  const auto kind = kinds_.find(pack);
  fronts_.erase({kind->second.begin()->second.since, pack});
  for (int32_t row = 0; row < extent.rows; ++row) {
    const auto first = kind->second.begin();
    places_.erase(first->second.item.id);
    taken.tokens += first->second.item.tokens;
    taken.items.push_back(first->second.item);
    taken.since.push_back(first->second.since);
    taken.rows_max.push_back(first->second.rows_max);
    kind->second.erase(first);
  }
  if (kind->second.empty()) {
    kinds_.erase(kind);
  } else {
    fronts_.emplace(kind->second.begin()->second.since, pack);
  }
  return taken;
}

// The kind whose first row waits longest, of those that need not wait for company.
std::optional<Pack> Packer::next(TimePoint now) {
  for (const auto& [since, pack] : fronts_) {
    Extent extent = first_of(kinds_.at(pack));
    if (extent.reason == PackReason::kRoom && options_.window > Duration{}) {
      if (now < since + options_.window) continue;
      extent.reason = PackReason::kWindow;
    }
    return take_first(pack, extent);
  }
  return std::nullopt;
}

std::optional<TimePoint> Packer::wake_at(TimePoint now) const {
  if (options_.window <= Duration{}) return std::nullopt;
  const auto next = fronts_.upper_bound({now - options_.window, UINT64_MAX});
  if (next == fronts_.end()) return std::nullopt;
  return next->first + options_.window;
}

// --- taken out ----------------------------------------------------------------------------------

std::optional<WorkItem> Packer::take(ItemId id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return std::nullopt;
  const auto [pack, number] = place->second;
  places_.erase(place);
  const auto kind = kinds_.find(pack);
  const auto found = kind->second.find(number);
  const bool was_first = found == kind->second.begin();
  const Waiting waiting = found->second;
  kind->second.erase(found);
  if (was_first) fronts_.erase({waiting.since, pack});
  if (kind->second.empty()) {
    kinds_.erase(kind);
  } else if (was_first) {
    fronts_.emplace(kind->second.begin()->second.since, pack);
  }
  return waiting.item;
}

std::vector<WorkItem> Packer::take_all() {
  std::vector<WorkItem> all;
  all.reserve(places_.size());
  for (const auto& [pack, kind] : kinds_) {
    for (const auto& [number, waiting] : kind)
      all.push_back(waiting.item);
  }
  kinds_.clear();
  fronts_.clear();
  places_.clear();
  return all;
}

}  // namespace windrow::dispatch
