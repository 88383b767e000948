// BatchScheduler: which rows get which tokens in the next step, and what they need not compute.
// Pure: tokens go in and counts come out.
//
// Rows wait, the more urgent first and else in order of arrival, get a sequence when the memory has
// room for them, take over what of their beginning is computed already, are prefilled in chunks,
// then decode one token a step beside each other until they are removed.
//
// Invariants:
//  * A step keeps to the limits: tokens, outputs, sequences, and cells after it has run.
//  * Positions of a row are computed once each and in order, from what it shares; after a
//    preemption again.
//  * The logits that a row wants are handed out once each and in order, preempted or not; of a row
//    that scores its prompt the scores that are kept in their place.
//  * A sequence belongs to one row or one prefix at rest; between two owners it is emptied.
//  * Decoding rows come first in a step; prefill fills what is left of its tokens and outputs.
//    Where the model's cache does not mix the two, a step is one row's prefill, or decodes them
//    all; prefills give way after a step's worth of tokens.
//  * Of prompts that are prefilled beside each other the more urgent have what they want first, of
//    these the shortest; the oldest of them has at least half of the step, and of the less urgent
//    the first an eighth: none waits for ever, and none for all of a longer one.
//  * A decoding row may have several known tokens to compute (a run that was forced): they go
//    together, as far as every other decoding row has room for one. Where the cache does not mix,
//    they go one by one beside the others', or in a step of their own if that is less work.
//  * Rows of kBatch bring no more tokens to a step than they may, those of the oldest first; they
//    sit it out only when others have something to compute.
//  * A row with nothing to compute waits for its next token to be named; it never loses its place
//    while others can give way, and the steps of the others go on.
//  * No row overtakes another as urgent on its way in; a more urgent one does, within the bound
//    below, so none waits for ever. Of the most urgent rows the oldest is never preempted, so there
//    is always progress.
//
// Priority. Who waits for one word should not wait for the answers of a night's work. More urgent
// rows go in first; places and cells may be kept for them (`reserve`); where there is no room all
// the same, the youngest rows of kBatch give way to those of another priority, and are computed
// again later. Nobody pays for that without end: of each priority the first row that waits counts
// who goes before it although it would have had room but for more urgent rows, and each row how
// often it gave way to them. After kPassesMax it ranks with the most urgent, where it is the
// oldest, and the others wait until it has room. (Bounds on starts, as those of a queue before this
// one, dispatch/request_queue.h.) As many places as clients had lately are left to them for a
// moment when they go: who chats comes back, and a row of kBatch that went in meanwhile would have
// to give way.
//
// Prefixes. A row that would begin with tokens that another is still computing waits for those
// (it has its place, but brings nothing to the steps): a prefix that many wait for is computed
// once. When a row is over, what a waiting row has in common with it stays at rest, and no more:
// cells that nobody needs make every step slower. What is wanted again for other reasons (`keep`)
// stays too, oldest first out, within a share of what the running rows need; while none runs it
// costs nothing and is all kept.
//
// A row that scores its prompt wants logits of all of it, so it takes over only tokens whose scores
// are kept beside their cells, and is handed these; it waits only for a row that computes the
// scores, too. Where the two part, the last token they have in common is computed again: its logits
// are wanted for another next token. Scores with fewer alternatives than it wants count as none. A
// row computes no more of them than it asks for, for the sake of later rows: the rows of one job
// ask for equally many.
//
// Memory is given out optimistically: a row is admitted when its prompt and the answer expected of
// it fit beside what is expected of the others (the mean length of the answers so far). When the
// estimate was wrong and cells run out, prefixes at rest go first; then the youngest row loses its
// place and is computed again later (preemption by recomputation: vLLM, SOSP 2023). None that is
// not more urgent is admitted then until a running row has ended: the place a preemption made is
// for those who stayed.
//
// A step costs by the highest cell in use. When rows are left in high cells after others have gone,
// the cells are moved together, if that is likely to pay before it is needed again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/schedule/prefix_tree.h"
#include "engine/schedule/waiting_prompts.h"
#include "llm/priority.h"
#include "queueing/reserve.h"

namespace windrow::engine {

struct PlanLimits {
  int32_t cells_max = 0;
  int32_t rows_max = 0;
  int32_t sequences_max = 0;     // at least rows_max; the others are for prefixes at rest
  int32_t step_tokens_max = 0;   // at least rows_max, so that every row can decode
  int32_t step_outputs_max = 0;  // the same
  Sharing sharing = Sharing::kNothing;
  int32_t compact_cells_max = 0;     // cells that may be moved together when they lie far apart
  bool mixes = true;                 // RunnerLimits::mixes
  queueing::ReserveOptions reserve;  // of rows and of cells
};

struct NewRow {
  RowId id;  // higher than those of all rows before

  // Stay where they are, and are only appended to, while the row is in the plan. A row that has its
  // next token named after it has brought its last one needs room in them for all it may become: it
  // may wait again by then.
  const std::vector<Token>* tokens = nullptr;

  int32_t prompt_tokens = 0;      // so many of them are known
  int32_t output_tokens_max = 0;  // it may grow by so many; together they must fit the cells

  // Logits are wanted of its tokens from here on: of the last one for an answer, of all to score a
  // prompt. What comes before may be shared.
  Position outputs_from = 0;

  // These logits become scores with so many alternatives, which are kept
  // (BatchScheduler::keep_score) and may be taken over.
  std::optional<int32_t> scores_top;

  bool keep = false;  // what it computed is likely to be asked for again
  llm::Priority priority = llm::Priority::kNormal;
};

struct Slice {
  RowId row;
  SequenceId sequence;
  Position first = 0;  // of a row's first slice: how many tokens it shares
  int32_t tokens_count = 0;
  int32_t outputs_count = 0;  // of its last so many tokens the logits are wanted
};

// A row began behind tokens whose logits it wants, and has their scores instead.
struct TakenScores {
  RowId row;
  std::vector<KeptScore> scores;  // in order, behind what it had
};

struct ScheduledStep {
  std::vector<MemoryChange> changes;  // to make, in this order, before the step runs
  std::vector<TakenScores> scores;    // to hand to rows, before the step runs
  std::vector<Slice> slices;          // empty: nothing to do
  int32_t background_tokens = 0;      // of these, of rows that rank as kBatch
  bool clients_wait = false;          // other rows have something to compute, in it or after it
};

// What rows that rank as kBatch may bring to a step: a short one is soon over for those who wait
// for its end, and for those who come while it runs.
struct BackgroundTokens {
  int32_t beside_clients_max = INT32_MAX;   // other rows have something to compute; 0: none
  int32_t between_clients_max = INT32_MAX;  // none has; more than 0
};

struct PlanCounts {
  int32_t rows_waiting = 0;
  int32_t rows_running = 0;
  int32_t cells_used = 0;
  int32_t cells_resting = 0;  // of these, such as no running row needs
  int32_t cells_end = 0;      // behind the highest of them: a step reads up to there
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;
};

// Used by one thread at a time.
class BatchScheduler {
 public:
  // Of kNormal, of kBatch: more urgent rows that go before one of theirs; giving way to one counts
  // as several.
  static constexpr std::array<int32_t, 2> kPassesMax = {8, 32};
  static constexpr int32_t kPassesOfPreemption = 8;

  explicit BatchScheduler(PlanLimits limits);

  void add(const NewRow& row);

  // What to compute next, with at most `prefill_tokens_max` tokens besides the decoding rows'; with
  // up to `lone_tokens_max`, if that is more, where only one row has anything to compute. Its
  // changes and scores are handed out once, whatever becomes of the step; the slices are the same
  // again until told how it went.
  ScheduledStep next(int32_t prefill_tokens_max, int32_t lone_tokens_max = 0,
                     const BackgroundTokens& background = {});

  // The step ran. Rows whose last known token it computed are then extended or removed.
  void step_ran(const ScheduledStep& step);

  // The score of what follows the row's token at `position`, which a step that ran has computed, of
  // a row with `scores_top`. Also where it is computed again and was handed out before.
  void keep_score(RowId row, Position position, KeptScore score);

  // The step did not fit the model's memory although it fitted the count: prefixes at rest give
  // way, or else the youngest row, of the others when the step was one row alone. False when there
  // is nothing else, and the row can never fit.
  bool step_had_no_space(const ScheduledStep& step);

  // The step failed and nobody knows which row is to blame: its rows start over, each alone in its
  // steps until it has got past this point. True when the step was one row alone: it is to blame.
  bool step_failed(const ScheduledStep& step);

  // The row has so many more known tokens, which are in its tokens. Logits are wanted of the last,
  // or of all from those that it has handed out.
  void extend(RowId row, int32_t tokens_count = 1, bool all_outputs = false);

  bool contains(RowId row) const { return rows_.contains(row); }

  // The row is over, in whatever state it is.
  void remove(RowId row);

  // Nothing stays at rest: every cell and sequence id is free but for those of the rows.
  void drop_resting();

  PlanCounts counts() const;

 private:
  struct Row {
    const std::vector<Token>* source = nullptr;
    int32_t tokens = 0;      // known: prompt and what was sampled
    int32_t tokens_max = 0;  // where it must end
    int32_t prompt_tokens = 0;
    Position outputs_from = 0;  // the first token whose logits were not handed out yet
    std::optional<int32_t> scores_top;
    bool keep = false;
    llm::Priority priority = llm::Priority::kNormal;
    llm::Priority rank = llm::Priority::kNormal;  // its priority, until enough have gone before it
    llm::Priority lent = llm::Priority::kBatch;  // the highest rank that waits for what it computes
    int32_t passes = 0;                          // more urgent rows that have gone before it
    int32_t computed = 0;                        // in the cells of its sequence
    int32_t computed_before = 0;                 // the most it ever had there
    int32_t sequence = -1;                       // -1: waiting
    bool begun = false;                          // it has what it shares, and computes the rest
    int32_t share_expected = 0;                  // while it has not begun
    int32_t copied_to = 0;  // up to here others can share, where they share only ends
    int32_t stop_at = 0;    // its chunk ends here, for others to share; 0: nowhere
  };

  // What of a row's beginning others have: computed, or about to.
  struct Beginning {
    PrefixTree::Match there;
    int32_t coming = 0;
    Row* coming_from = nullptr;

    bool worth_waiting() const;
  };

  // Who goes before whom: by rank, then by age.
  using Order = std::pair<llm::Priority, RowId>;
  static Order order_of(RowId id, const Row& row) { return {row.rank, id}; }

  // What is taken of cells and places.
  struct Load {
    std::array<int32_t, 3> rows = {};  // that run, by rank
    int64_t cells = 0;                 // used, and expected of those that run
  };

  Row& at(RowId row);
  static std::span<const Token> known(const Row& row);
  static std::span<const Token> shareable(const Row& row);
  static bool scores_more(const Row& row);
  void await_beginning(RowId id, const Row& row);
  void forget_beginning(RowId id, const Row& row);
  static int32_t pending(const Row& row) { return row.tokens - row.computed; }
  static bool decoding(const Row& row);
  int32_t expected_cells(const Row& row) const;
  int32_t cells_free() const { return limits_.cells_max - tree_.cells(); }

  void admit_waiting();
  void expect_clients();
  bool is_left_to_clients(const Row& row) const;
  bool has_place(const Row& row, const Load& load) const;
  bool has_room(const Row& row, const Load& load) const;
  bool others_may_give_way_to(const Row& row) const;
  Load load_from(llm::Priority rank) const;
  bool make_way_for(const Row& row);
  void count_passes(RowId gone);
  void let_pass(RowId row, int32_t count);
  int64_t growth(const Row& row) const;
  void start(RowId row);
  void begin_rows();
  void begin_row(RowId row);
  PrefixTree::Match match_of(const Row& row) const;
  static int32_t may_take_from(const Row& other, const Row& row);
  Beginning beginning_of(const Row& row);
  void stop_for_waiting(Row& row);
  void keep_stops();
  void stop(RowId row);
  void preempt(RowId row);
  void give_way(RowId row);
  std::optional<RowId> youngest_but(RowId row) const;
  void make_room_for_decoding();
  ScheduledStep alone_step(RowId row, int32_t prefill_tokens_max);

  // Prefixes at rest.
  void keep_what_is_wanted(Row& row);
  int32_t wanted_beginning(SequenceId sequence) const;
  int32_t wanted_size(SequenceId sequence) const;
  void drop_unwanted();
  bool drop_oldest_resting(bool spare_wanted = false);
  bool make_room(int32_t cells);
  void compact();
  bool make_room_for_sequence(bool spare_wanted);

  // So many of the row's next tokens bring no more outputs than that.
  static int32_t tokens_for_outputs(const Row& row, int32_t outputs_max);
  static int32_t outputs_of(const Row& row, int32_t tokens_count);
  void push_slice(ScheduledStep& step, RowId row, int32_t tokens_count);
  void push_decoding(ScheduledStep& step);
  void push_prefills(ScheduledStep& step, int32_t prefill_tokens_max);
  void push_one_prefill(ScheduledStep& step, std::span<const RowId> prefills, int32_t tokens);
  std::vector<int32_t> shares(std::span<const RowId> rows, int32_t tokens, int32_t outputs) const;
  int32_t prefill_wanted(const Row& row) const;
  size_t first_lower_priority(std::span<const RowId> rows) const;
  static llm::Priority hurry(const Row& row) { return std::min(row.rank, row.lent); }
  static bool in_background(const Row& row) { return hurry(row) == llm::Priority::kBatch; }
  bool takes_part(const Row& row) const {
    return row.begun && !(background_left_ <= 0 && in_background(row));
  }
  bool clients_compute() const;
  bool runs_alone(const Row& row) const;
  bool waits_for_a_token() const;
  bool one_row_has_it_all() const;

  PlanLimits limits_;
  queueing::Reserve reserve_;
  PrefixTree tree_;
  WaitingPrompts prompts_;         // of all rows that have not begun, what needs no scores
  WaitingPrompts scored_prompts_;  // of such as score, all that is known of them
  std::vector<TakenScores> taken_scores_;
  std::unordered_map<RowId, Row> rows_;
  std::set<Order> waiting_;
  std::set<RowId> suspects_;    // of making steps fail
  std::vector<RowId> running_;  // in Order
  std::vector<bool> keep_;      // by sequence at rest

  int32_t background_left_ = INT32_MAX;  // tokens of who ranks as kBatch, in the step that is made

  // Between a preemption and the next row that ends: what ranks so, or lower, is not admitted.
  std::optional<llm::Priority> closed_to_;
  double output_tokens_expected_;
  double clients_expected_ = 0;  // rows of other ranks than kBatch
  int32_t steps_since_compaction_ = 0;

  // Where the cache does not mix: in prefills since the others last decoded, and how many there
  // were.
  int32_t prefilled_tokens_ = 0;
  int64_t prefill_turns_ = 0;
  int64_t preemptions_ = 0;
  int64_t recomputed_tokens_ = 0;
};

}  // namespace windrow::engine
