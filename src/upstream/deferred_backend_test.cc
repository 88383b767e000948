#include "upstream/deferred_backend.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "llm/testing/scripted_backend.h"

namespace windrow::upstream {
namespace {

using llm::testing::ScriptedBackend;

TEST(DeferredBackend, LetsNothingThroughBeforeItHasJoined) {
  ScriptedBackend inner(
      [](const llm::Request&) { return llm::Answer{.usage = {.prompt_tokens = 7}}; },
      {.pumped = true});
  DeferredBackend late("a server", 3);
  EXPECT_EQ(late.in_flight_target(), 3);
  std::stop_source stop;
  std::optional<llm::Outcome> ended;
  const auto submit = [&] {
    ended.reset();
    llm::BackendCall call = llm::plain_call({});
    call.unwanted = stop.get_token();
    late.submit(std::move(call), [&](llm::Outcome outcome) { ended = std::move(outcome); });
  };
  submit();
  ASSERT_TRUE(ended.has_value());
  const auto& failure = std::get<llm::Failure>(*ended);
  EXPECT_EQ(failure.failure_class, llm::FailureClass::kTransient);
  EXPECT_TRUE(failure.unreached) << "so it is sent elsewhere, or again";
  EXPECT_EQ(failure.message, "a server has not answered yet");
  EXPECT_EQ(late.stats().rows_running, 0);

  late.join(inner);
  submit();
  EXPECT_FALSE(ended.has_value());
  EXPECT_EQ(late.stats().rows_running, 1);
  inner.pump();
  EXPECT_EQ(std::get<llm::Answer>(*ended).usage.prompt_tokens, 7);
  submit();
  stop.request_stop();
  EXPECT_EQ(std::get<llm::Failure>(*ended).failure_class, llm::FailureClass::kCancelled);
}

}  // namespace
}  // namespace windrow::upstream
