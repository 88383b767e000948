#include "engine/schedule/kv_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

// Cells cached on request, as a share of the cells that running rows need, and at least. 4,096
// cached cells made a step of 8 rows of 60 tokens 28 % longer (bench/README.md).
constexpr double kCachedShare = 0.5;
constexpr int32_t kCachedCellsMin = 1024;

// Each row pays for cached cells: beside more rows than this fewer are kept, down to a quarter.
constexpr double kRowsAtFullShare = 2;
constexpr double kShareOfManyRows = 0.25;

// Moving a cell costs as much as reading so many in a step, and half as much for each cell that
// there is, which libllama clears (bench/README.md). It has to pay within so many steps, which is
// also the least distance between two compactions.
constexpr int64_t kReadsPerMove = 35;
constexpr int64_t kClearsPerRead = 2;
constexpr int32_t kCompactGapMin = 1024;
constexpr int32_t kCompactStepsMin = 64;

// What is lost with a cached prefix, in the order of eviction.
enum class Loss : uint8_t { kNone, kWanted, kHeld, kTooMuch };

}  // namespace

// --- SortedPrompts -----------------------------------------------------------------------------

bool SortedPrompts::Before::operator()(const Prompt& a, const Prompt& b) const {
  const auto common = static_cast<size_t>(common_prefix_size(a.tokens, b.tokens));
  if (common == a.tokens.size() || common == b.tokens.size()) {
    if (a.tokens.size() != b.tokens.size()) return a.tokens.size() < b.tokens.size();
    return a.name < b.name;
  }
  return a.tokens[common] < b.tokens[common];
}

void SortedPrompts::add(uint64_t name, std::span<const Token> tokens) {
  const bool is_new = prompts_.insert({.tokens = tokens, .name = name}).second;
  ENSURE(is_new, "{} is there already", name);
}

void SortedPrompts::remove(uint64_t name, std::span<const Token> tokens) {
  const size_t removed = prompts_.erase({.tokens = tokens, .name = name});
  ENSURE(removed == 1, "{} is not there with these tokens", name);
}

int32_t SortedPrompts::longest_common(std::span<const Token> tokens) const {
  int32_t longest = 0;
  const auto next = prompts_.lower_bound({.tokens = tokens, .name = 0});
  if (next != prompts_.end()) longest = common_prefix_size(tokens, next->tokens);
  if (next != prompts_.begin()) {
    longest = std::max(longest, common_prefix_size(tokens, std::prev(next)->tokens));
  }
  return longest;
}

// --- KvMemory -----------------------------------------------------------------------------------

KvMemory::KvMemory(const KvMemoryLimits& limits)
    : limits_(limits),
      tree_(limits.sequences_max, limits.sharing),
      held_common_(static_cast<size_t>(limits.sequences_max), 0),
      keep_(static_cast<size_t>(limits.sequences_max), false) {}

void KvMemory::add_waiting(const ScheduledRow& row) {
  prompts_.add(row.id.value(), row.shareable());
  if (row.wants_scores()) scored_prompts_.add(row.id.value(), row.known());
}

void KvMemory::remove_waiting(const ScheduledRow& row) {
  prompts_.remove(row.id.value(), row.shareable());
  if (row.wants_scores()) scored_prompts_.remove(row.id.value(), row.known());
}

// --- holds ---

void KvMemory::hold(HoldId hold, std::vector<Token> tokens) {
  const auto [held, is_new] = holds_.try_emplace(hold, std::move(tokens));
  ENSURE(is_new, "hold {} is there already", hold.value());
  held_.add(hold.value(), held->second);
  note_held_of_all();
}

void KvMemory::release_hold(HoldId hold) {
  const auto held = holds_.find(hold);
  ENSURE(held != holds_.end(), "there is no hold {}", hold.value());
  held_.remove(hold.value(), held->second);
  holds_.erase(held);
  note_held_of_all();
}

void KvMemory::note_held(SequenceId sequence) {
  held_common_[static_cast<size_t>(sequence.value())] =
      held_.empty() ? 0 : held_.longest_common(tree_.tokens(sequence));
}

void KvMemory::note_held_of_all() {
  for (const SequenceId sequence : tree_.cached())
    note_held(sequence);
}

// How many of the path's first tokens are held. A cached path may have been cut since it was noted.
int32_t KvMemory::held_prefix(SequenceId sequence) const {
  if (tree_.is_live(sequence)) return held_.longest_common(tree_.tokens(sequence));
  return std::min(held_common_[static_cast<size_t>(sequence.value())], tree_.size(sequence));
}

int32_t KvMemory::cells_held() const {
  if (held_.empty()) return 0;
  std::vector<PrefixTree::Match> prefixes;
  for (const SequenceId sequence : tree_.cached()) {
    const int32_t size = held_prefix(sequence);
    if (size >= kPrefixTokensMin) prefixes.push_back({.tokens = size, .from = sequence});
  }
  return tree_.cached_cells_of(prefixes);
}

int32_t KvMemory::wanted_by_waiting(const ScheduledRow& row) const {
  const int32_t common =
      std::max(prompts_.longest_common(row.known()), held_.longest_common(row.known()));
  if (!row.scores_top) return common;
  return std::max(common, scored_prompts_.longest_common(row.known()) - 1);
}

PrefixTree::Match KvMemory::match(const ScheduledRow& row) const {
  if (!row.wants_scores()) return tree_.longest_match(row.shareable());
  return tree_.longest_match(row.known(), {.from = row.outputs_from, .top = *row.scores_top});
}

SequenceId KvMemory::open() {
  const std::optional<SequenceId> sequence = tree_.open();
  ENSURE(sequence.has_value(), "no sequence is free");
  return *sequence;
}

void KvMemory::attach(SequenceId sequence, const PrefixTree::Match& match) {
  tree_.attach(sequence, match);
}

void KvMemory::extend(SequenceId sequence, std::span<const Token> tokens) {
  tree_.extend(sequence, tokens);
}

void KvMemory::release(SequenceId sequence) {
  tree_.release(sequence);
}

void KvMemory::release_or_cache(SequenceId sequence, bool keep) {
  keep = keep && limits_.sharing != Sharing::kNothing;
  const int32_t size =
      keep ? tree_.size(sequence) : std::max(wanted_size(sequence), held_size(sequence));
  if (size == 0) {
    tree_.release(sequence);
    return;
  }
  tree_.truncate(sequence, size);
  tree_.cache(sequence);
  note_held(sequence);
  keep_[static_cast<size_t>(sequence.value())] = keep;
}

void KvMemory::snapshot_if_wanted(SequenceId sequence) {
  const int32_t size = tree_.size(sequence);
  if (wanted_size(sequence) != size && held_size(sequence) != size) return;
  if (!make_room_for_sequence(true)) return;
  const SequenceId copy = *tree_.snapshot(sequence);
  note_held(copy);
  keep_[static_cast<size_t>(copy.value())] = false;
}

void KvMemory::keep_score(SequenceId sequence, Position position, KeptScore score) {
  if (limits_.sharing == Sharing::kNothing) return;
  tree_.keep_score(sequence, position, std::move(score));
}

std::vector<KeptScore> KvMemory::scores(SequenceId sequence, Position begin, Position end) const {
  return tree_.scores(sequence, begin, end);
}

// How many of the path's first tokens a waiting row would share.
int32_t KvMemory::wanted_prefix(SequenceId sequence) const {
  const int32_t wanted = prompts_.longest_common(tree_.tokens(sequence));
  if (scored_prompts_.empty()) return wanted;
  return std::max(wanted, scored_prompts_.longest_common(tree_.scored_text(sequence)) - 1);
}

// How much of a path is worth caching for waiting rows.
int32_t KvMemory::wanted_size(SequenceId sequence) const {
  if (limits_.sharing == Sharing::kNothing) return 0;
  return kept_size(sequence, wanted_prefix(sequence));
}

// How much of a path is worth caching because it is held.
int32_t KvMemory::held_size(SequenceId sequence) const {
  if (limits_.sharing == Sharing::kNothing || held_.empty()) return 0;
  return kept_size(sequence, held_prefix(sequence));
}

// How much of a path is kept if its first `common` tokens are of use: nothing when other paths have
// nearly as much of it.
int32_t KvMemory::kept_size(SequenceId sequence, int32_t common) const {
  if (limits_.sharing == Sharing::kExactEnd) {
    return common >= kPrefixTokensMin && common == tree_.size(sequence) ? common : 0;
  }
  return common >= tree_.shared_size(sequence) + kPrefixTokensMin ? common : 0;
}

// --- eviction -----------------------------------------------------------------------------------

bool KvMemory::make_room(int32_t cells) {
  while (cells > cells_free()) {
    if (tree_.cells_cached() == 0 || !evict_one()) return false;
  }
  return true;
}

bool KvMemory::make_room_for_sequence(bool spare_wanted) {
  return tree_.sequences_free() > 0 || evict_one(spare_wanted);
}

bool KvMemory::evict_one(bool spare_wanted) {
  const std::vector<SequenceId> cached = tree_.cached();
  if (cached.empty()) return false;
  const auto loss_of = [&](SequenceId sequence) {
    const bool is_wanted = wanted_size(sequence) > 0;
    if (is_wanted && spare_wanted) return Loss::kTooMuch;
    if (held_size(sequence) > 0) return Loss::kHeld;
    return is_wanted ? Loss::kWanted : Loss::kNone;
  };
  // The least recently used comes first.
  Loss least = Loss::kTooMuch;
  std::optional<SequenceId> evicted;
  for (const SequenceId sequence : cached) {
    const Loss loss = loss_of(sequence);
    if (loss >= least) continue;
    least = loss;
    evicted = sequence;
    if (least == Loss::kNone) break;
  }
  if (!evicted) return false;
  tree_.release(*evicted);
  return true;
}

void KvMemory::evict_unwanted(size_t rows_running) {
  const double share = std::clamp(
      kRowsAtFullShare / std::max(1.0, static_cast<double>(rows_running)), kShareOfManyRows, 1.0);
  const auto cells_kept_max = static_cast<int32_t>(
      share * std::max<double>(kCachedCellsMin, kCachedShare * static_cast<double>(cells_live())));
  for (const SequenceId sequence : tree_.cached()) {
    int32_t kept = 0;
    if (keep_[static_cast<size_t>(sequence.value())]) {
      // Cached cells cost nothing while there are no steps.
      const int32_t excess = rows_running == 0 ? 0 : tree_.cells_cached() - cells_kept_max;
      if (excess <= 0) continue;
      if (limits_.sharing == Sharing::kAnyRange) kept = tree_.size(sequence) - excess;
    }
    kept =
        std::max({kept < kPrefixTokensMin ? 0 : kept, wanted_size(sequence), held_size(sequence)});
    if (kept == 0) {
      tree_.release(sequence);
    } else {
      tree_.truncate(sequence, kept);
    }
  }
}

void KvMemory::evict_all() {
  while (evict_one()) {
  }
}

void KvMemory::compact_if_worthwhile() {
  ++steps_since_compaction_;
  if (steps_since_compaction_ < kCompactStepsMin) return;
  const int32_t gap = tree_.cells_end() - tree_.cells();
  if (gap < kCompactGapMin || tree_.cells() > limits_.compact_cells_max) return;
  const int64_t cost = kReadsPerMove * tree_.cells() + limits_.cells_max / kClearsPerRead;
  if (int64_t{gap} * kCompactStepsMin < cost) return;
  tree_.compact();
  steps_since_compaction_ = 0;
}

}  // namespace windrow::engine
