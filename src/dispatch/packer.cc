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

void Packer::add(TimePoint now, const WorkItem& item, int32_t rows_max) {
  kinds_[item.pack].push_back({item, now, std::min(rows_max, options_.rows_max)});
  came(item);
}

void Packer::came(const WorkItem& item) {
  ++waiting_;
  if (item.deadline) deadlines_.emplace(*item.deadline, item.id);
}

void Packer::left(const WorkItem& item) {
  --waiting_;
  if (item.deadline) deadlines_.erase({*item.deadline, item.id});
}

// The call that the first rows of a kind make, and why it ends where it does.
Pack Packer::first_of(const Kind& kind) const {
  Pack pack;
  int32_t rows_max = options_.rows_max;
  for (const Waiting& waiting : kind) {
    const auto rows = static_cast<int32_t>(pack.items.size());
    if (rows >= std::min(rows_max, std::max(waiting.rows_max, 1))) {
      pack.reason = PackReason::kRows;
      return pack;
    }
    if (rows > 0 && pack.tokens + waiting.item.tokens > size_.tokens()) {
      pack.reason = PackReason::kTokens;
      return pack;
    }
    rows_max = std::min(rows_max, std::max(waiting.rows_max, 1));
    pack.items.push_back(waiting.item);
    pack.since.push_back(waiting.since);
    pack.rows_max.push_back(waiting.rows_max);
    pack.tokens += waiting.item.tokens;
  }
  if (static_cast<int32_t>(pack.items.size()) >= rows_max) {
    pack.reason = PackReason::kRows;
  } else if (pack.tokens >= size_.tokens()) {
    pack.reason = PackReason::kTokens;
  }
  return pack;
}

std::optional<Pack> Packer::next(TimePoint now) {
  // The kind whose first row waits longest, of those that need not wait for company.
  auto oldest = kinds_.end();
  Pack found;
  for (auto kind = kinds_.begin(); kind != kinds_.end(); ++kind) {
    const TimePoint since = kind->second.front().since;
    if (oldest != kinds_.end() && oldest->second.front().since <= since) continue;
    Pack pack = first_of(kind->second);
    if (pack.reason == PackReason::kRoom && options_.window > Duration{}) {
      if (now < since + options_.window) continue;
      pack.reason = PackReason::kWindow;
    }
    oldest = kind;
    found = std::move(pack);
  }
  if (oldest == kinds_.end()) return std::nullopt;
  const auto rows = static_cast<int64_t>(found.items.size());
  oldest->second.erase(oldest->second.begin(), oldest->second.begin() + rows);
  for (const WorkItem& item : found.items)
    left(item);
  if (oldest->second.empty()) kinds_.erase(oldest);
  return found;
}

void Packer::put_back(const Pack& pack) {
  Kind& kind = kinds_[pack.items.front().pack];
  for (size_t i = pack.items.size(); i-- > 0;) {
    kind.push_front({pack.items[i], pack.since[i], pack.rows_max[i]});
    came(pack.items[i]);
  }
}

std::optional<TimePoint> Packer::wake_at(TimePoint now) const {
  std::optional<TimePoint> at;
  if (!deadlines_.empty()) at = deadlines_.begin()->first;
  if (options_.window <= Duration{}) return at;
  for (const auto& [key, kind] : kinds_) {
    const TimePoint over = kind.front().since + options_.window;
    if (over > now && (!at || over < *at)) at = over;
  }
  return at;
}

// --- taken out ----------------------------------------------------------------------------------

std::optional<WorkItem> Packer::take(ItemId id) {
  for (auto kind = kinds_.begin(); kind != kinds_.end(); ++kind) {
    const auto found =
        std::ranges::find(kind->second, id, [](const Waiting& waiting) { return waiting.item.id; });
    if (found == kind->second.end()) continue;
    WorkItem item = found->item;
    kind->second.erase(found);
    left(item);
    if (kind->second.empty()) kinds_.erase(kind);
    return item;
  }
  return std::nullopt;
}

std::vector<WorkItem> Packer::take_expired(TimePoint now) {
  std::vector<WorkItem> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now)
    expired.push_back(*take(deadlines_.begin()->second));
  return expired;
}

std::vector<WorkItem> Packer::take_all() {
  std::vector<WorkItem> all;
  for (const auto& [key, kind] : kinds_) {
    for (const Waiting& waiting : kind)
      all.push_back(waiting.item);
  }
  kinds_.clear();
  waiting_ = 0;
  deadlines_.clear();
  return all;
}

}  // namespace windrow::dispatch
