#include "upstream/server_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::upstream {
namespace {

using testing::HasSubstr;

std::string models(const std::string& owner) {
  return R"({"object":"list","data":[{"id":"m","object":"model","owned_by":")" + owner + "\"}]}";
}

TEST(ServerKind, IsTakenFromWhatServersSay) {
  const auto kind = [](const ServerSigns& signs) { return identity_of(signs).kind; };
  EXPECT_EQ(kind({.models = models("vllm")}), ServerKind::kVllm);
  EXPECT_EQ(kind({.models = models("sglang")}), ServerKind::kSglang);
  EXPECT_EQ(kind({.models = models("llamacpp")}), ServerKind::kLlamaServer);
  EXPECT_EQ(kind({.server = "llama.cpp"}), ServerKind::kLlamaServer);
  EXPECT_EQ(kind({.models = models("organization_owner")}), ServerKind::kLmStudio);
  EXPECT_EQ(kind({.server = "BaseHTTP/0.6 Python/3.12.3"}), ServerKind::kMlx);
  // Its own version says more than the owners of its models, who are people.
  const ServerIdentity ollama =
      identity_of({.models = models("library"), .ollama_version = R"({"version":"0.12.3"})"});
  EXPECT_EQ(ollama.kind, ServerKind::kOllama);
  EXPECT_EQ(to_string(ollama), "Ollama 0.12.3");
}

TEST(ServerKind, StrangersStayUnknown) {
  for (const char* text : {"", "[]", "{}", "<html>", R"({"data":5})", R"({"data":[]})",
                           R"({"data":[7]})", R"({"data":[{"owned_by":7}]})", R"({"version":7})"}) {
    EXPECT_EQ(identity_of({.server = "nginx", .models = text, .ollama_version = text}).kind,
              ServerKind::kUnknown)
        << text;
  }
  EXPECT_EQ(to_string(ServerIdentity{}), "");
}

TEST(ServerKind, ASerialOneHasASettingForIt) {
  EXPECT_THAT(advice_if_serial(ServerKind::kOllama), HasSubstr("OLLAMA_NUM_PARALLEL"));
  EXPECT_THAT(advice_if_serial(ServerKind::kLlamaServer), HasSubstr("-np"));
  EXPECT_THAT(advice_if_serial(ServerKind::kMlx), HasSubstr("--decode-concurrency"));
  EXPECT_THAT(advice_if_serial(ServerKind::kUnknown), HasSubstr("--upstream"));
}

}  // namespace
}  // namespace windrow::upstream
