#include "upstream/target.h"

#include <gtest/gtest.h>

namespace windrow::upstream {
namespace {

std::string chat_of(std::string_view base) {
  return http::to_string(
      target_of(with_version(http::parse_url(base).value()), llm::Endpoint::kChatCompletions));
}

TEST(Target, TheBaseUrlIsWhatClientsOfTheApiTake) {
  EXPECT_EQ(chat_of("http://h:8000/v1"), "http://h:8000/v1/chat/completions");
  EXPECT_EQ(chat_of("http://h:8000/v1/"), "http://h:8000/v1/chat/completions");
  EXPECT_EQ(chat_of("http://h:8000"), "http://h:8000/v1/chat/completions");
  EXPECT_EQ(chat_of("https://h/openai/v1"), "https://h/openai/v1/chat/completions");
  EXPECT_EQ(chat_of("https://h/deploy/x?version=1"),
            "https://h/deploy/x/chat/completions?version=1");
}

TEST(Target, OtherRoutesBeginAtTheServer) {
  EXPECT_EQ(http::to_string(at_root(http::parse_url("http://h:1/v1?k=1").value(), "/api/ps")),
            "http://h:1/api/ps");
}

TEST(Target, SomeAreBesideTheApi) {
  const auto metrics_of = [](std::string_view base) {
    return http::to_string(beside_version(with_version(http::parse_url(base).value()), "/metrics"));
  };
  EXPECT_EQ(metrics_of("http://h:8000"), "http://h:8000/metrics");
  EXPECT_EQ(metrics_of("http://h:8000/v1/?k=1"), "http://h:8000/metrics");
  EXPECT_EQ(metrics_of("https://h/openai/v1"), "https://h/openai/metrics");
  EXPECT_EQ(metrics_of("https://h/deploy/x?version=1"), "https://h/metrics");
}

}  // namespace
}  // namespace windrow::upstream
