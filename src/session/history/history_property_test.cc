// Random histories, each taken by History and by a plain model of it that keeps everything.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "llm/testing/chatml_tokenizer.h"
#include "session/history/history.h"
#include "session/samples/sample.h"
#include "session/testing/naive_session.h"

namespace windrow::session {
namespace {

using llm::testing::ChatmlTokenizer;
using testing::NaiveAttachment;
using testing::NaiveRows;
using testing::NaiveSample;
using testing::NaiveSession;
using testing::NaiveTurn;

constexpr int32_t kEndToken = 99;
constexpr size_t kRowWidths[kRowKinds] = {6, 3};

struct WalkOptions {
  HistoryOptions history;
  bool rows_vary = false;    // a token that is computed again gets other rows
  double row_chance = 1;     // that a reply has rows of a kind
  double drop_chance = 0.3;  // that an end token is dropped when the turn is gone on from
};

std::string message_of(std::string_view role, uint64_t number) {
  return fmt::format(R"({{"role":"{}","content":"{}"}})", role, number);
}

MessageKey key_of_text(const std::string& text) {
  return hash128(text);
}

// A turn that was prepared and not committed yet.
struct Prepared {
  Attachment attachment;
  NaiveAttachment naive_attachment;
  std::shared_ptr<Turn> turn;
  NaiveTurn naive;
};

class Walk {
 public:
  Walk(WalkOptions options, uint64_t seed)
      : options_(options),
        random_(seed),
        history_(options.history),
        naive_(options.history),
        members_(std::make_shared<const std::string>(R"({"model":"m","temperature":1})")) {}

  void step() {
    if (!waiting_.empty() && random_.chance(0.3)) {
      const size_t which = random_.below(waiting_.size());
      Prepared prepared = std::move(waiting_[which]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(which));
      commit(std::move(prepared));
    } else if (std::optional<Prepared> prepared = prepare(request())) {
      if (random_.chance(0.1)) {
        ++failed_;  // the model's server did not answer
      } else if (waiting_.size() < 3 && random_.chance(0.25)) {
        waiting_.push_back(*std::move(prepared));
      } else {
        commit(*std::move(prepared));
      }
    }
    check(++steps_ % 5 == 0);
    check_samples();
    if (random_.chance(0.1)) held_.push_back({history_.latest(), history_.latest().all_tokens()});
  }

  void check_held() const {
    for (const auto& [path, tokens] : held_)
      ASSERT_EQ(path.all_tokens(), tokens);
  }

  const History& history() const { return history_; }
  const NaiveSession& naive() const { return naive_; }
  size_t refused() const { return refused_; }
  size_t stale() const { return stale_; }
  size_t failed() const { return failed_; }
  size_t samples() const { return samples_; }

 private:
  using Messages = std::vector<std::string>;

  // The conversation of a turn, perhaps of one that is gone.
  Messages known_conversation() {
    if (conversations_.empty()) return {};
    if (options_.history.kind == HistoryKind::kLinear && !naive_.turns().empty() &&
        random_.chance(0.8))
      return naive_.turns().rbegin()->second.messages;
    const size_t latest = random_.below(std::min<size_t>(conversations_.size(), 6));
    return conversations_[conversations_.size() - 1 - latest];
  }

  Messages request() {
    Messages request = known_conversation();
    switch (random_.below(10)) {
      case 0:  // a retry: the answer is left out
        if (!request.empty()) request.pop_back();
        break;
      case 1:  // any beginning
        request.resize(random_.below(request.size() + 1));
        break;
      case 2:  // one message is another one
        if (!request.empty()) request[random_.below(request.size())] = fresh_message();
        break;
      case 3:  // the whole conversation again
        return request;
      case 4:  // the first request again, or another one
        if (first_request_.empty() || random_.chance(0.3))
          request.clear();
        else
          return first_request_;
        break;
      default:
        break;
    }
    for (size_t count = random_.below(4); count > 0 || request.empty(); count -= count > 0 ? 1 : 0)
      request.push_back(fresh_message());
    if (first_request_.empty()) first_request_ = request;
    return request;
  }

  // Few different ones, so that branches and retries meet again.
  std::string fresh_message() {
    const std::string_view roles[] = {"user", "tool", "system", "assistant"};
    return message_of(roles[random_.below(4)], random_.below(12));
  }

  std::optional<Prepared> prepare(const Messages& request) {
    std::vector<MessageKey> keys;
    for (const std::string& message : request)
      keys.push_back(key_of_text(message));
    const auto found = history_.attach(keys);
    const NaiveAttachment expected = naive_.attach(request);
    if (const auto* failure = std::get_if<llm::Failure>(&found)) {
      EXPECT_EQ(failure->status, expected.refused) << failure->message;
      ++refused_;
      return std::nullopt;
    }
    const auto& attachment = std::get<Attachment>(found);
    EXPECT_EQ(expected.refused, 0);
    EXPECT_EQ(attachment.parent.value(), expected.parent);
    EXPECT_EQ(attachment.parent_messages, expected.parent_messages);
    EXPECT_EQ(attachment.left_out, expected.left_out);
    return answered(request, attachment, expected);
  }

  // As a model would: new tokens of the prompt, some that are sampled, and rows of all of them.
  Prepared answered(const Messages& request, const Attachment& attachment,
                    const NaiveAttachment& expected) {
    Prepared result{.attachment = attachment,
                    .naive_attachment = expected,
                    .turn = std::make_shared<Turn>(),
                    .naive = {}};
    Turn& turn = *result.turn;
    NaiveTurn& naive = result.naive;
    const TurnPath before = history_.path(attachment.parent);
    naive.tokens = before.all_tokens();
    if (!naive.tokens.empty() && naive.tokens.back() == kEndToken &&
        random_.chance(options_.drop_chance)) {
      naive.tokens.pop_back();
      if (random_.chance(0.2)) turn.prompt.push_back(kEndToken);  // the template writes it again
    }
    turn.kept_tokens = naive.tokens.size();
    for (size_t count = 1 + random_.below(5); count > 0; --count)
      turn.prompt.push_back(static_cast<int32_t>(random_.below(90)));
    naive.tokens.insert(naive.tokens.end(), turn.prompt.begin(), turn.prompt.end());
    naive.sampled_begin = naive.tokens.size();
    sample(turn);
    naive.tokens.insert(naive.tokens.end(), turn.sampled.begin(), turn.sampled.end());
    naive.logprobs = turn.logprobs;
    naive.finish_reason = turn.finish_reason;
    naive.figures = turn.figures = {
        .prompt_tokens = static_cast<int64_t>(naive.sampled_begin),
        .cached_tokens = static_cast<int64_t>(random_.below(naive.sampled_begin + 1)),
        .weight_version = random_.chance(0.8) ? fmt::format("w{}", random_.below(3)) : ""};
    for (size_t kind = 0; kind < kRowKinds; ++kind)
      if (random_.chance(options_.row_chance)) take_rows(kind, before, turn, naive);

    naive.messages = request;
    naive.messages.push_back(message_of("assistant", random_.below(6)));
    for (size_t i = attachment.parent_messages; i < request.size(); ++i)
      turn.appended.push_back({.key = key_of_text(request[i]), .text = request[i]});
    turn.answer = {.key = key_of_text(naive.messages.back()), .text = naive.messages.back()};
    turn.request_members =
        random_.chance(0.7) ? members_ : std::make_shared<const std::string>(*members_);
    turn.reply_members = random_.chance(0.5) ? nullptr : members_;
    turn.chat_members = random_.chance(0.5) ? nullptr : members_;
    return result;
  }

  void sample(Turn& turn) {
    const std::string_view reasons[] = {"stop", "stop", "stop", "tool_calls", "length", "abort"};
    turn.finish_reason = reasons[random_.below(6)];
    for (size_t count = random_.below(6); count > 0; --count)
      turn.sampled.push_back(static_cast<int32_t>(random_.below(90)));
    if (turn.finish_reason == "stop" || turn.finish_reason == "tool_calls" || turn.sampled.empty())
      turn.sampled.push_back(turn.is_cut() ? 1 : kEndToken);
    for (size_t i = 0; i < turn.sampled.size(); ++i)
      turn.logprobs.push_back(-random_.unit());
  }

  // The reply has all rows, and the turn takes those that its conversation lacks.
  void take_rows(size_t kind, const TurnPath& before, Turn& turn, NaiveTurn& naive) {
    const size_t width = kRowWidths[kind];
    const uint64_t variant = options_.rows_vary ? random_.next() : 0;
    NaiveRows all;
    uint64_t so_far = kind + variant;
    for (size_t i = 0; i + 1 < naive.tokens.size(); ++i) {
      so_far = Random(so_far ^ static_cast<uint64_t>(naive.tokens[i])).next();
      Random ids(so_far);
      std::vector<int32_t>& row = all.emplace_back();
      // Some do not fit a byte.
      for (size_t k = 0; k < width; ++k)
        row.push_back(static_cast<int32_t>(ids.below(ids.chance(0.01) ? 100'000 : 200)));
    }
    auto rows = std::make_shared<TokenRows>();
    rows->first_row = before.rows_covered(static_cast<RowKind>(kind));
    rows->values_per_row = width;
    for (size_t i = rows->first_row; i < all.size(); ++i)
      rows->values.append(all[i]);
    turn.rows[kind] = std::move(rows);
    naive.rows[kind] = std::move(all);
  }

  void commit(Prepared prepared) {
    const Messages messages = prepared.naive.messages;
    const uint64_t epoch = history_.epoch();
    const bool committed = history_.commit(prepared.attachment, prepared.turn);
    ASSERT_EQ(committed, naive_.commit(prepared.naive_attachment, std::move(prepared.naive)));
    ASSERT_EQ(history_.epoch(), epoch + (committed ? 1 : 0));
    if (committed) {
      conversations_.push_back(messages);
    } else {
      ++stale_;
    }
  }

  void check(bool all_paths) const {
    ASSERT_EQ(history_.size(), naive_.turns().size());
    ASSERT_EQ(history_.rollbacks(), naive_.rollbacks());
    std::vector<uint64_t> leaves;
    for (const TurnId leaf : history_.leaves())
      leaves.push_back(leaf.value());
    ASSERT_EQ(leaves, naive_.leaves());
    check_bytes();
    const std::vector<TurnPtr> turns = history_.turns();
    size_t index = 0;
    for (const auto& [id, naive] : naive_.turns()) {
      ASSERT_EQ(turns[index]->id.value(), id);
      ASSERT_EQ(turns[index++]->parent.value(), naive.parent);
      if (all_paths || index == turns.size()) check_path(history_.path(TurnId(id)), naive);
    }
    if (!turns.empty()) {
      ASSERT_EQ(history_.latest().last().id, turns.back()->id);
    }
  }

  void check_path(const TurnPath& path, const NaiveTurn& naive) const {
    ASSERT_EQ(path.last().id.value(), naive.id);
    ASSERT_EQ(path.messages(), naive.messages.size());
    std::vector<std::string> messages;
    for (const TurnPtr& turn : path.turns()) {
      for (const StoredMessage& message : turn->appended)
        messages.push_back(message.text);
      messages.push_back(turn->answer.text);
    }
    ASSERT_EQ(messages, naive.messages);
    ASSERT_EQ(path.all_tokens(), naive.tokens);
    ASSERT_EQ(path.tokens_before(path.turns().size() - 1), naive.sampled_begin);
    for (size_t kind = 0; kind < kRowKinds; ++kind) {
      const NaiveRows& expected = naive.first_rows[kind];
      if (!options_.rows_vary && naive.rows[kind]) {
        ASSERT_EQ(*naive.rows[kind], expected);
      }
      const auto row_kind = static_cast<RowKind>(kind);
      ASSERT_EQ(path.rows_covered(row_kind), expected.size());
      if (expected.empty()) continue;
      ASSERT_EQ(path.values_per_row(row_kind), kRowWidths[kind]);
      check_rows(path, row_kind, expected);
    }
  }

  static void check_rows(const TurnPath& path, RowKind kind, const NaiveRows& expected) {
    std::vector<int32_t> flat;
    for (const std::vector<int32_t>& row : expected)
      flat.insert(flat.end(), row.begin(), row.end());
    std::vector<int32_t> values(flat.size());
    path.read_rows(kind, 0, expected.size(), values);
    ASSERT_EQ(values, flat);
  }

  // Of the conversation, or of some conversations of a tree in any order; whole, cut, or by turn.
  void check_samples() {
    std::vector<uint64_t> leaves = naive_.leaves();
    for (size_t i = leaves.size(); i > 1; --i)
      std::swap(leaves[i - 1], leaves[random_.below(i)]);
    if (!leaves.empty()) leaves.resize(1 + random_.below(leaves.size()));
    std::vector<TurnPath> paths;
    for (const uint64_t leaf : leaves)
      paths.push_back(history_.path(TurnId(leaf)));
    SampleRules rules{.tokens_max = std::nullopt, .turns_apart = random_.chance(0.3)};
    if (!paths.empty() && random_.chance(0.5))
      rules.tokens_max = random_.below(paths.front().tokens() + 3);
    const auto assembled = assemble(paths, rules, ChatmlTokenizer());
    ASSERT_TRUE(std::holds_alternative<Samples>(assembled))
        << std::get<llm::Failure>(assembled).message;
    const Samples& samples = std::get<Samples>(assembled);
    const std::vector<NaiveSample> expected = naive_.samples(leaves, rules);
    ASSERT_EQ(samples.samples.size(), expected.size());
    ASSERT_EQ(samples.empty.has_value(), expected.empty());
    for (size_t i = 0; i < expected.size(); ++i)
      check_sample(samples.samples[i], expected[i]);
    samples_ += expected.size();
  }

  static void check_sample(const Sample& sample, const NaiveSample& expected) {
    ASSERT_EQ(sample.last().id.value(), expected.last_turn);
    std::vector<int32_t> tokens;
    sample.path.append_tokens(0, sample.tokens, tokens);
    ASSERT_EQ(tokens, expected.tokens);
    std::string mask;
    std::vector<double> logprobs;
    sample.append_mask(0, sample.response_length(), mask);
    sample.append_logprobs(0, sample.response_length(), logprobs);
    ASSERT_EQ(mask, expected.mask);
    ASSERT_EQ(logprobs, expected.logprobs);
    // All tokens here are characters of ASCII.
    ASSERT_EQ(sample.response,
              std::string(tokens.end() - static_cast<std::ptrdiff_t>(mask.size()), tokens.end()));
    for (size_t kind = 0; kind < kRowKinds; ++kind) {
      ASSERT_EQ(sample.has_rows[kind], expected.rows[kind].has_value());
      if (!sample.has_rows[kind]) continue;
      ASSERT_EQ(sample.rows(), expected.rows[kind]->size());
      check_rows(sample.path, static_cast<RowKind>(kind), *expected.rows[kind]);
    }
    ASSERT_EQ(sample.status, expected.status);
    ASSERT_EQ(sample.weight_versions, expected.weight_versions);
    ASSERT_EQ(sample.cached_tokens, expected.cached_tokens);
    ASSERT_EQ(sample.prompt_tokens, expected.prompt_tokens);
  }

  void check_bytes() const {
    size_t bytes = 0;
    std::set<const std::string*> counted;
    for (const TurnPtr& turn : history_.turns()) {
      bytes += bytes_of(*turn);
      for (const auto& members : shared_members(*turn))
        if (members && !counted.insert(members.get()).second) bytes -= bytes_of_members(*members);
    }
    ASSERT_EQ(history_.bytes(), bytes);
  }

  const WalkOptions options_;
  Random random_;
  History history_;
  NaiveSession naive_;
  const std::shared_ptr<const std::string> members_;
  std::vector<Messages> conversations_;  // of all turns that were ever committed
  Messages first_request_;
  std::vector<Prepared> waiting_;
  std::vector<std::pair<TurnPath, std::vector<int32_t>>> held_;
  size_t steps_ = 0;
  size_t refused_ = 0;
  size_t stale_ = 0;
  size_t failed_ = 0;
  size_t samples_ = 0;
};

void walk_many(const WalkOptions& options, uint64_t first_seed) {
  size_t refused = 0;
  size_t stale = 0;
  size_t failed = 0;
  size_t samples = 0;
  int64_t rollbacks = 0;
  size_t branches = 0;
  for (uint64_t seed = first_seed; seed < first_seed + 25; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(options, seed);
    for (size_t i = 0; i < 45; ++i) {
      walk.step();
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
    walk.check_held();
    refused += walk.refused();
    stale += walk.stale();
    failed += walk.failed();
    samples += walk.samples();
    rollbacks += walk.history().rollbacks();
    branches += walk.history().leaves().size() - 1;
  }
  EXPECT_GT(refused, 20U);
  EXPECT_GT(failed, 20U);
  EXPECT_GT(samples, 900U);
  if (options.history.kind == HistoryKind::kLinear) {
    EXPECT_GT(rollbacks, 20);
    EXPECT_GT(stale, 20U);
    EXPECT_EQ(branches, 0U);
  } else {
    EXPECT_EQ(rollbacks, 0);
    EXPECT_EQ(stale, 0U);
    EXPECT_GT(branches, 50U);
  }
}

TEST(HistoryProperty, ALineIsAsTheModelThatKeepsEverything) {
  walk_many({.history = {.kind = HistoryKind::kLinear}}, 1000);
}

TEST(HistoryProperty, ALineWithDeepRollbacksIsAsTheModelThatKeepsEverything) {
  walk_many({.history = {.kind = HistoryKind::kLinear, .turns_max = 6, .rollback_turns = 3}}, 2000);
}

TEST(HistoryProperty, ATreeIsAsTheModelThatKeepsEverything) {
  walk_many({.history = {.kind = HistoryKind::kTree}}, 3000);
}

TEST(HistoryProperty, ASmallTreeIsAsTheModelThatKeepsEverything) {
  walk_many({.history = {.kind = HistoryKind::kTree, .turns_max = 12}}, 4000);
}

TEST(HistoryProperty, RowsOfTokensThatWereComputedBeforeAreKept) {
  walk_many({.history = {.kind = HistoryKind::kLinear}, .rows_vary = true}, 5000);
  walk_many({.history = {.kind = HistoryKind::kTree}, .rows_vary = true}, 6000);
}

TEST(HistoryProperty, RowsThatAReplyLacksAreTakenFromALaterOne) {
  walk_many({.history = {.kind = HistoryKind::kLinear}, .row_chance = 0.6}, 7000);
  walk_many({.history = {.kind = HistoryKind::kTree}, .row_chance = 0.6}, 8000);
}

}  // namespace
}  // namespace windrow::session
