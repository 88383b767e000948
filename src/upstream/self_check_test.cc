#include "upstream/self_check.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace windrow::upstream {
namespace {

// A server that repeats what it is asked, and gives answers away when it is told.
class Parrot final : public llm::Backend {
 public:
  struct Held {
    llm::BackendCall call;
    Done done;
  };
  std::deque<Held> held;

  void submit(llm::BackendCall call, Done done) override {
    held.push_back({std::move(call), std::move(done)});
  }
  int32_t in_flight_target() const override { return 4; }
  llm::BackendStats stats() const override { return {}; }

  static llm::Answer repeat(const llm::Request& request) {
    llm::Answer answer;
    answer.raw = request.raw;
    return answer;
  }

  // Answers the first of those that wait.
  void answer_first() {
    Held first = std::move(held.front());
    held.pop_front();
    first.done(repeat(*first.call.request));
  }

  void swap_first_two() {
    Held one = std::move(held[0]);
    Held two = std::move(held[1]);
    held.erase(held.begin(), held.begin() + 2);
    one.done(repeat(*two.call.request));
    two.done(repeat(*one.call.request));
  }
};

llm::Request row(int number) {
  llm::Request request;
  request.raw = R"({"messages":"row )" + std::to_string(number) + "\"}";
  request.model = "m";
  return request;
}

class CheckedBackendTest : public ::testing::Test {
 protected:
  void submit(llm::Request request) {
    checked_.submit(llm::plain_call(std::move(request)),
                    [this](llm::Outcome outcome) { ended_.push_back(std::move(outcome)); });
  }
  // A row, and the question beside it where there is one.
  void submit_row(int number) {
    const llm::Request request = row(number);
    const auto question = watch_.question_beside(request);
    submit(request);
    if (question) submit(*question);
  }
  const llm::Failure* failure(size_t i) const { return std::get_if<llm::Failure>(&ended_.at(i)); }

  Parrot parrot_;
  MixUpWatch watch_{7};
  CheckedBackend checked_{parrot_, "http://a", watch_};
  std::vector<llm::Outcome> ended_;
};

TEST_F(CheckedBackendTest, AnHonestServerPasses) {
  submit_row(1);
  ASSERT_EQ(parrot_.held.size(), 2U) << "a row and its question";
  EXPECT_EQ(parrot_.held[1].call.request->model, "m");
  EXPECT_EQ(parrot_.held[1].call.request->output_tokens_max, kQuestionTokensMax);
  parrot_.answer_first();
  parrot_.answer_first();
  ASSERT_EQ(ended_.size(), 2U);
  EXPECT_EQ(std::get<llm::Answer>(ended_[0]).raw, row(1).raw);
  EXPECT_EQ(watch_.counts(), (SelfCheckCounts{.planted = 1, .repeated = 1, .mixed_up = 0}));
  EXPECT_FALSE(watch_.verdict());
}

TEST_F(CheckedBackendTest, ARowWithTheAnswerToAQuestionEndsTheJob) {
  submit_row(1);
  parrot_.swap_first_two();
  ASSERT_EQ(ended_.size(), 2U);
  ASSERT_NE(failure(0), nullptr) << "the row got the question's answer";
  EXPECT_EQ(failure(0)->failure_class, llm::FailureClass::kBackend);
  EXPECT_EQ(failure(0)->message.substr(0, 49), "http://a mixes answers up: a row was given the an");
  ASSERT_TRUE(watch_.verdict());
  EXPECT_EQ(watch_.verdict()->message, failure(0)->message);
  submit(row(3));
  parrot_.answer_first();
  EXPECT_NE(failure(2), nullptr) << "nothing is trusted after that";
}

TEST_F(CheckedBackendTest, QuestionsWithEachOthersAnswersEndTheJob) {
  submit_row(1);
  submit_row(2);
  parrot_.answer_first();  // the first row
  std::swap(parrot_.held[0], parrot_.held[1]);
  parrot_.answer_first();  // the second
  ASSERT_EQ(parrot_.held.size(), 2U) << "two questions";
  parrot_.swap_first_two();
  EXPECT_TRUE(watch_.verdict());
}

TEST_F(CheckedBackendTest, AServerMayGiveAnAnswerToAnotherServersRow) {
  Parrot other_parrot;
  CheckedBackend other(other_parrot, "http://b", watch_);
  submit_row(1);
  llm::Answer stolen = Parrot::repeat(*parrot_.held[1].call.request);
  other.submit(llm::plain_call(row(2)),
               [this](llm::Outcome outcome) { ended_.push_back(std::move(outcome)); });
  other_parrot.held.front().done(std::move(stolen));
  EXPECT_NE(failure(0), nullptr);
}

TEST_F(CheckedBackendTest, EveryTwentiethRowHasAQuestion) {
  for (int i = 0; i < 1000; ++i) {
    submit_row(i);
    while (!parrot_.held.empty())
      parrot_.answer_first();
  }
  EXPECT_EQ(watch_.counts().planted, 50 + 7);
  EXPECT_EQ(watch_.counts().repeated, watch_.counts().planted);
  EXPECT_EQ(watch_.counts().mixed_up, 0);
  EXPECT_EQ(ended_.size(), 1000U + 57U);
}

TEST_F(CheckedBackendTest, OtherEndpointsAreLeftAlone) {
  llm::Request request = row(1);
  request.endpoint = llm::Endpoint::kEmbeddings;
  EXPECT_FALSE(watch_.question_beside(request));
}

TEST(SelfCheck, ACodeThatIsCutOffTellsNothing) {
  SelfCheck check(1);
  const SelfCheck::Question one = check.plant("");
  const SelfCheck::Question two = check.plant("");
  const size_t at = two.body.find("wchk");
  const std::string code = two.body.substr(at, two.body.find('"', at) - at);
  for (size_t length = 1; length < code.size(); ++length)
    EXPECT_EQ(check.see_question(one.number, code.substr(0, length)), std::nullopt) << length;
  EXPECT_TRUE(check.see_question(one.number, code));
}

TEST(SelfCheck, AnotherRunsCodesAreText) {
  SelfCheck one(1);
  SelfCheck other(0x1234567800000000ULL);
  EXPECT_EQ(one.see_row(other.plant("m").body), std::nullopt);
  EXPECT_TRUE(one.see_row(one.plant("m").body));
}

TEST(SelfCheck, TheWordsAtTheEndSayWhatItCouldSee) {
  EXPECT_EQ(to_string(SelfCheckCounts{.planted = 42, .repeated = 42, .mixed_up = 0}),
            "self-check: 42 questions planted, 42 answers had the right code");
  EXPECT_EQ(to_string(SelfCheckCounts{.planted = 42, .repeated = 0, .mixed_up = 0}),
            "self-check: 42 questions planted, 0 answers had the right code; the model repeats no "
            "code, so only rows that got one could have shown a mix-up");
}

}  // namespace
}  // namespace windrow::upstream
