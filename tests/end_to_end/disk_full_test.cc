// No room left: a clear message, logs that are valid, and the same command that continues.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 12;

// Long names, so that every line is of about 3 KB, and every other one a failure.
std::string long_lines() {
  std::string text;
  for (int i = 1; i <= kRows; ++i) {
    text += completion_line(fmt::format("{}-{}", i, std::string(2500, 'x')), "the water",
                            {{"max_tokens", 3}, {"temperature", i % 2 == 0 ? 0 : 7}});
  }
  return text;
}

class FileSizeLimit : public ::testing::TestWithParam<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Bytes, FileSizeLimit,
                         ::testing::Values(0, 100, 2800, 2999, 3000, 7000, 12345),
                         ::testing::PrintToStringParamName());

TEST_P(FileSizeLimit, StopsTheRunAndTheSameCommandContinues) {
  JobFolder folder;
  folder.use_model(model_path("llama"));
  folder.write("requests.jsonl", long_lines());
  const Words words = exact_run("requests.jsonl", "results.jsonl", {"--rows-max", "2"});
  Command command = folder.command(words);
  command.file_bytes_max = GetParam();
  const Ended full = run(command);
  EXPECT_EQ(full.code, 2) << full;
  EXPECT_THAT(full.errors, HasSubstr("File too large"));
  EXPECT_THAT(full.errors, HasSubstr("the same command"));
  EXPECT_LT(read_log(folder, "results.jsonl").size(), size_t{kRows / 2});
  EXPECT_LT(read_log(folder, "results.errors.jsonl").size(), size_t{kRows / 2});

  const Ended still_full = run(command);
  EXPECT_EQ(still_full.code, 2) << still_full;

  const Ended continued = folder.windrow(words);
  EXPECT_EQ(continued.code, 1) << continued;
  const Ended undisturbed =
      folder.windrow(exact_run("requests.jsonl", "whole.jsonl", {"--rows-max", "2"}));
  EXPECT_EQ(undisturbed.code, 1) << undisturbed;
  EXPECT_EQ(difference(outcomes_of_job(folder, "whole"), outcomes_of_job(folder)), "");
}

}  // namespace
}  // namespace windrow::end_to_end
