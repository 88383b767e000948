#include "program/context/context_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/testing/chatml_tokenizer.h"
#include "program/limits.h"

namespace windrow::program {
namespace {

using llm::testing::ChatmlTokenizer;

// A backend that counts what is held of it.
struct Held {
  std::vector<std::vector<int32_t>> asked;
  int now = 0;
  int least_while_renewed = 1'000'000;
};

class CountedHold final : public llm::PrefixHold {
 public:
  explicit CountedHold(Held& held) : held_(held) { ++held_.now; }
  ~CountedHold() override { --held_.now; }

 private:
  Held& held_;
};

class ContextTableTest : public ::testing::Test {
 protected:
  ContextTable table(size_t contexts_max = 64) {
    return {contexts_max,
            [this](const ContextModel& /*model*/,
                   std::vector<int32_t> tokens) -> std::unique_ptr<llm::PrefixHold> {
              held_.least_while_renewed = std::min(held_.least_while_renewed, held_.now);
              held_.asked.push_back(std::move(tokens));
              if (holds_nothing_) return nullptr;
              return std::make_unique<CountedHold>(held_);
            }};
  }

  static Context asking(std::string_view question = "q") {
    Context context(std::make_shared<const ContextModel>(
        ContextModel{.name = "m", .tokenizer = std::make_shared<const ChatmlTokenizer>()}));
    EXPECT_FALSE(context.add(Role::kUser, question));
    return context;
  }

  Held held_;
  bool holds_nothing_ = false;
};

ContextId id_of(const std::variant<ContextId, llm::Failure>& added) {
  return std::get<ContextId>(added);
}

std::vector<ContextId> ids_of(const std::variant<std::vector<ContextId>, llm::Failure>& forked) {
  return std::get<std::vector<ContextId>>(forked);
}

TEST_F(ContextTableTest, FindsContextsUntilTheyAreReleased) {
  ContextTable contexts = table();
  EXPECT_EQ(contexts.find(ContextId(1)), nullptr);
  const ContextId one = id_of(contexts.add(asking(), 1));
  const ContextId two = id_of(contexts.add(asking(), 2));
  EXPECT_EQ(one, ContextId(1));
  EXPECT_EQ(two, ContextId(2));
  ASSERT_NE(contexts.find(one), nullptr);
  EXPECT_EQ(contexts.find(one)->seeds.seed(), 1U);
  contexts.release(one);
  contexts.release(one);
  EXPECT_EQ(contexts.find(one), nullptr);
  EXPECT_EQ(contexts.size(), 1U);
  EXPECT_EQ(contexts.peak(), 2U);
  EXPECT_EQ(id_of(contexts.add(asking(), 3)), ContextId(3));  // no id is given twice
  EXPECT_EQ(contexts.peak(), 2U);
}

TEST_F(ContextTableTest, AForkHoldsThePrefixOnceForAllOfThem) {
  ContextTable contexts = table();
  const ContextId parent = id_of(contexts.add(asking(), 1));
  const std::vector<ContextId> forks = ids_of(contexts.fork(parent, 8, 5));
  ASSERT_EQ(forks.size(), 8U);
  ASSERT_EQ(held_.asked.size(), 1U);
  EXPECT_EQ(held_.asked[0], std::get<std::vector<int32_t>>(asking().tokens()));
  EXPECT_EQ(held_.now, 1);
  for (size_t i = 0; i < forks.size(); ++i) {
    const HeldContext* const fork = contexts.find(forks[i]);
    EXPECT_EQ(fork->parent, parent);
    EXPECT_EQ(fork->seeds.seed(), SeedPath::part_of(5, i));
    EXPECT_FALSE(fork->is_busy);
  }

  // One by one: nothing changed, so nothing is asked again.
  ids_of(contexts.fork(parent, 1, 6));
  ids_of(contexts.fork(forks[0], 1, 7));
  EXPECT_EQ(held_.asked.size(), 1U);
  ASSERT_FALSE(contexts.find(parent)->context.add(Role::kAssistant, "a"));
  ids_of(contexts.fork(parent, 1, 8));
  EXPECT_EQ(held_.asked.size(), 2U);
}

TEST_F(ContextTableTest, ThePrefixIsHeldUntilTheLastForkLetsGo) {
  ContextTable contexts = table();
  const ContextId parent = id_of(contexts.add(asking(), 1));
  const std::vector<ContextId> forks = ids_of(contexts.fork(parent, 2, 5));
  contexts.release(parent);
  EXPECT_EQ(held_.now, 1);
  contexts.release(forks[0]);
  EXPECT_EQ(held_.now, 1);
  contexts.release(forks[1]);
  EXPECT_EQ(held_.now, 0);
}

TEST_F(ContextTableTest, AnAnswerRenewsTheHoldBeforeTheOldOneGoes) {
  ContextTable contexts = table();
  const ContextId id = id_of(contexts.add(asking(), 1));
  contexts.renew_hold(id);
  EXPECT_EQ(held_.now, 1);

  Context& context = contexts.find(id)->context;
  llm::Choice answer;
  answer.text = "yes";
  answer.token_ids = ChatmlTokenizer().tokens_of("yes<|im_end|>");
  context.take(std::get<Prompt>(context.prompt()), answer);
  held_.least_while_renewed = 1'000'000;
  contexts.renew_hold(id);
  EXPECT_EQ(held_.least_while_renewed, 1);
  EXPECT_EQ(held_.now, 1);
  EXPECT_EQ(held_.asked.back(), std::get<std::vector<int32_t>>(context.tokens()));

  // The cue and what was said so far belong to an open answer.
  ASSERT_FALSE(context.add(Role::kUser, "more"));
  ASSERT_FALSE(context.append("so"));
  contexts.renew_hold(id);
  EXPECT_EQ(held_.asked.back(), std::get<Prompt>(context.prompt()).tokens);
  contexts.renew_hold(ContextId(77));
}

TEST_F(ContextTableTest, NothingIsHeldOfContextsWithoutTokens) {
  ContextTable contexts = table();
  const auto upstream = std::make_shared<const ContextModel>(ContextModel{.name = "u"});
  const ContextId id = id_of(contexts.add(Context(upstream), 1));
  ASSERT_FALSE(contexts.find(id)->context.add(Role::kUser, "q"));
  contexts.renew_hold(id);
  EXPECT_EQ(ids_of(contexts.fork(id, 3, 1)).size(), 3U);
  Context empty = asking();
  ASSERT_FALSE(empty.truncate(0));
  contexts.renew_hold(id_of(contexts.add(empty, 1)));
  EXPECT_TRUE(held_.asked.empty());
}

TEST_F(ContextTableTest, ABackendMayHoldNothing) {
  holds_nothing_ = true;
  ContextTable contexts = table();
  const ContextId id = id_of(contexts.add(asking(), 1));
  contexts.renew_hold(id);
  EXPECT_EQ(contexts.find(id)->hold, nullptr);
  EXPECT_EQ(ids_of(contexts.fork(id, 2, 1)).size(), 2U);

  ContextTable without(4, nullptr);
  EXPECT_EQ(ids_of(without.fork(id_of(without.add(asking(), 1)), 2, 1)).size(), 2U);
}

TEST_F(ContextTableTest, MoreThanTheLimitAreRefusedAllTogether) {
  ContextTable contexts = table(4);
  const ContextId parent = id_of(contexts.add(asking(), 1));
  const auto refused = contexts.fork(parent, 4, 1);
  EXPECT_EQ(std::get<llm::Failure>(refused).code, kContextLimit);
  EXPECT_NE(std::get<llm::Failure>(refused).message.find("--program-contexts"), std::string::npos);
  EXPECT_EQ(contexts.size(), 1U);
  EXPECT_EQ(held_.now, 0);  // and nothing was held for them

  const std::vector<ContextId> forks = ids_of(contexts.fork(parent, 3, 1));
  EXPECT_EQ(std::get<llm::Failure>(contexts.add(asking(), 2)).code, kContextLimit);
  contexts.release(forks[1]);
  id_of(contexts.add(asking(), 2));
  EXPECT_EQ(contexts.peak(), 4U);
  EXPECT_EQ(ids_of(contexts.fork(parent, 0, 1)).size(), 0U);
}

TEST_F(ContextTableTest, ClearAndTheDestructorLetGoOfEverything) {
  {
    ContextTable contexts = table();
    for (int i = 0; i < 3; ++i) {
      const ContextId id = id_of(contexts.add(asking(std::to_string(i)), 1));
      ids_of(contexts.fork(id, 4, 1));
    }
    EXPECT_EQ(held_.now, 3);
    contexts.clear();
    EXPECT_EQ(held_.now, 0);
    EXPECT_EQ(contexts.size(), 0U);
    EXPECT_EQ(contexts.peak(), 15U);
    contexts.renew_hold(id_of(contexts.add(asking(), 1)));
    EXPECT_EQ(held_.now, 1);
  }
  EXPECT_EQ(held_.now, 0);
}

}  // namespace
}  // namespace windrow::program
