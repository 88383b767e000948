#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/trace/trace.h"

namespace windrow::program {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TimePoint at_ms(int64_t ms) {
  return TimePoint(milliseconds(ms));
}

TraceSpan instance_span(uint64_t instance, std::string name) {
  return {.kind = TraceKind::kInstance,
          .instance = instance,
          .name = std::move(name),
          .task = 1,
          .began = at_ms(0),
          .ended = at_ms(1250)};
}

TraceSpan task_span(uint32_t task, uint32_t parent, std::string name, TraceEnd end) {
  return {.kind = TraceKind::kTask,
          .end = end,
          .instance = 1,
          .name = std::move(name),
          .task = task,
          .parent = parent,
          .began = at_ms(10 * task),
          .ended = at_ms(500)};
}

// A call in the passes `first` to `last`, each of the same width.
TraceSpan call_span(uint32_t task, std::string stage, uint64_t tag, llm::Usage usage) {
  return {.kind = TraceKind::kGenerate,
          .instance = 1,
          .stage = std::move(stage),
          .task = task,
          .tag = tag,
          .began = at_ms(10 * task + 5),
          .ended = at_ms(450),
          .usage = usage};
}

LoggedPass pass(int64_t number, int32_t width, std::vector<llm::RowTrace> rows) {
  return {.number = number, .width = width, .rows = std::move(rows)};
}

TEST(TraceAsText, ShowsTasksAndCallsAsATree) {
  TraceSpan one = call_span(2, "propose", 1,
                            {.prompt_tokens = 50, .completion_tokens = 2, .cached_tokens = 40});
  one.passes = {.passes = 2, .rows = 2, .width = 5};
  TraceSpan other = call_span(3, "propose", 2,
                              {.prompt_tokens = 50, .completion_tokens = 1, .cached_tokens = 40});
  other.passes = {.passes = 1, .rows = 1, .width = 3};
  other.end = TraceEnd::kCancelled;
  TraceSpan last = call_span(1, "", 3, {.prompt_tokens = 1000, .completion_tokens = 1});
  last.passes = {.passes = 1, .rows = 1, .width = 1};
  last.began = at_ms(600);
  last.ended = at_ms(1250);
  const Trace::Kept trace{.spans = {one, task_span(2, 1, "race 1 of 2", TraceEnd::kDone), other,
                                    task_span(3, 1, "race 2 of 2", TraceEnd::kCancelled), last,
                                    instance_span(1, "row-1")}};
  const PassLog::Kept passes{.passes = {pass(1, 3, {{.tag = 1}, {.tag = 2}}),
                                        pass(2, 2, {{.tag = 1}}), pass(3, 4, {}),
                                        pass(4, 1, {{.tag = 3}})}};
  EXPECT_EQ("\n" + trace_as_text(trace, passes), R"(
                                                   passes   width   shared     own  answer      time
row-1                                                 1-4     2.0       80   1,020       4   1.250 s
+ race 1 of 2                                                                                0.480 s
| + generate (propose)                                1-2     2.5       40      10       2   0.425 s
+ race 2 of 2, cancelled                                                                     0.470 s
| + generate (propose), cancelled                       1     3.0       40      10       1   0.415 s
+ generate                                              4     1.0        0   1,000       1   0.650 s

tokens by stage                                     calls           shared     own  answer    wasted
propose                                                 2               80      20       3        11
(no stage)                                              1                0   1,000       1         0
all                                                     3               80   1,020       4        11
wasted: 11 of 1,024 computed tokens, in calls that were cancelled or failed
4 passes, mean width 2.5 rows
)");
}

TEST(TraceAsText, ShowsWhatItKnowsOfAnInstanceThatHasNotEnded) {
  const TraceSpan call = call_span(4, "", 0, {.prompt_tokens = 3, .completion_tokens = 2});
  const std::string text = trace_as_text({.spans = {call}}, {});
  EXPECT_THAT(text, HasSubstr("\ninstance 1, not ended   "));
  EXPECT_THAT(text,
              HasSubstr("\n+ generate                                              -       -"))
      << "a call of an upstream, in a task that still runs";
}

TEST(TraceAsText, SaysWhatIsMissing) {
  TraceSpan call = call_span(1, "", 1, {});
  call.passes = {.passes = 3, .width = 3};
  TraceSpan older = call_span(1, "", 2, {});
  older.passes = {.passes = 2, .width = 2};
  const std::string text =
      trace_as_text({.spans = {call, older}, .lost = 1},
                    {.passes = {pass(8, 1, {{.tag = 1}}), pass(9, 1, {{.tag = 1}})}, .lost = 7});
  EXPECT_THAT(text, HasSubstr(" ..8-9 ")) << "one of its passes is not kept any more";
  EXPECT_THAT(text, HasSubstr(" (2) ")) << "none of them is";
  EXPECT_THAT(text, HasSubstr("\n1 earlier spans are missing: there were more than are kept\n"));
  EXPECT_THAT(text, HasSubstr("\n7 earlier passes are missing: there were more than are kept\n"));
}

TEST(TraceAsText, ShowsTheFirstInstancesAndCountsTheRest) {
  Trace::Kept trace;
  for (uint64_t instance = 1; instance <= 5; ++instance)
    trace.spans.push_back(instance_span(instance, "row-" + std::to_string(instance)));
  const std::string text = trace_as_text(trace, {}, 2);
  EXPECT_THAT(text, HasSubstr("row-2"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("row-3")));
  EXPECT_THAT(text, HasSubstr("(3 more instances)"));
}

TEST(TraceAsText, LinesHaveAtMostAHundredColumns) {
  std::string name;
  for (int i = 0; i < 100; ++i)
    name += "ä\n";
  const std::string text = trace_as_text({.spans = {instance_span(1, name)}}, {});
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const auto characters = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    EXPECT_LE(characters, 100) << line;
    begin = end + 1;
  }
}

}  // namespace
}  // namespace windrow::program
