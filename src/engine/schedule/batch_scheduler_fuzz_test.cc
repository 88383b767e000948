#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "engine/schedule/batch_scheduler.h"

namespace windrow::engine {
namespace {

// The memory of a model, as lists of cells: what each sequence holds after the changes of a
// scheduler and its steps.
class Memory {
 public:
  struct Cell {
    int64_t id;
    Token token;
  };

  explicit Memory(Sharing sharing) : sharing_(sharing) {}

  void change(const MemoryChange& change) {
    std::vector<Cell>& cells = sequences_[change.sequence.value()];
    const auto count = static_cast<size_t>(change.tokens);
    if (change.kind == MemoryChange::Kind::kShare) {
      const std::vector<Cell>& from = sequences_.at(change.from.value());
      ASSERT_TRUE(cells.empty()) << "a sequence was not emptied";
      ASSERT_TRUE(sharing_ == Sharing::kAnyRange ||
                  (sharing_ == Sharing::kExactEnd && count == from.size()));
      ASSERT_LE(count, from.size());
      cells.assign(from.begin(), from.begin() + change.tokens);
    } else {
      ASSERT_TRUE(count == 0 || sharing_ == Sharing::kAnyRange);
      ASSERT_LE(count, cells.size());
      cells.resize(count);
    }
  }

  void compute(SequenceId sequence, std::span<const Token> tokens) {
    for (const Token token : tokens)
      sequences_[sequence.value()].push_back({next_cell_++, token});
  }

  std::vector<Token> tokens(SequenceId sequence) {
    std::vector<Token> tokens;
    for (const Cell& cell : sequences_[sequence.value()])
      tokens.push_back(cell.token);
    return tokens;
  }

  int32_t cells() const {
    std::set<int64_t> cells;
    for (const auto& [id, sequence] : sequences_) {
      for (const Cell& cell : sequence)
        cells.insert(cell.id);
    }
    return static_cast<int32_t>(cells.size());
  }

 private:
  const Sharing sharing_;
  std::map<int32_t, std::vector<Cell>> sequences_;
  int64_t next_cell_ = 0;
};

// The score of a token, by all tokens before it: other prefixes have other scores.
KeptScore true_score(std::span<const Token> tokens, Token next, int32_t top) {
  uint32_t hash = 17;
  for (const Token token : tokens)
    hash = hash * 31 + static_cast<uint32_t>(token);
  KeptScore score{.next = next,
                  .logprob = -static_cast<float>((hash * 31 + static_cast<uint32_t>(next)) % 65536),
                  .top_asked = top,
                  .top = {}};
  for (int32_t i = 0; i < top; ++i)
    score.top.push_back({.token = i, .logprob = static_cast<float>(hash % 1024)});
  return score;
}

// Whatever happens to rows, in whatever order, and whatever they share: every step keeps to what
// libllama would otherwise end the process for, every row is computed without gaps on top of its
// own tokens, every row that is scored gets each of its scores once and in order, whether they were
// computed for it or for another, all rows end, and nothing is left. In half of the runs prefixes
// are held, computed or not, and let go at any time.
TEST(BatchSchedulerFuzz, EveryStepKeepsToTheLimitsAndEveryRowEnds) {
  int64_t scores_taken = 0;
  int64_t cells_held = 0;
  for (uint64_t seed = 0; seed < windrow::testing::rounds(150U, 600U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const auto rows_max = static_cast<int32_t>(random.between(1, 8));
    const SchedulerLimits limits{
        .cells_max = static_cast<int32_t>(random.between(rows_max, 200)),
        .rows_max = rows_max,
        .sequences_max = static_cast<int32_t>(random.between(rows_max, rows_max + 5)),
        .step_tokens_max = static_cast<int32_t>(random.between(rows_max, 64)),
        .step_outputs_max = static_cast<int32_t>(random.between(rows_max, 24)),
        .sharing = std::array{Sharing::kNothing, Sharing::kExactEnd,
                              Sharing::kAnyRange}[static_cast<size_t>(random.below(3))],
        .mixes = random.chance(0.7),
        .reserve = random.chance(0.5) ? queueing::kServerReserve : queueing::ReserveOptions()};
    const bool of_one_priority = random.chance(0.3);
    BatchScheduler scheduler(limits);
    Memory memory(limits.sharing);
    struct Truth {
      std::vector<Token> tokens;
      size_t end;
      int32_t output_next = 0;  // of this token the logits are wanted next
      int32_t scores_from = 0;  // with `top`: what follows its tokens is scored from this one on
      std::optional<int32_t> top;
      bool held = false;  // its known tokens are computed and the next one is not sampled yet
    };
    std::map<uint64_t, Truth> rows;
    std::vector<std::vector<Token>> ended;
    const auto remove = [&](RowId id) {
      scheduler.remove(id);
      ended.push_back(rows.at(id.value()).tokens);
      rows.erase(id.value());
    };
    // A row goes on by one token or by a run.
    const auto name_tokens = [&](uint64_t id) {
      Truth& row = rows.at(id);
      const size_t left = row.end - row.tokens.size();
      const bool run = random.chance(0.3);
      const size_t count = run ? static_cast<size_t>(random.between(1, 80)) : 1;
      const bool all_outputs = random.chance(0.5);
      row.held = false;
      if (count >= left || random.chance(0.05)) {
        remove(RowId(id));
        return;
      }
      for (size_t i = 0; i < count; ++i)
        row.tokens.push_back(static_cast<Token>(random.below(3)));
      if (!all_outputs) row.output_next = static_cast<int32_t>(row.tokens.size()) - 1;
      scheduler.extend(RowId(id), static_cast<int32_t>(count), all_outputs);
    };
    Random hold_random(seed + 1'000'000);  // apart, so that the rows are those without holds
    std::set<HoldId> holds;
    uint64_t next_hold = 0;
    const auto change_holds = [&] {
      if (seed % 2 == 0 || !hold_random.chance(0.2)) return;
      if (!holds.empty() && hold_random.chance(0.4)) {
        scheduler.release_hold(*holds.begin());
        holds.erase(holds.begin());
        return;
      }
      std::vector<Token> tokens(1 + static_cast<size_t>(hold_random.below(60)),
                                static_cast<Token>(hold_random.below(3)));
      const std::vector<Token>* from = nullptr;
      if (!ended.empty() && hold_random.chance(0.5)) {
        from = &ended[static_cast<size_t>(hold_random.below(ended.size()))];
      } else if (!rows.empty() && hold_random.chance(0.8)) {
        from = &rows.begin()->second.tokens;
      }
      if (from != nullptr) {
        const auto count = 1 + static_cast<ptrdiff_t>(hold_random.below(from->size()));
        tokens.assign(from->begin(), from->begin() + count);
      }
      scheduler.hold(HoldId(next_hold), std::move(tokens));
      holds.insert(HoldId(next_hold++));
    };
    uint64_t next_row = 0;
    uint64_t oldest_seen = 0;
    bool has_failed = false;  // rows of a failed step run alone, without regard to priority
    for (int steps = 0; next_row < 40 || !rows.empty(); ++steps) {
      ASSERT_LT(steps, 100'000) << "no progress";
      while (next_row < 40 && random.chance(0.4)) {
        const auto prompt = static_cast<int32_t>(random.between(1, limits.cells_max));
        const auto answer = static_cast<int32_t>(random.between(1, limits.cells_max - prompt + 1));
        const auto outputs_from =
            static_cast<int32_t>(random.chance(0.7) ? prompt - 1 : random.between(0, prompt - 1));
        Truth& row = rows[next_row];
        row.tokens.reserve(static_cast<size_t>(prompt) + static_cast<size_t>(answer));
        // Many begin as another one does, or go on where one ended.
        if (!ended.empty() && random.chance(0.6)) {
          const std::vector<Token>& other = ended[static_cast<size_t>(random.below(ended.size()))];
          const size_t count = std::min(other.size(), static_cast<size_t>(prompt));
          row.tokens.assign(other.begin(), other.begin() + static_cast<ptrdiff_t>(count));
        }
        const auto group = static_cast<Token>(random.below(3));
        while (row.tokens.size() < static_cast<size_t>(prompt))
          row.tokens.push_back(random.chance(0.98) ? group : static_cast<Token>(random.below(3)));
        row.end = static_cast<size_t>(prompt) + static_cast<size_t>(answer);
        row.output_next = row.scores_from = outputs_from;
        if (random.chance(0.6)) {
          row.top = static_cast<int32_t>(random.below(3));
          if (random.chance(0.8)) row.output_next = row.scores_from = 0;
        }
        scheduler.add({.id = RowId(next_row++),
                       .tokens = &row.tokens,
                       .prompt_tokens = prompt,
                       .output_tokens_max = answer,
                       .outputs_from = row.output_next,
                       .scores_top = row.top,
                       .keep = random.chance(0.3),
                       .priority = of_one_priority ? llm::Priority::kNormal
                                                   : static_cast<llm::Priority>(random.below(3))});
      }
      change_holds();
      const auto budget = static_cast<int32_t>(random.between(1, 80));
      BackgroundTokens background;
      if (random.chance(0.5)) {
        background = {.beside_clients_max = static_cast<int32_t>(random.between(0, 20)),
                      .between_clients_max = static_cast<int32_t>(random.between(1, 20))};
      }
      const ScheduledStep step = scheduler.next(budget, 0, background);
      if (!has_failed) {
        ASSERT_LE(step.background_tokens, step.clients_wait ? background.beside_clients_max
                                                            : background.between_clients_max);
      }
      for (const MemoryChange& change : step.changes)
        memory.change(change);
      for (const TakenScores& taken : step.scores) {
        Truth& row = rows.at(taken.row.value());
        ASSERT_TRUE(row.top.has_value());
        for (const KeptScore& score : taken.scores) {
          const auto next = static_cast<size_t>(row.output_next++) + 1;
          ASSERT_LT(next, row.tokens.size()) << "the last token is computed";
          ASSERT_GE(score.top_asked, *row.top);
          ASSERT_EQ(score, true_score(std::span(row.tokens).first(next), row.tokens[next],
                                      score.top_asked));
          ++scores_taken;
        }
      }
      const bool held = std::ranges::any_of(rows, [](auto& one) { return one.second.held; });
      ASSERT_FALSE(step.slices.empty() && !rows.empty() && !held) << "rows are there, but no step";
      ASSERT_EQ(memory.cells(), scheduler.counts().cells_used);
      ASSERT_LE(scheduler.counts().cells_held, scheduler.counts().cells_cached);
      cells_held += scheduler.counts().cells_held;
      std::vector<uint64_t> named;
      for (const auto& [id, row] : rows) {
        const bool runs = std::ranges::any_of(
            step.slices, [&](const Slice& part) { return part.row.value() == id; });
        if (row.held && !runs && (step.slices.empty() || random.chance(0.3))) named.push_back(id);
      }
      // While a step runs, rows that are not in it may hear of their next token.
      for (const uint64_t id : named)
        name_tokens(id);
      if (step.slices.empty()) continue;
      int32_t tokens = 0;
      int32_t outputs = 0;
      std::set<int32_t> sequences_seen;
      for (const Slice& part : step.slices) {
        const Truth& row = rows.at(part.row.value());
        ASSERT_GT(part.tokens_count, 0);
        ASSERT_LE(static_cast<size_t>(part.first + part.tokens_count), row.tokens.size());
        ASSERT_EQ(memory.tokens(part.sequence),
                  std::vector(row.tokens.begin(), row.tokens.begin() + part.first));
        // Every output once and in order: the slice brings those that are next, and no others.
        ASSERT_LE(part.first, row.output_next);
        ASSERT_EQ(part.outputs_count,
                  std::max(0, part.first + part.tokens_count - row.output_next));
        ASSERT_GE(part.sequence.value(), 0);
        ASSERT_LT(part.sequence.value(), limits.sequences_max);
        ASSERT_TRUE(sequences_seen.insert(part.sequence.value()).second);
        tokens += part.tokens_count;
        outputs += part.outputs_count;
      }
      const bool alike = std::ranges::all_of(step.slices, [&](const Slice& part) {
        return part.tokens_count == step.slices.front().tokens_count;
      });
      ASSERT_TRUE(limits.mixes || alike);
      ASSERT_LE(step.slices.size(), static_cast<size_t>(limits.rows_max));
      ASSERT_LE(outputs, limits.step_outputs_max);
      ASSERT_LE(tokens, limits.step_tokens_max);
      ASSERT_LE(memory.cells() + tokens, limits.cells_max);
      const double fate = random.unit();
      if (fate < 0.05) {
        has_failed = true;
        const bool alone = scheduler.step_failed(step);
        ASSERT_EQ(alone, step.slices.size() == 1);
        for (const Slice& part : step.slices)
          memory.compute(part.sequence, std::vector<Token>{-7});
        if (alone) remove(step.slices.front().row);
        continue;
      }
      if (fate < 0.08 && scheduler.counts().rows_running > 1) {
        ASSERT_TRUE(scheduler.step_had_no_space(step));
        continue;
      }
      scheduler.step_ran(step);
      for (const Slice& part : step.slices) {
        Truth& row = rows.at(part.row.value());
        memory.compute(part.sequence, std::span(row.tokens)
                                          .subspan(static_cast<size_t>(part.first),
                                                   static_cast<size_t>(part.tokens_count)));
        row.output_next += part.outputs_count;
        for (Position at = part.first; row.top && at < part.first + part.tokens_count; ++at) {
          // Nothing breaks where one is forgotten.
          if (at < row.scores_from || random.chance(0.001)) continue;
          const auto next = static_cast<size_t>(at) + 1;
          const Token behind =
              next < row.tokens.size() ? row.tokens[next] : static_cast<Token>(random.below(3));
          scheduler.keep_score(part.row, at,
                               true_score(std::span(row.tokens).first(next), behind, *row.top));
        }
        if (part.first + part.tokens_count < std::ssize(row.tokens)) continue;
        ASSERT_EQ(row.output_next, static_cast<int32_t>(row.tokens.size()));
        // One that was computed again while it waits has nothing new to say.
        if (row.held) continue;
        if (random.chance(0.3)) {
          row.held = true;
        } else {
          name_tokens(part.row.value());
        }
      }
      if (!rows.empty() && random.chance(0.02)) {  // a row is cancelled
        remove(RowId(rows.begin()->first));
      }
      if (!rows.empty()) {
        ASSERT_GE(rows.begin()->first, oldest_seen);
        oldest_seen = rows.begin()->first;
      }
    }
    // Some are still held: that keeps nothing from being evicted.
    while (holds.size() > 2) {
      scheduler.release_hold(*holds.begin());
      holds.erase(holds.begin());
    }
    scheduler.evict_cached();
    for (const MemoryChange& change : scheduler.next(1).changes)
      memory.change(change);
    EXPECT_EQ(memory.cells(), 0);
    EXPECT_EQ(scheduler.counts().cells_used, 0);
    EXPECT_EQ(scheduler.counts().rows_running + scheduler.counts().rows_waiting, 0);
  }
  EXPECT_GT(scores_taken, windrow::testing::rounds(100, 1000))
      << "too few scores were taken over to test anything";
  EXPECT_GT(cells_held, windrow::testing::rounds(100, 1000))
      << "too little was held to test anything";
}

}  // namespace
}  // namespace windrow::engine
