#include "app/commands/probe_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace windrow::app {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ProbeMeasure measure(int32_t in_flight, double requests_per_s) {
  return {.in_flight = in_flight,
          .answered = 20,
          .time = std::chrono::seconds(8),
          .requests_per_s = requests_per_s,
          .tokens_per_s = 50 * requests_per_s,
          .all_told_tokens = true,
          .latency_p50 = milliseconds(250),
          .latency_p95 = milliseconds(1500)};
}

TEST(ProbeText, OneLineForEachNumberWithABarBehind) {
  const std::vector<ProbeMeasure> measures = {measure(1, 4), measure(2, 8), measure(4, 16)};
  EXPECT_EQ(probe_table(measures, {.columns = 81, .utf8 = false}),
            "in flight  requests/s  tokens/s       p50       p95  errors  tokens/s\n"
            "        1        4.00       200    250 ms     1.5 s       0  #####\n"
            "        2        8.00       400    250 ms     1.5 s       0  ##########\n"
            "        4        16.0       800    250 ms     1.5 s       0  ####################\n");
  const std::string blocks = probe_table(measures, {.columns = 72, .utf8 = true});
  EXPECT_THAT(blocks, HasSubstr("  ██▊\n"));
  EXPECT_THAT(blocks, HasSubstr("  ███████████\n"));
  EXPECT_THAT(blocks, Not(HasSubstr("#")));
}

TEST(ProbeText, BarsAreOfRequestsWhereTokensAreNotTold) {
  std::vector<ProbeMeasure> measures = {measure(1, 4), measure(2, 8)};
  measures[0].all_told_tokens = false;
  const std::string text = probe_table(measures, {});
  EXPECT_THAT(text, HasSubstr("errors  requests/s\n"));
  EXPECT_THAT(text, HasSubstr("4.00         -"));
}

TEST(ProbeText, NothingAnsweredIsNoBar) {
  ProbeMeasure none{.in_flight = 1, .failed = 3};
  const std::string text = probe_table(std::vector<ProbeMeasure>{none}, {});
  EXPECT_THAT(text, HasSubstr("      3\n"));
  EXPECT_THAT(text, Not(HasSubstr("#")));
}

TEST(ProbeText, ASerialUpstreamIsToldWhatWouldHelp) {
  const std::vector<ProbeMeasure> measures = {measure(1, 4), measure(2, 4), measure(4, 4)};
  const ProbeFinding finding{.kind = ProbeFindingKind::kSerial, .in_flight = 1, .gain = 1};
  const std::string text = probe_recommendation(
      finding, measures, {.kind = upstream::ServerKind::kOllama, .version = "0.12.3"});
  EXPECT_THAT(text, StartsWith("recommended: --concurrency 1\nthe upstream is serial"));
  EXPECT_THAT(text, HasSubstr("this is Ollama 0.12.3: start it with OLLAMA_NUM_PARALLEL=8"));
}

TEST(ProbeText, RecommendationsSayWhy) {
  const std::vector<ProbeMeasure> measures = {measure(1, 4), measure(2, 8), measure(4, 8)};
  EXPECT_THAT(probe_recommendation(
                  {.kind = ProbeFindingKind::kSaturates, .in_flight = 2, .gain = 2}, measures, {}),
              HasSubstr("--concurrency 2\nmore in flight bring no more: 400 tokens/s, 2.0 times as "
                        "much as with 1\n"));
  EXPECT_THAT(probe_recommendation(
                  {.kind = ProbeFindingKind::kRefuses, .in_flight = 2, .refused_at = 4, .gain = 2},
                  measures, {}),
              HasSubstr("with 4 in flight requests are refused (429, 503)"));
  EXPECT_THAT(probe_recommendation({.kind = ProbeFindingKind::kRefuses, .refused_at = 1}, {}, {}),
              StartsWith("requests are refused (429, 503) even with 1 in flight"));
  EXPECT_THAT(probe_recommendation({.interrupted = true}, {}, {}), HasSubstr("interrupted"));
}

TEST(ProbeText, LocalesAreReadAsLocaleSays) {
  EXPECT_TRUE(locale_is_utf8({{"LANG", "de_DE.UTF-8"}}));
  EXPECT_TRUE(locale_is_utf8({{"LC_CTYPE", "C.utf8"}, {"LANG", "C"}}));
  EXPECT_FALSE(locale_is_utf8({{"LC_ALL", "C"}, {"LANG", "de_DE.UTF-8"}}));
  EXPECT_FALSE(locale_is_utf8({}));
}

}  // namespace
}  // namespace windrow::app
