#include <gtest/gtest.h>

#include "program/testing/program_rig.h"

namespace windrow::program {
namespace {

using testing::program_of;
using testing::ProgramRig;

// The loops are longer than a slice.
TEST(TaskTurns, TasksOfAnInstanceTakeTurnsOnlyWhereOneWaits) {
  ProgramRig rig(program_of(R"(
    local count = 0
    local function add_slowly()
      local before = count
      for _ = 1, 300000 do end
      count = before + 1
    end
    all{add_slowly, add_slowly, add_slowly}
    return count)"));
  EXPECT_EQ(rig.start().result().as_int64(), 3);
}

TEST(TaskTurns, AnInstanceThatComputesLetsOthersHaveTheirs) {
  ProgramRig rig(program_of(R"(
    if input == "computes" then while true do end end
    return "here")"));
  auto computes = rig.start(R"("computes")");
  EXPECT_EQ(rig.start().result().as_string(), "here");
  EXPECT_EQ(computes.failure().code, kInstructionLimit);
}

}  // namespace
}  // namespace windrow::program
