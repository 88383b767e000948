#include "memory/bank/memory.h"

#include <gtest/gtest.h>

#include "memory/bank/operation.h"

namespace windrow::memory {
namespace {

constexpr UnixMs kEarly = 1'583'020'800'000;
constexpr UnixMs kLate = 1'625'401'800'000;

TEST(MemoryTimes, WidenAndNeverNarrow) {  // T4, T5 of Hindsight's tests of merged times
  const MemoryTimes one = {
      .event = kLate, .occurred_start = kLate, .occurred_end = kEarly, .mentioned = std::nullopt};
  const MemoryTimes other = {
      .event = kEarly, .occurred_start = std::nullopt, .occurred_end = kLate, .mentioned = kLate};
  const MemoryTimes wide = {
      .event = kEarly, .occurred_start = kLate, .occurred_end = kLate, .mentioned = kLate};
  EXPECT_EQ(widened(one, other), wide);
  EXPECT_EQ(widened(other, one), wide);
  EXPECT_EQ(widened(wide, MemoryTimes()), wide);
  EXPECT_EQ(widened(MemoryTimes(), MemoryTimes()), MemoryTimes());
}

TEST(MemoryType, IsNamedAsClientsNameIt) {
  for (const MemoryType type :
       {MemoryType::kWorld, MemoryType::kExperience, MemoryType::kObservation})
    EXPECT_EQ(memory_type_named(to_string(type)), type);
  EXPECT_EQ(to_string(MemoryType::kWorld), "world");
  EXPECT_EQ(memory_type_named("opinion"), std::nullopt);
}

TEST(Operation, StatusAndTypeAreNamedAsClientsNameThem) {
  for (const OperationStatus status :
       {OperationStatus::kPending, OperationStatus::kProcessing, OperationStatus::kCompleted,
        OperationStatus::kFailed, OperationStatus::kCancelled})
    EXPECT_EQ(operation_status_named(to_string(status)), status);
  for (const OperationType type : {OperationType::kRetain, OperationType::kConsolidation})
    EXPECT_EQ(operation_type_named(to_string(type)), type);
  EXPECT_EQ(operation_status_named("done"), std::nullopt);
  EXPECT_EQ(operation_type_named(""), std::nullopt);
}

}  // namespace
}  // namespace windrow::memory
