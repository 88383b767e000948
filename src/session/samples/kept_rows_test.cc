// Cases in which a server that drops the rows of all but the last turns has none for its sample:
// here the rows are always there, and those that keeping every reply would give.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "llm/testing/chatml_tokenizer.h"
#include "session/history/history.h"
#include "session/samples/sample.h"
#include "session/testing/naive_session.h"

namespace windrow::session {
namespace {

using testing::NaiveRows;
using testing::NaiveSample;
using testing::NaiveTurn;
using Texts = std::vector<std::string>;

constexpr size_t kExperts = static_cast<size_t>(RowKind::kRoutedExperts);
constexpr size_t kRowWidth = 8;  // 2 layers, top 4

// A session, and beside it the model that keeps every reply whole.
class TwoSessions {
 public:
  explicit TwoSessions(HistoryOptions options) : history_(options), naive_(options) {}

  // Takes a turn with a prompt of 3 new tokens and an answer of 2.
  void answer(const Texts& request, const std::string& answer,
              const std::string& finish_reason = "stop") {
    std::vector<MessageKey> keys;
    for (const std::string& message : request)
      keys.push_back(hash128(message));
    const auto found = history_.attach(keys);
    ASSERT_TRUE(std::holds_alternative<Attachment>(found)) << std::get<llm::Failure>(found).message;
    const auto& attachment = std::get<Attachment>(found);
    const TurnPath before = history_.path(attachment.parent);
    auto turn = std::make_shared<Turn>();
    turn->kept_tokens = before.tokens();
    for (size_t i = 0; i < 3; ++i)
      turn->prompt.push_back(next_token_++);
    for (size_t i = 0; i < 2; ++i)
      turn->sampled.push_back(next_token_++);
    turn->logprobs = {-0.5, -0.25};
    turn->finish_reason = finish_reason;

    NaiveTurn naive{.messages = request,
                    .tokens = before.all_tokens(),
                    .sampled_begin = before.tokens() + 3,
                    .logprobs = turn->logprobs,
                    .rows = {},
                    .finish_reason = finish_reason,
                    .figures = {},
                    .first_rows = {}};
    naive.messages.push_back(answer);
    naive.tokens.insert(naive.tokens.end(), turn->prompt.begin(), turn->prompt.end());
    naive.tokens.insert(naive.tokens.end(), turn->sampled.begin(), turn->sampled.end());
    naive.rows[kExperts] = rows_of(naive.tokens);
    auto rows = std::make_shared<TokenRows>();
    rows->first_row = before.rows_covered(RowKind::kRoutedExperts);
    rows->values_per_row = kRowWidth;
    for (size_t row = rows->first_row; row < naive.rows[kExperts]->size(); ++row)
      rows->values.append(naive.rows[kExperts]->at(row));
    turn->rows[kExperts] = std::move(rows);

    for (size_t i = attachment.parent_messages; i < request.size(); ++i)
      turn->appended.push_back({.key = keys[i], .text = request[i]});
    turn->answer = {.key = hash128(answer), .text = answer};
    ASSERT_TRUE(history_.commit(attachment, turn));
    ASSERT_TRUE(naive_.commit(naive_.attach(request), std::move(naive)));
  }

  // u1 -> a1, t1 -> a2, and so on; turn `cut` reached its limit of tokens.
  void answer_turns(size_t turns, size_t cut = 0) {
    Texts request = {"u1"};
    for (size_t i = 1; i <= turns; ++i) {
      answer(request, fmt::format("a{}", i), i == cut ? "length" : "stop");
      request.push_back(fmt::format("a{}", i));
      request.push_back(fmt::format("t{}", i));
    }
  }

  // The samples of all conversations, after comparing their rows with those of the naive ones.
  std::vector<Sample> samples(const SampleRules& rules = {}) const {
    std::vector<TurnPath> paths;
    for (const TurnId leaf : history_.leaves())
      paths.push_back(history_.path(leaf));
    const auto assembled = assemble(paths, rules, llm::testing::ChatmlTokenizer());
    if (!std::holds_alternative<Samples>(assembled)) {
      ADD_FAILURE() << std::get<llm::Failure>(assembled).message;
      return {};
    }
    const std::vector<Sample>& samples = std::get<Samples>(assembled).samples;
    const std::vector<NaiveSample> expected = naive_.samples(naive_.leaves(), rules);
    EXPECT_EQ(samples.size(), expected.size());
    for (size_t i = 0; i < std::min(samples.size(), expected.size()); ++i)
      expect_rows(samples[i], expected[i]);
    return samples;
  }

  const History& history() const { return history_; }

 private:
  // A token's row follows from the tokens up to it.
  static NaiveRows rows_of(const std::vector<int32_t>& tokens) {
    NaiveRows rows;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      std::vector<int32_t>& row = rows.emplace_back(kRowWidth);
      std::iota(row.begin(), row.end(),
                std::accumulate(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(i) + 1, 0) %
                    1000);
    }
    return rows;
  }

  static void expect_rows(const Sample& sample, const NaiveSample& expected) {
    EXPECT_EQ(sample.tokens, expected.tokens.size());
    ASSERT_TRUE(sample.has_rows[kExperts]);
    ASSERT_EQ(sample.rows(), expected.tokens.size() - 1);
    std::vector<int32_t> values(sample.rows() * kRowWidth);
    sample.path.read_rows(RowKind::kRoutedExperts, 0, sample.rows(), values);
    std::vector<int32_t> kept;
    ASSERT_TRUE(expected.rows[kExperts]);
    for (const std::vector<int32_t>& row : *expected.rows[kExperts])
      kept.insert(kept.end(), row.begin(), row.end());
    EXPECT_EQ(values, kept);
  }

  History history_;
  testing::NaiveSession naive_;
  int32_t next_token_ = 1;
};

TEST(KeptRows, OfASampleThatIsCutToAnEarlierTurn) {
  TwoSessions session({});
  session.answer_turns(6);
  EXPECT_EQ(session.samples()[0].tokens, 30U);
  for (size_t tokens_max = 4; tokens_max < 30; ++tokens_max) {
    const std::vector<Sample> samples = session.samples({.tokens_max = tokens_max});
    ASSERT_EQ(samples.size(), 1U) << tokens_max;
    EXPECT_LE(samples[0].tokens, tokens_max);
  }
}

TEST(KeptRows, OfASampleThatEndsWithATurnThatWasCut) {
  TwoSessions session({});
  session.answer_turns(6, 3);
  const std::vector<Sample> samples = session.samples();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].tokens, 15U);
  EXPECT_EQ(samples[0].status, SampleStatus::kTruncated);
}

TEST(KeptRows, AfterTwoRollbacksInARow) {
  TwoSessions session({.kind = HistoryKind::kLinear, .rollback_turns = 2});
  session.answer_turns(6);
  session.answer({"u1", "a1", "t1", "a2", "t2", "a3", "t3", "a4", "other"}, "b5");
  EXPECT_EQ(session.samples()[0].tokens, 25U);
  session.answer({"u1", "a1", "t1", "a2", "t2", "a3", "other"}, "b4");
  EXPECT_EQ(session.samples()[0].tokens, 20U);
  session.answer({"u1", "a1", "t1", "a2", "t2", "another"}, "b3");
  EXPECT_EQ(session.samples()[0].tokens, 15U);
  EXPECT_EQ(session.history().rollbacks(), 3);
}

TEST(KeptRows, AfterRetriesThatFailed) {
  TwoSessions session({});
  session.answer_turns(6);
  const Texts retry = {"u1", "a1", "t1", "a2", "t2", "a3", "t3", "a4", "t4", "a5", "other"};
  std::vector<MessageKey> keys;
  for (const std::string& message : retry)
    keys.push_back(hash128(message));
  for (int i = 0; i < 3; ++i) {  // the model did not answer, so nothing is committed
    ASSERT_TRUE(std::holds_alternative<Attachment>(session.history().attach(keys)));
    EXPECT_EQ(session.samples()[0].tokens, 30U);
  }
}

TEST(KeptRows, OfEveryBranchOfATree) {
  TwoSessions session({.kind = HistoryKind::kTree});
  session.answer_turns(6);
  session.answer({"u1", "a1", "other"}, "b2");
  session.answer({"u1", "a1", "t1", "a2", "t2", "a3", "other"}, "b4");
  session.answer({"u1", "a1", "t1", "a2", "t2", "a3", "other", "b4", "u"}, "b5");
  session.answer({"u1", "a1", "t1", "a2", "t2", "a3", "t3", "a4", "t4"}, "b5", "length");
  session.answer({"another"}, "c1");
  EXPECT_EQ(session.samples().size(), 5U);
  EXPECT_EQ(session.samples({.tokens_max = 12}).size(), 5U);
  EXPECT_EQ(session.samples({.tokens_max = std::nullopt, .turns_apart = true}).size(), 11U);
}

}  // namespace
}  // namespace windrow::session
