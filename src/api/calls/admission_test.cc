#include "api/calls/admission.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace windrow::api {
namespace {

constexpr TimePoint at(int64_t seconds) {
  return TimePoint{} + std::chrono::seconds(seconds);
}

std::string code_of(const std::optional<llm::Failure>& failure) {
  return failure ? failure->code : "";
}

TEST(CallGate, OpensWhenModelsAreThereAndClosesOnce) {
  ModelRegistry registry;
  CallGate gate(registry, nullptr);
  EXPECT_EQ(gate.state(), ServeState::kLoading);
  EXPECT_EQ(code_of(gate.refusal()), "server_loading");
  registry.set_state(ServeState::kReady);
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "");
  EXPECT_FALSE(gate.is_over(at(100)));

  gate.close(at(10));
  EXPECT_EQ(gate.state(), ServeState::kStopping);
  EXPECT_EQ(code_of(gate.refusal()), "server_stopping");
  EXPECT_FALSE(gate.is_over(at(9)));
  EXPECT_TRUE(gate.is_over(at(10)));
}

TEST(CallGate, RefusesModelsWithoutReachableUpstream) {
  std::set<uint64_t> away;
  ModelRegistry registry;
  CallGate gate(registry, [&](uint64_t upstreams) { return away.contains(upstreams); });
  EXPECT_FALSE(gate.may_refuse_models()) << "they load";
  away = {0};
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "server_loading");

  registry.set_state(ServeState::kReady);
  EXPECT_TRUE(gate.may_refuse_models());
  EXPECT_EQ(code_of(gate.refusal()), "") << "it has not looked yet";
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "upstream_unreachable");
  away = {2};
  gate.look();
  EXPECT_EQ(code_of(gate.refusal()), "");
  EXPECT_EQ(code_of(gate.refusal_of({.name = "a", .upstreams = 1})), "");
  const auto refused = gate.refusal_of({.name = "b", .upstreams = 2});
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message.find("b"), std::string::npos);
}

}  // namespace

namespace {

TEST(BodyMemoryBudget, BoundsBytesButLetsOneAlonePass) {
  BodyMemoryBudget admission(100'000);
  EXPECT_TRUE(admission.take(1'000'000));
  EXPECT_FALSE(admission.take(0));
  admission.release(1'000'000);
  EXPECT_EQ(admission.bytes(), 0U);
  EXPECT_TRUE(admission.take(50'000));
  EXPECT_FALSE(admission.take(50'000));
  EXPECT_TRUE(admission.take(30'000));
  // What is inside may become more, as far as there is room; one alone always.
  EXPECT_FALSE(admission.grow(20'000));
  EXPECT_TRUE(admission.grow(2'000));
  EXPECT_LE(admission.bytes(), admission.bytes_max());
  admission.release(30'000 + 2'000);
  EXPECT_TRUE(admission.grow(1'000'000));
  EXPECT_FALSE(admission.take(0));
  admission.release(50'000 + 1'000'000);
  EXPECT_EQ(admission.bytes(), 0U);
}

}  // namespace
}  // namespace windrow::api
