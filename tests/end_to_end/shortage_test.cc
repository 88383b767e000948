// Threads that the system does not give: `ulimit -u`. (`ulimit -v` needs a program without
// AddressSanitizer, which reserves terabytes.)
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;

// Each limit refuses another thread: of the signals, the model, the dispatcher, the job.
TEST(Shortage, ThreadsThatAreNotThereAreNoDefect) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr int kExitShortage = 3;
  constexpr uint64_t kLimitMax = 24;
  JobFolder folder;
  folder.write(
      "in.jsonl",
      R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m",)"
      R"("max_tokens":2,"messages":[{"role":"user","content":"Hi"}]}})"
      "\n");
  // The input is looked at as that user, without the rights that it keeps.
  std::filesystem::permissions(folder.path("."), std::filesystem::perms::all);
  int refused = 0;
  int completed = 0;
  for (uint64_t limit = 1; limit <= kLimitMax && completed == 0; ++limit) {
    Command command = folder.command(
        {"run", "in.jsonl", "-o", fmt::format("out{}.jsonl", limit), "--model", "sim:"});
    command.threads_max = limit;
    const Ended ended = run(command);
    ASSERT_THAT(ended.code, AnyOf(Eq(0), Eq(kExitShortage))) << limit << ended;
    if (ended.code == 0) {
      ++completed;
      continue;
    }
    ++refused;
    EXPECT_THAT(ended.errors, HasSubstr("ulimit -u")) << limit;
    EXPECT_THAT(ended.errors, Not(HasSubstr("defect"))) << limit;
  }
  EXPECT_GE(refused, 3);
  EXPECT_EQ(completed, 1) << "with enough of them it runs";
}

}  // namespace
}  // namespace windrow::end_to_end
