#include "batches/batch_service.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/testing/eventually.h"
#include "batches/batch_json.h"
#include "batches/testing/service_rig.h"
#include "json/limits.h"

namespace windrow::batches {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;
using testing::echo;
using ::testing::Ge;
using testing::row;
using testing::rows;
using enum BatchStatus;

class BatchServiceTest : public testing::ServiceRig {};

// Lets so many answers pass and holds the others back until it is told otherwise, or until they are
// cancelled.
class Gate {
 public:
  explicit Gate(int open) : open_(open) {}

  void pass(const llm::BackendCall& call) {
    const std::stop_callback left(call.unwanted, [this] {
      const std::scoped_lock lock(mutex_);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return passed_ < open_ || call.unwanted.stop_requested(); });
    ++passed_;
  }
  void let(int more) {
    const std::scoped_lock lock(mutex_);
    open_ += more;
    changed_.notify_all();
  }
  void open_all() {
    const std::scoped_lock lock(mutex_);
    open_ = INT32_MAX;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int open_;
  int passed_ = 0;
};

TEST_F(BatchServiceTest, RunsABatchToItsEnd) {
  open();
  start();
  const std::string id = create(rows(10) + row("x", "bad one") + row("y", "p3"));
  const BatchRecord record = wait_for(id, kCompleted);
  EXPECT_EQ(record.counts, (RequestCounts{12, 11, 1}));
  EXPECT_EQ(record.usage, (BatchUsage{33, 11, 22, 0}));
  EXPECT_EQ(record.models, std::vector<std::string>{"m"});
  const BatchState& state = record.state;
  EXPECT_TRUE(state.in_progress_at && state.finalizing_at && state.completed_at);
  auto found = outcomes(record);
  EXPECT_EQ(found.size(), 12U);
  EXPECT_EQ(found["r7"], "echo p7");
  EXPECT_EQ(found["x"], "cannot");

  const auto output = std::get<StoredFile>(files->get(me, *record.output_file_id));
  EXPECT_EQ(output.purpose, "batch_output");
  EXPECT_EQ(output.filename, id + "_output.jsonl");
  EXPECT_EQ(files->totals().files, 3);
  // Without its files nothing is left of it but its record.
  for (const std::string& file : {*record.output_file_id, *record.error_file_id})
    EXPECT_TRUE(std::holds_alternative<std::monostate>(files->remove(me, file)));
  EXPECT_FALSE(fs::exists(folder / batch_folder(id)));
  EXPECT_EQ(view(id).record, record);
}

TEST_F(BatchServiceTest, WhileRowsRunTheirUsageAndFailuresAreKnown) {
  Gate gate(6);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open();
  start();
  // Of any six rows at least one fails.
  const std::string id =
      create(row("x", "bad 1") + row("y", "bad 2") + row("z", "bad 3") + rows(5));
  const BatchView running = wait_until(id, [](const BatchView& now) {
    return now.record.counts.completed + now.record.counts.failed == 6;
  });
  EXPECT_EQ(running.record.state.status, kInProgress);
  const RequestCounts counts = running.record.counts;
  const BatchUsage usage{3 * counts.completed, counts.completed, 2 * counts.completed, 0};
  EXPECT_EQ(running.record.usage, usage);
  ASSERT_TRUE(running.progress.has_value());
  EXPECT_EQ(
      running.progress->failures,
      (std::vector<batch::FailureKind>{{.status = 400, .code = "cannot", .rows = counts.failed}}));
  const std::vector<RunningBatch> listed = service->running(std::nullopt);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].id, id);
  EXPECT_EQ(listed[0].url, "/v1/completions");
  EXPECT_EQ(listed[0].counts, counts);
  EXPECT_TRUE(service->running("alice").empty()) << "it is no batch of that key";

  // A new process knows what the rows of the earlier one used.
  service->stop(Duration{});
  Gate closed(0);
  before_answer = [&](const llm::BackendCall& call) { closed.pass(call); };
  open();
  start();
  const BatchView again = wait_until(
      id, [](const BatchView& now) { return now.progress && !now.progress->failures.empty(); });
  // A row that was in flight may have been answered while the service stopped.
  const int64_t answered = again.record.counts.completed;
  EXPECT_GE(answered, counts.completed);
  EXPECT_EQ(again.record.usage, (BatchUsage{3 * answered, answered, 2 * answered, 0}));
  EXPECT_EQ(again.progress->failures.front().rows, again.record.counts.failed);
  closed.open_all();
  const BatchRecord done = wait_for(id, kCompleted);
  EXPECT_EQ(done.usage, (BatchUsage{15, 5, 10, 0}));
  EXPECT_FALSE(view(id).progress.has_value());
}

TEST_F(BatchServiceTest, RateAndTimeLeftComeFromTheRowsOfThisProcess) {
  Gate gate(0);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open();
  start();
  const std::string id = create(rows(40));
  wait_until(id, [](const BatchView& now) { return now.progress.has_value(); });
  // The rate begins with a reading that the clock's thread takes.
  ASSERT_TRUE(windrow::testing::eventually([&] {
    clock.advance(seconds(1));
    return service->running(std::nullopt).at(0).progress.elapsed >= seconds(2);
  }));
  gate.let(20);
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed == 20; });
  clock.advance(seconds(10));
  const BatchView now = view(id);
  ASSERT_TRUE(now.progress.has_value());
  EXPECT_GT(now.progress->rows_per_s, 0);
  ASSERT_TRUE(now.progress->left.has_value());
  EXPECT_NEAR(windrow::seconds(*now.progress->left), 20 / now.progress->rows_per_s, 0.01);
  gate.open_all();
  wait_for(id, kCompleted);
}

// Whatever an answer is that was accepted, its line counts, and its row is not asked again.
TEST_F(BatchServiceTest, RepliesAsDeepAsTheyMayBeAreItsOutput) {
  const std::string deep = R"({"choices":[{"text":"x"}],"vendor":)" +
                           std::string(kJsonDepthMax - 1, '[') +
                           std::string(kJsonDepthMax - 1, ']') + "}";
  open([&](const llm::Request&) {
    llm::Answer answer;
    answer.raw = deep;
    return llm::Outcome(answer);
  });
  start();
  const BatchRecord done = wait_for(create(rows(3)), kCompleted);
  EXPECT_EQ(done.counts, (RequestCounts{3, 3, 0}));
  EXPECT_EQ(asked().size(), 3U);
  EXPECT_NE(content(done.output_file_id).find(deep), std::string::npos);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(BatchServiceTest, AFileWithFaultsFailsWithTheirLines) {
  open();
  start();
  const std::string id =
      create(row("a", "p") + "no json\n" + row("a", "q") + row("c", "p", "nobody"));
  const BatchRecord record = wait_for(id, kFailed);
  ASSERT_EQ(record.faults.size(), 3U);
  EXPECT_EQ(record.faults[0].code, "invalid_json_line");
  EXPECT_EQ(record.faults[0].line, 2);
  EXPECT_EQ(record.faults[1].code, "duplicate_custom_id");
  EXPECT_EQ(record.faults[2].code, "model_not_found");
  EXPECT_TRUE(asked().empty());
  EXPECT_FALSE(record.output_file_id || record.error_file_id);
  EXPECT_EQ(service->readings().by_status.at(static_cast<size_t>(kFailed)), 1);
}

TEST_F(BatchServiceTest, ABatchWantsAFileThatIsThere) {
  open();
  const auto why = [&](const std::string& file, const Viewer& owner) {
    const auto made = service->create(owner, request(file), "");
    const auto* failure = std::get_if<llm::Failure>(&made);
    return failure == nullptr ? "" : failure->param;
  };
  EXPECT_EQ(why("file-1", me), "input_file_id");
  const std::string file = upload(rows(1), {.key = "alice"});
  EXPECT_EQ(why(file, {.key = "bob"}), "input_file_id");
  EXPECT_EQ(why(file, {.key = "alice"}), "");
  start();
}

TEST_F(BatchServiceTest, OthersDoNotSeeIt) {
  open();
  const Viewer alice{.key = "alice"};
  const Viewer bob{.key = "bob"};
  const std::string id =
      std::get<BatchView>(service->create(alice, request(upload(rows(1), alice)), "")).record.id;
  EXPECT_EQ(std::get<llm::Failure>(service->get(bob, id)).status, 404);
  EXPECT_EQ(std::get<llm::Failure>(service->cancel(bob, id)).status, 404);
  EXPECT_TRUE(std::get<BatchPage>(service->list(bob, {})).batches.empty());
  EXPECT_EQ(std::get<BatchPage>(service->list(me, {})).batches.size(), 1U);
  EXPECT_EQ(std::get<BatchPage>(service->list(alice, {})).batches.size(), 1U);
}

TEST_F(BatchServiceTest, ListsTheNewestFirstWithCursors) {
  open();
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i)
    ids.insert(ids.begin(), create(rows(1)));
  std::vector<std::string> listed;
  BatchQuery query{.limit = 2};
  for (bool more = true; more;) {
    const auto page = std::get<BatchPage>(service->list(me, query));
    for (const BatchView& batch : page.batches)
      listed.push_back(batch.record.id);
    more = page.has_more;
    query.after = listed.back();
  }
  EXPECT_EQ(listed, ids);
  EXPECT_EQ(std::get<llm::Failure>(service->list(me, {.limit = 101})).param, "limit");
  EXPECT_EQ(std::get<llm::Failure>(service->list(me, {.after = "batch_x"})).param, "after");
}

TEST_F(BatchServiceTest, AKeyThatWasUsedBringsWhatItMade) {
  open();
  const std::string file = upload(rows(1));
  const auto id_of = [](const Reply<BatchView>& reply) {
    return std::get<BatchView>(reply).record.id;
  };
  const std::string id = id_of(service->create(me, request(file), "key"));
  EXPECT_EQ(id_of(service->create(me, request(file), "key")), id);
  EXPECT_NE(id_of(service->create(me, request(file), "other")), id);
  EXPECT_NE(id_of(service->create(me, request(file), "")), id);
  BatchRequest longer = request(file);
  longer.window_s *= 2;
  EXPECT_EQ(std::get<llm::Failure>(service->create(me, longer, "key")).code,
            "idempotency_key_reused");
  start();
  wait_for(id, kCompleted);
  open();
  EXPECT_EQ(id_of(service->create(me, request(file), "key")), id);
}

TEST_F(BatchServiceTest, ACancelledOneKeepsWhatItHas) {
  Gate gate(3);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open(echo);
  start();
  const std::string id = create(rows(1000));
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed >= 3; });
  for (int times = 0; times < 2; ++times) {
    const auto cancelled = service->cancel(me, id);
    const auto* failure = std::get_if<llm::Failure>(&cancelled);
    ASSERT_EQ(failure, nullptr) << failure->code << ": " << failure->message;
    EXPECT_EQ(std::get<BatchView>(cancelled).record.state.status, kCancelling);
  }
  gate.open_all();
  const BatchRecord record = wait_for(id, kCancelled);
  EXPECT_EQ(record.counts.total, 1000);
  EXPECT_GE(record.counts.completed, 3);
  EXPECT_LT(record.counts.completed, 1000);
  EXPECT_EQ(outcomes(record).size(), static_cast<size_t>(record.counts.completed));
  EXPECT_EQ(std::get<BatchView>(service->cancel(me, id)).record.state.status, kCancelled);
}

TEST_F(BatchServiceTest, WhatHasEndedCannotBeCancelled) {
  open();
  start();
  const std::string id = create(rows(1));
  wait_for(id, kCompleted);
  const auto refused = std::get<llm::Failure>(service->cancel(me, id));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.code, "batch_not_cancellable");
}

TEST_F(BatchServiceTest, ABatchThatNeverBeganIsCancelledAtOnce) {
  open();
  const std::string id = create(rows(5));
  EXPECT_EQ(std::get<BatchView>(service->cancel(me, id)).record.state.status, kCancelling);
  start();
  const BatchRecord record = wait_for(id, kCancelled);
  EXPECT_EQ(record.counts, RequestCounts{});
  EXPECT_FALSE(record.output_file_id || record.error_file_id);
  EXPECT_TRUE(asked().empty());
  EXPECT_FALSE(fs::exists(folder / batch_folder(id)));
}

TEST_F(BatchServiceTest, AnExpiredBatchHasAnErrorForEachRowThatIsLeft) {
  Gate gate(3);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open(echo);
  start();
  const std::string id = create(rows(100));
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed >= 3; });
  clock.advance(hours(24));
  wait_until(id, [](const BatchView& now) { return now.record.state.status != kInProgress; });
  gate.open_all();
  const BatchRecord record = wait_for(id, kExpired);
  EXPECT_EQ(record.counts.completed + record.counts.failed, 100);
  EXPECT_TRUE(record.state.expired_at);
  auto found = outcomes(record);
  EXPECT_EQ(found.size(), 100U);
  EXPECT_EQ(found["r99"], "batch_expired");
  const std::string errors = content(record.error_file_id);
  const auto line = boost::json::parse(errors.substr(0, errors.find('\n')));
  EXPECT_TRUE(line.at("response").is_null());
  EXPECT_EQ(line.at("error").at("message"),
            "This request could not be executed before the completion window expired.");
}

// The process ends in the middle, in whatever phase: what has a result is not asked for again.
TEST_F(BatchServiceTest, GoesOnAfterARestartAndAsksNothingTwice) {
  const std::string input = rows(200);
  Gate first(50);
  before_answer = [&](const llm::BackendCall& call) { first.pass(call); };
  open(echo);
  start();
  const std::string id = create(input);
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed >= 50; });
  // Without grace: those that are being answered are not wanted any more.
  service->stop(Duration{});
  const int64_t before = service->readings().rows_completed;
  EXPECT_GE(before, 50);
  EXPECT_LT(before, 200);

  close();
  before_answer = nullptr;
  open();
  EXPECT_EQ(view(id).record.state.status, kInProgress);
  start();
  const BatchRecord record = wait_for(id, kCompleted);
  EXPECT_EQ(record.counts, (RequestCounts{200, 200, 0}));
  EXPECT_EQ(outcomes(record).size(), 200U);
  EXPECT_EQ(static_cast<int64_t>(asked().size()), 200 - before);
}

TEST_F(BatchServiceTest, AFullDiskHoldsItBackAndNoMore) {
  open();
  const std::string id = create(rows(50));
  disk.set_faults({.bytes_until_full = 2000});
  start();
  const BatchView full = wait_until(id, [](const BatchView& now) { return !now.note.empty(); });
  EXPECT_EQ(full.record.state.status, kInProgress);
  EXPECT_NE(full.note.find("disk is full"), std::string::npos) << full.note;
  const auto note = batch_json(full.record, full.note).at("windrow").at("note");
  EXPECT_EQ(std::string(note.as_string()), full.note);
  EXPECT_FALSE(warnings().empty());
  disk.set_faults({});
  clock.advance(seconds(10));
  const BatchRecord record = wait_for(id, kCompleted);
  EXPECT_EQ(outcomes(record).size(), 50U);
}

// A server that was started with other models than before.
TEST_F(BatchServiceTest, AModelThatIsNotThereAnyMoreIsWaitedFor) {
  open();
  const std::string id = create(row("a", "p", "gone"));
  BatchRecord record = view(id).record;
  record.state.status = kInProgress;
  record.models = {"gone"};
  record.counts.total = 1;
  ASSERT_TRUE(BatchTable(data->database()).update(record));
  open();
  models->gone_is_there = false;
  start();
  const BatchView waits = wait_until(id, [](const BatchView& now) { return !now.note.empty(); });
  EXPECT_NE(waits.note.find("no model gone"), std::string::npos);
  models->gone_is_there = true;
  clock.advance(seconds(10));
  wait_for(id, kCompleted);
}

TEST_F(BatchServiceTest, RowsThatReachNoUpstreamDoNotFail) {
  std::atomic<bool> there = false;
  open([&](const llm::Request& request) -> llm::Outcome {
    if (there) return echo(request);
    // As a dispatcher says it when its patience has ended.
    return llm::Failure{.status = 502, .code = "upstream_unreachable", .unreached = true};
  });
  start();
  const std::string id = create(rows(20));
  const BatchView waits = wait_until(id, [](const BatchView& now) { return !now.note.empty(); });
  EXPECT_EQ(waits.record.state.status, kInProgress);
  there = true;
  clock.advance(seconds(10));
  const BatchRecord record = wait_for(id, kCompleted);
  EXPECT_EQ(record.counts, (RequestCounts{20, 20, 0}));
}

TEST_F(BatchServiceTest, ABatchSaysThatNoUpstreamIsThere) {
  open();
  models->is_unavailable = true;
  start();
  const std::string id = create(rows(3));
  const BatchView waits = wait_until(id, [](const BatchView& now) { return !now.note.empty(); });
  EXPECT_NE(waits.note.find("nobody is there"), std::string::npos);
  EXPECT_TRUE(asked().empty());
  models->is_unavailable = false;
  clock.advance(seconds(10));
  wait_for(id, kCompleted);
}

TEST_F(BatchServiceTest, ABatchWithoutItsInputFailsOrWaitsUntilItExpires) {
  open();
  const std::string first = create(rows(3));
  const std::string second = create(rows(3));
  for (const std::string& id : {first, second})
    fs::remove(folder / file_path(view(id).record.request.input_file_id));
  BatchRecord record = view(second).record;
  record.state.status = kInProgress;
  record.models = {"m"};
  ASSERT_TRUE(BatchTable(data->database()).update(record));
  open();
  start();
  EXPECT_EQ(wait_for(first, kFailed).faults.at(0).code, "file_bytes_missing");
  const BatchView waits =
      wait_until(second, [](const BatchView& now) { return !now.note.empty(); });
  EXPECT_NE(waits.note.find("gone"), std::string::npos) << waits.note;
  clock.advance(hours(24));
  wait_for(second, kExpired);
}

TEST_F(BatchServiceTest, ABatchThatWaitsForItsModelHoldsNoPlaceAndSaysSo) {
  Gate gate(0);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open(echo, {.running_max = 1});
  models->other_is_waited_for = true;
  start();
  const std::string waits = create(row("a", "one", "other"));
  const std::string goes = create(row("b", "two"));
  windrow::testing::eventually([&] { return dispatcher->in_flight(); }, Ge(2));
  EXPECT_NE(view(waits).note.find("the model other is not loaded"), std::string::npos)
      << view(waits).note;
  models->other_is_waited_for = false;
  gate.open_all();
  wait_for(goes, kCompleted);
  wait_for(waits, kCompleted);
}

TEST_F(BatchServiceTest, AnInputThatExpiresIsReadToTheEnd) {
  Gate gate(5);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open(echo);
  start();
  const std::string id = create(rows(50));
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed >= 5; });
  ASSERT_TRUE(data->database().change("UPDATE files SET expires_at = ?", {clock.unix_seconds()}));
  gate.open_all();
  service->stop(Duration{});
  close();
  before_answer = nullptr;
  open();
  start();
  const BatchRecord record = wait_for(id, kCompleted);
  EXPECT_EQ(outcomes(record).size(), 50U);
}

TEST_F(BatchServiceTest, WhatWasCountedIsKnownAfterARestartBeforeAnythingRuns) {
  Gate gate(7);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open(echo);
  start();
  const std::string id = create(rows(50));
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed >= 7; });
  clock.advance(seconds(5));
  BatchTable table(data->database());
  windrow::testing::eventually([&] { return table.find(id).value().value().counts.completed; },
                               Ge(7));
  gate.open_all();
  close();  // while the gate is there
}

TEST_F(BatchServiceTest, ABatchThatIsStoppedHasItsCountsInTheDatabase) {
  Gate gate(7);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open(echo);
  start();
  const std::string id = create(rows(50));
  wait_until(id, [](const BatchView& now) { return now.record.counts.completed >= 7; });
  gate.open_all();
  service->stop(Duration{});
  EXPECT_GE(BatchTable(data->database()).find(id).value().value().counts.completed, 7);
  close();  // while the gate is there
}

TEST_F(BatchServiceTest, ARecordThatIsDamagedFailsAloneAndTheRestServes) {
  open();
  const std::string bad = create(rows(1));
  const std::string good = create(rows(1));
  ASSERT_TRUE(data->database().change("UPDATE batches SET record = '{' WHERE id = ?", {bad}));
  open();
  EXPECT_EQ(view(bad).record.state.status, kFailed);
  EXPECT_EQ(view(bad).record.faults.at(0).code, "record_damaged");
  start();
  wait_for(good, kCompleted);
}

TEST_F(BatchServiceTest, SoManyRunAtATimeAndTheOthersInTheirOrder) {
  Gate gate(0);
  before_answer = [&](const llm::BackendCall& call) { gate.pass(call); };
  open(echo, {.running_max = 2});
  start();
  const std::string first = create(row("a", "one"));
  const std::string second = create(row("b", "two"));
  const std::string third = create(row("c", "three"));
  wait_for(third, kInProgress);
  backend->wait_for_submitted(2);  // what the dispatcher has taken may yet be in any order
  EXPECT_EQ(view(third).record.state.status, kInProgress);
  gate.open_all();
  for (const std::string& id : {first, second, third})
    wait_for(id, kCompleted);
  EXPECT_EQ(asked().back(), "three");
  EXPECT_EQ(service->readings().rows_completed, 3);
}

TEST_F(BatchServiceTest, SeveralModelsInOneFileWhereTheyMay) {
  open();
  start();
  const std::string id = create(row("a", "p", "m") + row("b", "q", "gone"));
  EXPECT_EQ(wait_for(id, kFailed).faults.at(0).code, "model_mismatch");
  open(echo, {.mixed_models = true});
  start();
  const BatchRecord record =
      wait_for(create(row("a", "p", "m") + row("b", "q", "gone")), kCompleted);
  EXPECT_EQ(outcomes(record).size(), 2U);
}

TEST_F(BatchServiceTest, AFileThatTakesLongToReadLetsOthersGoFirst) {
  open();
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0;
  bool goes_on = false;
  models->on_find = [&](std::string_view name) {
    if (name != "alias") return;
    std::unique_lock lock(mutex);
    ++asked;
    changed.notify_all();
    changed.wait(lock, [&] { return goes_on; });
  };
  start();
  const std::string longer = create(row("a", "p", "alias"));
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return asked == 1; });
  }
  // Alone it may take as long as it likes.
  clock.advance(seconds(100));
  const std::string shorter = create(row("b", "p"));
  wait_until(longer, [](const BatchView& now) { return !now.note.empty(); });
  EXPECT_EQ(view(longer).record.state.status, kValidating);
  {
    const std::scoped_lock lock(mutex);
    goes_on = true;
    changed.notify_all();
  }
  wait_for(shorter, kCompleted);
  wait_for(longer, kCompleted);
  EXPECT_EQ(asked, 3) << "it is validated, once more, and runs";
  EXPECT_TRUE(view(longer).note.empty());
}

TEST_F(BatchServiceTest, EndedBatchesAreCountedAndTakeNoPlace) {
  open();
  start();
  for (int i = 0; i < 20; ++i)
    wait_for(create(rows(3)), kCompleted);
  EXPECT_EQ(service->readings().by_status.at(static_cast<size_t>(kCompleted)), 20);
  EXPECT_EQ(service->readings().rows_completed, 60);
}

}  // namespace
}  // namespace windrow::batches
