#include "fleet/local_job_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "llm/step_report.h"

namespace windrow::fleet {
namespace {

class StillBackend final : public llm::Backend {
 public:
  explicit StillBackend(const llm::BackendStats& stats) : stats_(stats) {}

  void submit(llm::BackendCall, Done) override {}
  int32_t in_flight_target() const override { return 1; }
  llm::BackendStats stats() const override { return stats_; }

 private:
  llm::BackendStats stats_;
};

TEST(BackendGroup, AddsUpWhatModelsDoAndSharesTheDevice) {
  BackendGroup group;
  EXPECT_EQ(group.stats().steps, 0);
  const StillBackend one({.prompt_tokens = 10,
                          .generated_tokens = 1,
                          .steps = 2,
                          .preemptions = 1,
                          .recomputed_tokens = 5,
                          .rows_running = 3,
                          .rows_waiting = 4,
                          .cells_used = 6,
                          .cells_max = 7,
                          .device_bytes_used = 100,
                          .device_bytes_max = 200});
  const StillBackend other({.prompt_tokens = 20,
                            .generated_tokens = 2,
                            .steps = 3,
                            .rows_running = 1,
                            .device_bytes_used = 120,
                            .device_bytes_max = 200});
  group.add(one);
  group.add(other);
  const llm::BackendStats sum = group.stats();
  EXPECT_EQ(sum.prompt_tokens, 30);
  EXPECT_EQ(sum.generated_tokens, 3);
  EXPECT_EQ(sum.steps, 5);
  EXPECT_EQ(sum.preemptions, 1);
  EXPECT_EQ(sum.recomputed_tokens, 5);
  EXPECT_EQ(sum.rows_running, 4);
  EXPECT_EQ(sum.rows_waiting, 4);
  EXPECT_EQ(sum.cells_used, 6);
  EXPECT_EQ(sum.cells_max, 7);
  EXPECT_EQ(sum.device_bytes_used, 120U);
  EXPECT_EQ(sum.device_bytes_max, 200U);
}

class NoEvents final : public FleetEvents {
 public:
  void note(const std::string&) override {}
  void warn(const std::string& text) override { ADD_FAILURE() << text; }
  void packed_call_sent(const std::string&, const dispatch::SentBatch&) override {}
};

llm::Request one_message(const std::string& text, int32_t output_tokens_max) {
  llm::Request request{.output_tokens_max = output_tokens_max};
  request.chat.messages.push_back(boost::json::object{{"role", "user"}, {"content", text}});
  return request;
}

TEST(LocalJobFleet, HasTheTokenizersOfItsModels) {
  const SystemClock clock;
  NoEvents events;
  LocalJobFleet fleet({{.name = "a", .path = "sim:instant"}, {.name = "b", .path = "sim:instant"}},
                      {}, clock, events);
  ASSERT_TRUE(fleet.open({.began_unix_s = 1'700'000'000}));
  const auto tokenizer = fleet.tokenizer("b");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(text_of(**tokenizer, (*tokenizer)->encode("hi", true, llm::SpecialTokens::kNone)),
            "hi");
  EXPECT_EQ(fleet.tokenizer("c").error().kind, ErrorKind::kNotFound);
}

// What was seen of the rows with one tag.
struct Seen {
  int32_t prompt_tokens = 0;  // computed or taken from the cache
  int32_t decoding = 0;       // passes in which the row decoded
  int32_t width_max = 0;      // rows of one of its passes
};

TEST(LocalJobFleet, ReportsTheRowsOfEachPassWithTheirTags) {
  std::mutex mutex;
  std::map<uint64_t, Seen> seen;
  LocalFleetOptions options;
  options.on_rows = [&](const llm::StepReport& step, std::span<const llm::RowTrace> rows) {
    const std::scoped_lock lock(mutex);
    EXPECT_EQ(step.kind, llm::StepKind::kGenerate);
    for (const llm::RowTrace& row : rows) {
      Seen& of_tag = seen[row.tag];
      if (!row.is_decoding) of_tag.prompt_tokens += row.tokens + row.cached_tokens;
      if (row.is_decoding) ++of_tag.decoding;
      of_tag.width_max = std::max(of_tag.width_max, static_cast<int32_t>(rows.size()));
    }
  };
  const SystemClock clock;
  NoEvents events;
  LocalJobFleet fleet({{.path = "sim:instant"}}, options, clock, events);
  const Result<void> opened = fleet.open({.began_unix_s = 1'700'000'000});
  ASSERT_TRUE(opened) << opened.error().message;

  std::map<uint64_t, llm::Usage> usage;
  const auto keep_usage_of = [&](uint64_t tag) {
    return [&, tag](const dispatch::DispatchResult& result) {
      const auto* answer = std::get_if<llm::Answer>(&result.outcome);
      ASSERT_NE(answer, nullptr);
      const std::scoped_lock lock(mutex);
      usage[tag] = answer->usage;
    };
  };
  dispatch::Dispatcher& dispatcher = *fleet.routes().front().dispatcher;
  for (const uint64_t tag : std::vector<uint64_t>{7, 8, 0}) {
    EXPECT_TRUE(dispatcher.offer(one_message("Row " + std::to_string(tag), 5), {}, 0,
                                 keep_usage_of(tag), {.trace_tag = tag}));
  }
  dispatcher.wait_idle();

  EXPECT_THAT(seen, testing::SizeIs(3));
  for (const uint64_t tag : std::vector<uint64_t>{7, 8, 0}) {
    EXPECT_EQ(seen[tag].prompt_tokens, usage[tag].prompt_tokens) << tag;
    EXPECT_GE(seen[tag].decoding, 1) << tag;
    EXPECT_LE(seen[tag].decoding, 5) << tag;
    EXPECT_LE(seen[tag].width_max, 3) << tag;
  }
}

}  // namespace
}  // namespace windrow::fleet
