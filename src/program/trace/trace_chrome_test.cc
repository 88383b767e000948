#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <string>

#include "program/trace/trace.h"

namespace windrow::program {
namespace {

namespace json = boost::json;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

TimePoint at_us(int64_t us) {
  return TimePoint(microseconds(us));
}

TraceSpan instance_span() {
  return {.kind = TraceKind::kInstance,
          .instance = 1,
          .name = "row-1",
          .task = 1,
          .began = at_us(1000),
          .ended = at_us(3000)};
}

TraceSpan call_span() {
  return {.kind = TraceKind::kGenerate,
          .instance = 1,
          .stage = "plan",
          .task = 2,
          .tag = 5,
          .began = at_us(1100),
          .ended = at_us(2100) + nanoseconds(250),
          .usage = {.prompt_tokens = 30, .completion_tokens = 12, .cached_tokens = 20},
          .passes = {.passes = 2, .rows = 2, .width = 5}};
}

TEST(TraceAsChromeJson, HasAProcessForEachInstanceAndOneForTheEngine) {
  Trace trace(10);
  trace.add(call_span());
  trace.add({.kind = TraceKind::kTask,
             .end = TraceEnd::kCancelled,
             .instance = 1,
             .name = "all 1 of 2",
             .task = 2,
             .parent = 1,
             .began = at_us(1050),
             .ended = at_us(2200)});
  trace.add(instance_span());
  const PassLog::Kept passes{.passes = {{.number = 1,
                                         .end = at_us(1500),
                                         .duration = microseconds(300),
                                         .width = 3,
                                         .rows = {{.tag = 5, .tokens = 10, .cached_tokens = 20}}}},
                             .lost = 4};
  EXPECT_EQ(trace_as_chrome_json(trace.kept(), passes),
            R"json({"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"engine"}},
{"ph":"M","name":"process_sort_index","pid":1,"tid":0,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"forward passes"}},
{"ph":"M","name":"process_name","pid":2,"tid":0,"args":{"name":"row-1"}},
{"ph":"M","name":"process_sort_index","pid":2,"tid":0,"args":{"sort_index":2}},
{"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"program"}},
{"ph":"M","name":"thread_name","pid":2,"tid":2,"args":{"name":"all 1 of 2 (task 2)"}},
{"ph":"X","name":"pass","pid":1,"tid":1,"ts":200.000,"dur":300.000,)json"
            R"json("args":{"number":1,"width":3,"rows_of_programs":1,"tokens_of_programs":10}},
{"ph":"C","name":"rows","pid":1,"tid":1,"ts":200.000,"args":{"rows":3}},
{"ph":"C","name":"rows","pid":1,"tid":1,"ts":500.000,"args":{"rows":0}},
{"ph":"X","name":"generate","pid":2,"tid":2,"cat":"generate","ts":100.000,"dur":1000.250,)json"
            R"json("args":{"end":"done","stage":"plan","prompt_tokens":30,"cached_tokens":20,)json"
            R"json("completion_tokens":12,"tag":5,"passes":2,"mean_width":2.50}},
{"ph":"X","name":"all 1 of 2","pid":2,"tid":2,"cat":"task","ts":50.000,"dur":1150.000,)json"
            R"json("args":{"end":"cancelled"}},
{"ph":"X","name":"row-1","pid":2,"tid":1,"cat":"instance","ts":0.000,"dur":2000.000,)json"
            R"json("args":{"end":"done"}}
],"displayTimeUnit":"ms","otherData":{"spans_lost":0,"passes_lost":4}}
)json");
}

TEST(TraceAsChromeJson, IsJsonWhateverNamesHave) {
  TraceSpan instance = instance_span();
  instance.name = "a \"quoted\\ name\"\n\x01 – end";
  TraceSpan call = call_span();
  call.stage = "\"]}";
  const json::value read =
      json::parse(trace_as_chrome_json({.spans = {call, instance}, .lost = 7}, {}));
  EXPECT_EQ(read.at("otherData").at("spans_lost").as_int64(), 7);
  const json::array& events = read.at("traceEvents").as_array();
  EXPECT_EQ(events.at(0).at("args").at("name").as_string(), instance.name);
  EXPECT_EQ(events.back().at("name").as_string(), instance.name);
  EXPECT_EQ(events.at(events.size() - 2).at("args").at("stage").as_string(), call.stage);
}

TEST(TraceAsChromeJson, OfNothingIsAnEmptyTrace) {
  const json::value read = json::parse(trace_as_chrome_json({}, {}));
  EXPECT_TRUE(read.at("traceEvents").as_array().empty());
}

TEST(Trace, KeepsTheNewestSpans) {
  Trace trace(2);
  for (uint64_t instance = 1; instance <= 5; ++instance)
    trace.add({.instance = instance});
  const Trace::Kept kept = trace.kept();
  EXPECT_EQ(kept.lost, 3);
  ASSERT_THAT(kept.spans, ::testing::SizeIs(2));
  EXPECT_EQ(kept.spans[0].instance, 4U);
  EXPECT_EQ(kept.spans[1].instance, 5U);
}

}  // namespace
}  // namespace windrow::program
