// What is on disk survives: the program is killed (SIGKILL) at drawn byte counts of its logs, run
// again, killed again, until a run gets to its end. Then the logs must be those of an undisturbed
// run.
//
// WINDROW_SOAK=1 kills twenty times as often.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "base/testing/rounds.h"
#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

constexpr const char* kResults = "results.jsonl";
constexpr const char* kErrors = "results.errors.jsonl";
constexpr const char* kLineStart = "{\"id\":\"batch_req_";

int times(int normal) {
  return windrow::testing::rounds(1, 20) * normal;
}

uint64_t log_bytes(const JobFolder& folder) {
  return folder.size_of(kResults) + folder.size_of(kErrors);
}

void remove_outputs(const JobFolder& folder) {
  for (const std::string& name : folder.names()) {
    if (name.starts_with("results")) std::filesystem::remove(folder.path(name));
  }
}

bool in_order_of_input(const std::vector<LogLine>& log) {
  return std::is_sorted(log.begin(), log.end(), [](const LogLine& a, const LogLine& b) {
    return a.json.at("windrow").at("line").as_int64() < b.json.at("windrow").at("line").as_int64();
  });
}

// --- killed while rows run ----------------------------------------------------------------------

struct Job {
  const char* name;
  const char* family;
  int rows;
  int output_tokens;
  Words flags;
  bool ordered = false;
};

std::ostream& operator<<(std::ostream& stream, const Job& job) {
  return stream << job.name;
}

// Rows of both kinds, and a line that fails after every seventh.
std::string requests_of(const Job& job) {
  std::string text;
  for (int i = 1; i <= job.rows; ++i) {
    const std::string id = fmt::format("{}-{}", job.name, i);
    boost::json::object body{{"max_tokens", 1 + i * 5 % job.output_tokens},
                             {"temperature", i % 2},
                             {"ignore_eos", i % 3 == 0}};
    if (i % 4 == 1) body["seed"] = i;
    const std::string words = fmt::format("what the people of house {} know", i);
    text += i % 5 == 0 ? completion_line(id, words, body) : chat_line(id, words, body);
    switch (i % 28) {
      case 0:
        text += "{\"method\": \"POST\"}\n\n";
        break;
      case 7:
        text += "{\"custom_id\": \"cut off\n";
        break;
      case 14:
        text += chat_line(id, "the same name again");
        break;
      case 21:
        text += chat_line(id + "-hot", "too hot", {{"temperature", 9}});
        break;
      default:
        break;
    }
  }
  return text;
}

// A power failure may lose more than a kill: the end of a file that was not synced yet.
void tear_last_line(const JobFolder& folder, const char* name, Random& random) {
  const std::vector<LogLine> lines = read_torn_log(folder, name).lines;
  if (lines.empty()) return;
  uint64_t keep = 0;
  for (const LogLine& line : lines)
    keep += line.text.size() + 1;
  keep -= 1 + random.below(lines.back().text.size());
  std::filesystem::resize_file(folder.path(name), keep);
}

class KillSoak : public ::testing::TestWithParam<Job> {
 protected:
  void SetUp() override {
    folder_.use_model(model_path(GetParam().family));
    folder_.write("requests.jsonl", requests_of(GetParam()));
    words_ = exact_run("requests.jsonl", kResults, GetParam().flags);
  }

  // Whole lines that the undisturbed run has too, those of the kill before first, and at most the
  // beginning of one more.
  void check_killed_log(const char* name, const Outcomes& all) {
    const Log log = read_torn_log(folder_, name);
    const size_t shared = std::min(log.torn.size(), std::string_view(kLineStart).size());
    EXPECT_EQ(log.torn.substr(0, shared), std::string(kLineStart).substr(0, shared)) << name;
    for (const auto& [key, value] : outcomes(log.lines)) {
      const auto found = all.find(key);
      ASSERT_NE(found, all.end()) << key << " is no row of the job";
      EXPECT_EQ(found->second, value);
    }
    std::vector<std::string> texts;
    for (const LogLine& line : log.lines)
      texts.push_back(line.text);
    const std::vector<std::string>& before = kept_[name];
    if (GetParam().ordered) {
      std::vector<std::string> sorted = texts;
      std::sort(sorted.begin(), sorted.end());
      for (const std::string& text : before)
        EXPECT_TRUE(std::binary_search(sorted.begin(), sorted.end(), text)) << "lost: " << text;
    } else {
      ASSERT_GE(texts.size(), before.size()) << name;
      EXPECT_TRUE(std::equal(before.begin(), before.end(), texts.begin())) << name;
    }
    kept_[name] = std::move(texts);
  }

  void tear_logs(Random& random) {
    for (const char* name : {kResults, kErrors}) {
      tear_last_line(folder_, name, random);
      std::vector<std::string>& kept = kept_[name];
      if (!kept.empty()) kept.pop_back();
    }
  }

  JobFolder folder_;
  Words words_;
  std::map<std::string, std::vector<std::string>> kept_;  // whole lines after the last kill
};

TEST_P(KillSoak, AKilledJobContinuesToTheSameEnd) {
  const Job& job = GetParam();
  const Ended undisturbed = folder_.windrow(words_);
  ASSERT_EQ(undisturbed.code, 1) << undisturbed;
  const Outcomes all = outcomes_of_job(folder_);
  const uint64_t bytes = log_bytes(folder_);

  Random random(hash64(job.name));
  int kills = 0;
  int jobs = 0;
  for (; kills < times(15); ++jobs) {
    ASSERT_LT(jobs, times(60)) << "the program is faster than its killer";
    remove_outputs(folder_);
    kept_.clear();
    // The same job is killed up to three times, each time further on.
    for (uint64_t kills_left = 1 + random.below(3);; --kills_left) {
      const uint64_t safe = log_bytes(folder_);
      const uint64_t at =
          kills_left > 0 && safe < bytes ? safe + 1 + random.below(bytes - safe) : UINT64_MAX;
      Process process(folder_.command(words_));
      if (process.wait_until([&] { return log_bytes(folder_) >= at; })) process.send(SIGKILL);
      const Ended ended = process.wait();
      check_killed_log(kResults, all);
      check_killed_log(kErrors, all);
      if (ended.signal != SIGKILL) {
        ASSERT_EQ(ended.code, 1) << ended;
        break;
      }
      ++kills;
      if (random.chance(0.3)) tear_logs(random);
    }
    ASSERT_EQ(difference(all, outcomes_of_job(folder_)), "") << "after " << kills << " kills";
    if (job.ordered) {
      EXPECT_TRUE(in_order_of_input(read_log(folder_, kResults)));
      EXPECT_TRUE(in_order_of_input(read_log(folder_, kErrors)));
    }
    if (HasFailure()) return;
  }
  RecordProperty("jobs", jobs);
  RecordProperty("kills", kills);
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, KillSoak,
    ::testing::Values(Job{"llama", "llama", 60, 24, {"--rows-max", "4"}},
                      Job{"qwen3", "qwen3", 40, 40, {"--rows-max", "2"}},
                      Job{"moe", "moe", 30, 24, {"--rows-max", "1"}},
                      Job{"swa", "swa", 56, 16, {"--rows-max", "8", "--batch-tokens", "32"}},
                      Job{"hybrid", "hybrid", 42, 24, {"--rows-max", "3"}},
                      Job{"ordered", "llama", 84, 12, {"--rows-max", "5", "--ordered"}, true}),
    [](const auto& tested) { return tested.param.name; });

// --- killed while the logs are put in order -----------------------------------------------------

// Long names make a log of megabytes out of little work, so that there is time to be killed in.
std::string requests_with_long_names(int rows) {
  std::string text;
  for (int i = 1; i <= rows; ++i) {
    const int output_tokens = i % 2 == 0 ? 1 : 6;
    text += completion_line(fmt::format("{}-{}", i, std::string(20'000, 'x')), "the",
                            {{"max_tokens", output_tokens}, {"ignore_eos", true}});
  }
  return text;
}

TEST(KillOrderingSoak, KilledWhileOrderingLeavesTheOldLogOrTheNew) {
  JobFolder folder;
  folder.use_model(model_path("llama"));
  folder.write("requests.jsonl", requests_with_long_names(300));
  const Ended ran = folder.windrow(exact_run("requests.jsonl", kResults, {"--rows-max", "4"}));
  ASSERT_EQ(ran.code, 0) << ran;
  const std::string unordered = folder.read(kResults);
  ASSERT_FALSE(in_order_of_input(read_log(folder, kResults)));
  const Words ordering = exact_run("requests.jsonl", kResults, {"--rows-max", "4", "--ordered"});
  const Ended done = folder.windrow(ordering);
  ASSERT_EQ(done.code, 0) << done;
  const std::string ordered = folder.read(kResults);
  ASSERT_TRUE(in_order_of_input(read_log(folder, kResults)));
  ASSERT_EQ(ordered.size(), unordered.size());

  Random random(7);
  const std::string temporary = std::string(kResults) + ".ordered.tmp";
  int hits = 0;  // killed while both logs were there
  for (int attempts = 0; hits < windrow::testing::rounds(2, 100); ++attempts) {
    ASSERT_LT(attempts, times(60)) << "the program is faster than its killer";
    folder.write(kResults, unordered);
    const uint64_t at = random.below(unordered.size());
    Process process(folder.command(ordering));
    const bool reached = process.wait_until(
        [&] { return folder.has(temporary) && folder.size_of(temporary) >= at; });
    if (reached) process.send(SIGKILL);
    const Ended ended = process.wait();
    const std::string left = folder.read(kResults);
    ASSERT_TRUE(left == unordered || left == ordered) << "neither the old log nor the new";
    if (ended.signal == SIGKILL && folder.has(temporary)) ++hits;

    const Ended again = folder.windrow(ordering);
    ASSERT_EQ(again.code, 0) << again;
    ASSERT_TRUE(folder.read(kResults) == ordered);
    EXPECT_FALSE(folder.has(temporary));
  }
  RecordProperty("kills", hits);
}

}  // namespace
}  // namespace windrow::end_to_end
