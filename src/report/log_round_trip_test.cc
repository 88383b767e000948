// Every reader of a log reads what result_line and error_line write, with random JSON, nested as
// deep as it may be, wherever clients and models determine the content.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "base/random.h"
#include "batch/log_scan.h"
#include "batch/result_line.h"
#include "json/limits.h"
#include "report/failure_counts.h"
#include "report/log_tally.h"
#include "store/testing/memory_disk.h"

namespace windrow::report {
namespace {

// JSON as servers write it, without line breaks.
class WildJson {
 public:
  explicit WildJson(uint64_t seed) : random_(seed) {}

  // An object that is nested `depth` deep.
  std::string object(size_t depth) {
    std::string text = "{";
    const uint64_t members = random_.below(3);
    for (uint64_t i = 0; i < members; ++i)
      text += key() + value(depth - 1) + ",";
    text += key() + (depth > 1 ? nested(depth - 1) : scalar());
    return text + "}";
  }

  // Also bytes that are no text.
  std::string message() {
    std::string text;
    for (uint64_t i = random_.below(12); i > 0; --i)
      text += static_cast<char>(random_.below(256));
    return text;
  }

  size_t depth() { return 1 + random_.below(kJsonDepthMax); }
  bool chance() { return random_.chance(0.5); }

 private:
  std::string nested(size_t depth) {
    if (random_.chance(0.4)) return object(depth);
    if (depth == 1) return random_.chance(0.5) ? "[]" : "[" + scalar() + "]";
    return "[" + (random_.chance(0.3) ? scalar() + "," : "") + nested(depth - 1) + "]";
  }

  std::string value(size_t depth) {
    return depth > 0 && random_.chance(0.1) ? nested(1 + random_.below(depth)) : scalar();
  }

  std::string scalar() {
    constexpr std::array<std::string_view, 10> kScalars = {"null",
                                                           "true",
                                                           "-0.0",
                                                           "1e300",
                                                           "18446744073709551615",
                                                           R"("")",
                                                           R"("a \"b\" \u0000 \uD83D\uDE00 \n")",
                                                           "\"\x7F\xC3\xA9\"",
                                                           "123456789012345678901234567890",
                                                           R"("{\"id\":\"batch_req_")"};
    return std::string(kScalars.at(random_.below(kScalars.size())));
  }

  std::string key() {
    constexpr std::array<std::string_view, 7> kKeys = {
        "usage", "model", "error", "custom_id", "windrow", "prompt_tokens", "\\u0041"};
    return fmt::format("\"{}\":", kKeys.at(random_.below(kKeys.size())));
  }

  Random random_;
};

batch::RowKey key_of(uint64_t i) {
  const std::string id = fmt::format("row {} \"\\\n\xC3\xA9", i);
  return {
      .line = i + 1, .custom_id = id, .identity = batch::row_identity(id), .fingerprint = i * 77};
}

class LogRoundTripTest : public ::testing::Test {
 protected:
  int64_t scanned(const std::string& log, batch::LogKind kind) {
    disk_.put("log", log);
    const auto file = disk_.open_read("log");
    const auto scan = batch::scan_log(**file, "log", kind,
                                      [](const batch::LogLine&) -> Result<void> { return {}; });
    EXPECT_TRUE(scan.has_value()) << scan.error().message;
    return scan ? scan->lines : -1;
  }

  static void expect_counted(const std::string& line, batch::LogKind kind) {
    LogTally tally;
    const bool read =
        tally.read(kind, 1, std::string_view(line).substr(0, line.size() - 1)).has_value();
    EXPECT_TRUE(read) << tally.odd(kind).first_why << ": " << line.substr(0, 300);
  }

  store::testing::MemoryDisk disk_;
};

TEST_F(LogRoundTripTest, EveryResultIsRead) {
  std::string log;
  constexpr uint64_t kLines = 400;
  for (uint64_t i = 0; i < kLines; ++i) {
    WildJson wild(i);
    llm::Answer answer;
    // The first are as deep as any may be.
    answer.raw = wild.object(i < 20 ? kJsonDepthMax : wild.depth());
    const std::string line = result_line(
        key_of(i), llm::Endpoint::kChatCompletions, "m", answer,
        {.attempts = 2, .tokens = 3, .earlier_failure = wild.chance() ? wild.message() : ""}, 0);
    expect_counted(line, batch::LogKind::kResults);
    log += line;
  }
  EXPECT_EQ(scanned(log, batch::LogKind::kResults), kLines);
}

TEST_F(LogRoundTripTest, EveryErrorIsRead) {
  std::string log;
  constexpr uint64_t kLines = 400;
  for (uint64_t i = 0; i < kLines; ++i) {
    WildJson wild(i + 1000);
    batch::RowFault fault{.key = key_of(i),
                          .failure = {.status = wild.chance() ? 502 : 0,
                                      .code = "c" + wild.message(),
                                      .message = wild.message(),
                                      .param = wild.message()},
                          .of_line = i % 7 == 0};
    if (wild.chance()) fault.failure.raw = wild.object(i < 20 ? kJsonDepthMax : wild.depth());
    if (i % 3 == 0) {
      llm::Answer cut;
      cut.raw = wild.object(i < 20 ? kJsonDepthMax : wild.depth());
      fault.failure = batch::truncated_failure(fault.key, llm::Endpoint::kChatCompletions, "m", cut,
                                               0, nullptr);
    }
    const std::string line = error_line(fault, {.attempts = 1});
    expect_counted(line, batch::LogKind::kErrors);
    log += line;
  }
  EXPECT_EQ(scanned(log, batch::LogKind::kErrors), kLines);
  const auto counts = count_failures(disk_, "log");
  ASSERT_TRUE(counts.has_value());
  for (const FailureCount& count : *counts)
    EXPECT_NE(count.code, "unreadable");
}

}  // namespace
}  // namespace windrow::report
