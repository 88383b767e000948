// `windrow retry`: only what failed runs, nothing is lost whatever happens meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr const char* kResults = "results.jsonl";
constexpr const char* kErrors = "results.errors.jsonl";

Words retry_words(const Words& more = {}) {
  Words words = {"retry",     kErrors, "--model",      "model.gguf",
                 "--kv-type", "f32",   "--flash-attn", "off"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A row that fails while it is too hot.
std::string warm_line(const std::string& id, bool too_hot, int output_tokens = 2) {
  return completion_line(id, "the house of " + id.substr(0, 20),
                         {{"max_tokens", output_tokens}, {"temperature", too_hot ? 9 : 0}});
}

class Retry : public ::testing::Test {
 protected:
  void SetUp() override { folder_.use_model(model_path("llama")); }

  Ended run_job(const Words& more = {}) {
    return folder_.windrow(exact_run("requests.jsonl", kResults, more));
  }

  Ended retry(const Words& more = {}) { return folder_.windrow(retry_words(more)); }

  Words ids(std::string_view log) { return custom_ids(read_log(folder_, log)); }

  JobFolder folder_;
};

TEST_F(Retry, RunsOnlyWhatFailedAndKeepsItsId) {
  folder_.write("requests.jsonl", warm_line("good", false) + warm_line("mended", true) +
                                      warm_line("bad", true) + "not json\n");
  EXPECT_EQ(run_job().code, 1);
  const std::string results = folder_.read(kResults);
  ASSERT_EQ(read_log(folder_, kErrors).size(), 3U);

  folder_.write("requests.jsonl", warm_line("good", false) + warm_line("mended", false) +
                                      warm_line("bad", true) + "not json\n" +
                                      warm_line("new", false));
  const Ended ended = retry();
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("windrow: 3 failed rows run again\n"));
  EXPECT_TRUE(folder_.read(kResults).starts_with(results));
  EXPECT_THAT(ids(kResults), ElementsAre("good", "mended"));
  EXPECT_THAT(ids(kErrors), UnorderedElementsAre("bad", ""));

  // Rows that never ran are left to `run`, which continues the job.
  const Ended whole = run_job();
  EXPECT_EQ(whole.code, 1) << whole;
  EXPECT_THAT(ids(kResults), ElementsAre("good", "mended", "new"));
}

TEST_F(Retry, OnlyWhatIsNamed) {
  folder_.write("requests.jsonl", warm_line("hot", true) + "not json\n" + warm_line("good", false));
  EXPECT_EQ(run_job().code, 1);
  folder_.write("requests.jsonl",
                warm_line("hot", false) + "not json\n" + warm_line("good", false));
  const Ended none = retry({"--only", "429,engine_error"});
  EXPECT_EQ(none.code, 2) << none;
  EXPECT_EQ(none.errors,
            "windrow: --only 429,engine_error: no row failed with this; there are "
            "1 x invalid_json_line, 1 x 400 invalid_value\n");
  const Ended ended = retry({"--only", "invalid_value"});
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ids(kResults), UnorderedElementsAre("good", "hot"));
  EXPECT_THAT(ids(kErrors), ElementsAre(""));
}

TEST_F(Retry, NothingFailed) {
  folder_.write("requests.jsonl", warm_line("good", false));
  EXPECT_EQ(run_job().code, 0);
  const Ended ended = retry();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.errors, "windrow: no row failed, so there is nothing to retry\n");
}

TEST_F(Retry, RowsThatAreGoneFromTheInputAreNamed) {
  folder_.write("requests.jsonl", warm_line("gone", true) + warm_line("here", true));
  EXPECT_EQ(run_job().code, 1);
  folder_.write("requests.jsonl", warm_line("here", false));
  const Ended ended = retry();
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("1 failed row is not in requests.jsonl any more and did "
                                      "not run; its line stays in results.errors.jsonl:\n"
                                      "  custom_id \"gone\" (was line 1)\n"));
  EXPECT_THAT(ids(kResults), ElementsAre("here"));
  EXPECT_THAT(ids(kErrors), ElementsAre("gone"));
}

TEST_F(Retry, TheInputMayBeNamedAndMustBeWhereItIsNot) {
  folder_.write("requests.jsonl", warm_line("row", true));
  EXPECT_EQ(run_job().code, 1);
  std::filesystem::remove(folder_.path("requests.jsonl"));
  const Ended lost = retry();
  EXPECT_EQ(lost.code, 2) << lost;
  EXPECT_THAT(lost.errors, HasSubstr("the input of the job, requests.jsonl, does not exist; name "
                                     "it with --input"));
  folder_.write("other.jsonl", warm_line("another", false));
  const Ended other = retry({"--input", "other.jsonl"});
  EXPECT_EQ(other.code, 2) << other;
  EXPECT_THAT(other.errors, HasSubstr("other.jsonl does not have the row that failed"));
  folder_.write("mended.jsonl", warm_line("row", false));
  const Ended ended = retry({"--input", "mended.jsonl"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ids(kResults), ElementsAre("row"));
  EXPECT_EQ(folder_.read(kErrors), "");
}

TEST_F(Retry, OtherOptionsThanTheJobsAreRefused) {
  folder_.write("requests.jsonl", warm_line("good", false) + warm_line("row", true));
  EXPECT_EQ(run_job().code, 1);
  const Ended ended = retry({"--set", "top_k=3"});
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("set top_k: (not set) -> 3"));
  const Ended fresh = retry({"--fresh"});
  EXPECT_EQ(fresh.code, 2) << fresh;
  EXPECT_THAT(fresh.errors, HasSubstr("--fresh is not a flag of windrow retry"));
}

// --- killed -------------------------------------------------------------------------------------

constexpr int kRows = 40;

// Every fifth row is good from the start, and every seventh is never mended.
std::string many_rows(bool mended) {
  std::string text;
  for (int i = 1; i <= kRows; ++i) {
    const bool too_hot = i % 5 != 0 && (!mended || i % 7 == 0);
    text += warm_line(fmt::format("row-{}", i), too_hot, 1 + i % 9);
  }
  return text;
}

// The ids in both logs together: no row may be missing.
std::set<std::string> ids_left(const JobFolder& folder) {
  std::set<std::string> ids;
  for (const char* name : {kResults, kErrors}) {
    for (const std::string& id : custom_ids(read_torn_log(folder, name).lines))
      ids.insert(id);
  }
  return ids;
}

TEST_F(Retry, KilledAtAnyMomentItGoesOn) {
  folder_.write("requests.jsonl", many_rows(false));
  EXPECT_EQ(run_job().code, 1);
  const std::string results_before = folder_.read(kResults);
  const std::string errors_before = folder_.read(kErrors);
  folder_.write("requests.jsonl", many_rows(true));
  const Words words = retry_words({"--rows-max", "2"});
  const Ended undisturbed = folder_.windrow(words);
  ASSERT_EQ(undisturbed.code, 1) << undisturbed;
  const Outcomes expected = outcomes_of_job(folder_);
  ASSERT_EQ(expected.size(), static_cast<size_t>(kRows));
  const uint64_t results_bytes = folder_.size_of(kResults);

  Random random(11);
  int kills = 0;
  for (int job = 0; job < 4; ++job) {
    folder_.write(kResults, results_before);
    folder_.write(kErrors, errors_before);
    for (;;) {
      const uint64_t here = folder_.size_of(kResults);
      const uint64_t at = here + random.below(results_bytes - results_before.size());
      Process process(folder_.command(words));
      const bool reached = process.wait_until([&] { return folder_.size_of(kResults) > at; });
      if (reached) process.send(SIGKILL);
      const Ended ended = process.wait();
      ASSERT_EQ(ids_left(folder_).size(), static_cast<size_t>(kRows)) << "a row is lost";
      ASSERT_TRUE(folder_.read(kResults).starts_with(results_before));
      if (ended.signal != SIGKILL) {
        ASSERT_EQ(ended.code, 1) << ended;
        break;
      }
      ++kills;
    }
    EXPECT_EQ(difference(expected, outcomes_of_job(folder_)), "") << "job " << job;
  }
  EXPECT_GE(kills, 3);
}

// Long names make a log of megabytes out of little work, so that there is time to be killed in.
TEST_F(Retry, KilledWhileTheErrorsAreRewrittenTheyAreTheOldOnesOrTheNew) {
  std::string bad;
  std::string good = warm_line("first", false, 1);
  for (int i = 0; i < 150; ++i)
    bad += warm_line(fmt::format("{}-{}", i, std::string(50'000, 'x')), true);
  folder_.write("requests.jsonl", warm_line("first", true, 1) + bad);
  EXPECT_EQ(run_job({"--max-failures", "all"}).code, 1);
  const std::string old = folder_.read(kErrors);
  folder_.write("requests.jsonl", good + bad);
  const Words words = retry_words({"--only", "invalid_value"});
  const Ended undisturbed = folder_.windrow(words);
  ASSERT_EQ(undisturbed.code, 1) << undisturbed;
  const std::string settled = folder_.read(kErrors);
  ASSERT_LT(settled.size(), old.size());
  const Outcomes expected = outcomes_of_job(folder_);

  const std::string temporary = std::string(kErrors) + ".settled.tmp";
  Random random(5);
  int hits = 0;
  for (int attempts = 0; hits < windrow::testing::rounds(1, 3); ++attempts) {
    ASSERT_LT(attempts, 60) << "the program is faster than its killer";
    folder_.write(kResults, "");
    folder_.write(kErrors, old);
    std::filesystem::remove(folder_.path("results.summary.json"));  // of the retry before
    const uint64_t at = random.below(settled.size());
    Process process(folder_.command(words));
    const bool reached = process.wait_until(
        [&] { return folder_.has(temporary) && folder_.size_of(temporary) >= at; });
    if (reached) process.send(SIGKILL);
    const Ended ended = process.wait();
    if (ended.signal == SIGKILL && folder_.has(temporary)) ++hits;
    ASSERT_EQ(ids_left(folder_).size(), 151U) << "a row is lost";
    const Ended again = folder_.windrow(words);
    ASSERT_EQ(again.code, 1) << again;
    EXPECT_FALSE(folder_.has(temporary));
    EXPECT_EQ(difference(expected, outcomes_of_job(folder_)), "");
  }
}

// --- no room ------------------------------------------------------------------------------------

TEST_F(Retry, AFullDiskLosesNothingAndTheSameCommandGoesOn) {
  folder_.write("requests.jsonl", many_rows(false));
  EXPECT_EQ(run_job().code, 1);
  const std::string errors_before = folder_.read(kErrors);
  folder_.write("requests.jsonl", many_rows(true));
  const uint64_t results_bytes = folder_.size_of(kResults);
  for (const uint64_t room : std::initializer_list<uint64_t>{0, 10, 1'000, 4'000}) {
    Command command = folder_.command(retry_words({"--rows-max", "2"}));
    command.file_bytes_max = std::max<uint64_t>(results_bytes, errors_before.size()) + room;
    const Ended full = run(command);
    if (full.code == 1) break;  // it did fit, as both logs grow
    EXPECT_EQ(full.code, 2) << full;
    EXPECT_THAT(full.errors, HasSubstr("File too large"));
    EXPECT_THAT(full.errors, HasSubstr("the same command"));
    EXPECT_EQ(ids_left(folder_).size(), static_cast<size_t>(kRows)) << "room " << room;
  }
  const Ended ended = retry();
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(outcomes_of_job(folder_).size(), static_cast<size_t>(kRows));
  for (const LogLine& line : read_log(folder_, kErrors))
    EXPECT_EQ(member(line.json, "error.code"), "\"invalid_value\"");
  EXPECT_EQ(read_log(folder_, kErrors).size(), 4U);
}

TEST_F(Retry, NoRoomForTheNewErrorsLeavesTheOldOnes) {
  std::string hot;
  for (int i = 0; i < 20; ++i)
    hot += warm_line(fmt::format("{}-{}", i, std::string(4'000, 'x')), true);
  // A failure of another kind, so that it can be retried alone.
  const std::string code = "unsupported_parameter";
  folder_.write("requests.jsonl",
                hot + completion_line("other", "the", {{"max_tokens", 1}, {"suffix", "end"}}));
  EXPECT_EQ(run_job().code, 1);
  const std::string old = folder_.read(kErrors);
  folder_.write("requests.jsonl", hot + completion_line("other", "the", {{"max_tokens", 1}}));

  const Words words = retry_words({"--only", code});
  Command command = folder_.command(words);
  command.file_bytes_max = 20'000;  // enough for a result, not for the errors that stay
  const Ended full = run(command);
  EXPECT_EQ(full.code, 2) << full;
  EXPECT_THAT(full.errors, HasSubstr("is safe in results.jsonl and results.errors.jsonl"));
  EXPECT_EQ(folder_.read(kErrors), old);
  EXPECT_THAT(ids(kResults), ElementsAre("other"));

  const Ended ended = folder_.windrow(words);
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ids(kResults), ElementsAre("other"));
  EXPECT_EQ(read_log(folder_, kErrors).size(), 20U);
}

}  // namespace
}  // namespace windrow::end_to_end
