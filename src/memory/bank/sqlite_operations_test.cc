// The queue of operations of a bank as SqliteBankStore keeps it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "memory/bank/testing/bank_fixture.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr OperationType kConsolidation = OperationType::kConsolidation;
constexpr OperationType kRetain = OperationType::kRetain;

class SqliteOperationsTest : public testing::BankTest {
 protected:
  void add(const std::string& id, OperationType type, UnixMs created,
           std::optional<UnixMs> next_retry = {}) {
    Operation operation;
    operation.id = OperationId{id};
    operation.type = type;
    operation.payload = {{"what", id}};
    operation.next_retry = next_retry;
    operation.created = created;
    operation.updated = created;
    const Result<void> added = store().add_operation(operation);
    EXPECT_TRUE(added) << added.error().message;
  }

  std::string claimed(OperationType type, const std::string& worker, UnixMs now) {
    const std::optional<Operation> operation = *store().claim(type, worker, now, 100);
    return operation ? operation->id.text : "";
  }

  Operation operation(const std::string& id) { return *store().operation(OperationId{id}); }
  OperationStatus status(const std::string& id) { return operation(id).status; }
};

TEST_F(SqliteOperationsTest, AreKeptAndListedNewestFirst) {
  add("a", kRetain, 10);
  add("b", kConsolidation, 20);
  add("c", kRetain, 20);
  EXPECT_EQ(operation("a").payload, (boost::json::object{{"what", "a"}}));
  Operation twice = operation("a");
  EXPECT_EQ(store().add_operation(twice).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(store().operation(OperationId{"z"}).error().kind, ErrorKind::kNotFound);
  const auto listed = [&](std::optional<OperationStatus> status, std::optional<OperationType> type,
                          int64_t limit, int64_t offset) {
    int64_t total = 0;
    std::vector<std::string> ids;
    for (const Operation& one : *store().operations(status, type, limit, offset, &total))
      ids.push_back(one.id.text);
    ids.push_back(std::to_string(total));
    return ids;
  };
  EXPECT_THAT(listed({}, {}, 2, 0), ElementsAre("c", "b", "3"));
  EXPECT_THAT(listed({}, {}, 2, 2), ElementsAre("a", "3"));
  EXPECT_THAT(listed({}, kRetain, 9, 0), ElementsAre("c", "a", "2"));
  EXPECT_THAT(listed(OperationStatus::kFailed, {}, 9, 0), ElementsAre("0"));
}

TEST_F(SqliteOperationsTest, OneConsolidationIsPendingAtATime) {
  const BankStore::Submitted first = *store().submit_consolidation(OperationId{"a"}, 10);
  EXPECT_FALSE(first.deduplicated);
  const BankStore::Submitted second = *store().submit_consolidation(OperationId{"b"}, 11);
  EXPECT_TRUE(second.deduplicated);
  EXPECT_EQ(second.id.text, "a");
  EXPECT_EQ(claimed(kConsolidation, "w", 12), "a");
  EXPECT_FALSE(store().submit_consolidation(OperationId{"c"}, 13)->deduplicated);
  // One with arguments is another thing.
  ASSERT_TRUE(store().cancel_operation(OperationId{"c"}, 14));
  add("d", kConsolidation, 15);
  EXPECT_FALSE(store().submit_consolidation(OperationId{"e"}, 16)->deduplicated);
}

TEST_F(SqliteOperationsTest, TheOldestThatIsDueIsClaimedAndOneOfATypeAtATime) {
  add("late", kRetain, 5, 500);
  add("a", kRetain, 10);
  add("b", kRetain, 11);
  add("c", kConsolidation, 12);
  const Operation taken = **store().claim(kRetain, "w", 20, 100);
  EXPECT_EQ(taken.id.text, "a");
  EXPECT_EQ(taken.status, OperationStatus::kProcessing);
  EXPECT_EQ(taken.worker, "w");
  EXPECT_EQ(taken.lease_until, 120);
  EXPECT_FALSE(taken.taken_over);
  EXPECT_EQ(operation("a").lease_until, 120);
  EXPECT_EQ(claimed(kRetain, "w", 21), "") << "one retain is in progress";
  EXPECT_EQ(*store().next_due(kRetain), 120);
  EXPECT_EQ(claimed(kConsolidation, "w", 21), "c");
  Operation done = taken;
  done.status = OperationStatus::kCompleted;
  done.result = {{"count", 3}};
  ASSERT_TRUE(store().finish(done, "w", 30));
  EXPECT_EQ(operation("a").completed, 30);
  EXPECT_EQ(operation("a").result, (boost::json::object{{"count", 3}}));
  EXPECT_EQ(claimed(kRetain, "w", 31), "b");
  done.id = OperationId{"b"};
  ASSERT_TRUE(store().finish(done, "w", 32));
  EXPECT_EQ(claimed(kRetain, "w", 499), "");
  EXPECT_EQ(*store().next_due(kRetain), 500);
  EXPECT_EQ(claimed(kRetain, "w", 500), "late");
  done.id = OperationId{"late"};
  ASSERT_TRUE(store().finish(done, "w", 501));
  EXPECT_EQ(*store().next_due(kRetain), std::nullopt);
}

TEST_F(SqliteOperationsTest, AnOrphanIsTakenOverAfterItsLease) {
  add("a", kConsolidation, 10);
  EXPECT_EQ(claimed(kConsolidation, "dead", 20), "a");
  EXPECT_EQ(claimed(kConsolidation, "w", 119), "");
  file_.reopen();
  const Operation taken = **store().claim(kConsolidation, "w", 120, 100);
  EXPECT_EQ(taken.id.text, "a");
  EXPECT_TRUE(taken.taken_over);
  const Result<void> renewed = store().renew(OperationId{"a"}, "dead", {}, 121, 100);
  EXPECT_EQ(renewed.error().kind, ErrorKind::kConflict);
  EXPECT_THAT(renewed.error().message, HasSubstr("taken over by \"w\""));
  Operation late = taken;
  late.status = OperationStatus::kFailed;
  EXPECT_EQ(store().finish(late, "dead", 122).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(status("a"), OperationStatus::kProcessing);
}

TEST_F(SqliteOperationsTest, ALeaseIsRenewedWithProgress) {
  add("a", kConsolidation, 10);
  EXPECT_EQ(claimed(kConsolidation, "w", 20), "a");
  ASSERT_TRUE(store().renew(OperationId{"a"}, "w", {{"processed", 3}}, 90, 100));
  EXPECT_EQ(operation("a").lease_until, 190);
  EXPECT_EQ(operation("a").result,
            (boost::json::object{{"progress", boost::json::object{{"processed", 3}}}}));
  ASSERT_TRUE(store().renew(OperationId{"a"}, "w", {}, 95, 100));
  EXPECT_EQ(operation("a").lease_until, 195);
  EXPECT_TRUE(operation("a").result.contains("progress")) << "an empty one is not written";
  EXPECT_EQ(claimed(kConsolidation, "x", 190), "");
}

TEST_F(SqliteOperationsTest, OneThatIsPutBackWaitsForItsRetry) {
  add("a", kConsolidation, 10);
  Operation taken = **store().claim(kConsolidation, "w", 20, 100);
  taken.status = OperationStatus::kPending;
  taken.next_retry = 300;
  taken.retries = 1;
  taken.error = "busy";
  ASSERT_TRUE(store().finish(taken, "w", 30));
  EXPECT_EQ(operation("a").retries, 1);
  EXPECT_EQ(operation("a").error, "busy");
  EXPECT_FALSE(operation("a").completed);
  EXPECT_EQ(claimed(kConsolidation, "w", 299), "");
  EXPECT_EQ(claimed(kConsolidation, "w", 300), "a");
  taken.status = OperationStatus::kProcessing;
  EXPECT_EQ(store().finish(taken, "w", 301).error().kind, ErrorKind::kInvalid);
}

// A retain in the background and its operation end together, or neither does.
TEST_F(SqliteOperationsTest, ARetainCompletesItsOperation) {
  add("a", kRetain, 10);
  EXPECT_EQ(claimed(kRetain, "w", 20), "a");
  Retained retained{.facts = {testing::fact("tea", {})}};
  retained.work = {
      .operation = OperationId{"a"}, .worker = "other", .result = {{"items_count", 1}}};
  const Result<std::vector<MemoryId>> taken_over = store().retain(retained, 30);
  ASSERT_FALSE(taken_over);
  EXPECT_EQ(taken_over.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(store().stats()->facts_world, 0);
  retained.work->worker = "w";
  ASSERT_TRUE(store().retain(retained, 40));
  EXPECT_EQ(status("a"), OperationStatus::kCompleted);
  EXPECT_EQ(operation("a").completed, 40);
  EXPECT_EQ(operation("a").result, (boost::json::object{{"items_count", 1}}));
  EXPECT_FALSE(store().retain(retained, 50)) << "it is done";
  EXPECT_EQ(store().stats()->facts_world, 1);

  add("b", kRetain, 60);
  EXPECT_EQ(claimed(kRetain, "w", 60), "b");
  ASSERT_TRUE(store().cancel_operation(OperationId{"b"}, 61));
  retained.work->operation = OperationId{"b"};
  EXPECT_THAT(store().retain(retained, 62).error().message, HasSubstr("is cancelled"));
  EXPECT_EQ(store().stats()->facts_world, 1);
}

TEST_F(SqliteOperationsTest, CancelRetryAndDeleteGoByTheStatus) {
  add("a", kRetain, 10);
  const OperationId id{"a"};
  const OperationId none{"none"};
  EXPECT_EQ(store().cancel_operation(none, 11).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(store().retry_operation(none, 11).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(store().delete_operation(none).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(store().retry_operation(id, 11).error().kind, ErrorKind::kConflict);
  const Result<void> early = store().delete_operation(id);
  EXPECT_EQ(early.error().kind, ErrorKind::kConflict);
  EXPECT_THAT(early.error().message, HasSubstr("is pending; cancel it"));
  ASSERT_TRUE(store().cancel_operation(id, 12));
  EXPECT_EQ(status("a"), OperationStatus::kCancelled);
  EXPECT_EQ(operation("a").completed, 12);
  EXPECT_EQ(store().cancel_operation(id, 13).error().kind, ErrorKind::kConflict);
  ASSERT_TRUE(store().retry_operation(id, 14));
  EXPECT_EQ(status("a"), OperationStatus::kPending);

  EXPECT_EQ(claimed(kRetain, "w", 20), "a");
  ASSERT_TRUE(store().cancel_operation(id, 21));
  const Result<void> renewed = store().renew(id, "w", {}, 22, 100);
  EXPECT_EQ(renewed.error().kind, ErrorKind::kConflict);
  EXPECT_THAT(renewed.error().message, HasSubstr("is cancelled"));
  ASSERT_TRUE(store().delete_operation(id));
  EXPECT_EQ(store().operation(id).error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(store().renew(id, "w", {}, 23, 100).error().message, HasSubstr("was deleted"));
  EXPECT_THAT(*store().operations({}, {}, 9, 0, nullptr), IsEmpty());
}

}  // namespace
}  // namespace windrow::memory
