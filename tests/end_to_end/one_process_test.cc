// An output belongs to one process at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

TEST(OneProcess, ASecondOneIsRefusedWhileTheFirstRuns) {
  JobFolder folder;
  folder.use_model(endless_model_path());
  folder.write(
      "requests.jsonl",
      completion_line("short", "the", {{"max_tokens", 1}}) +
          completion_line("endless", "the", {{"max_tokens", 90000}, {"ignore_eos", true}}));
  const Words words =
      exact_run("requests.jsonl", "results.jsonl", {"--grace", "0", "--limit", "2"});
  Process first(folder.command(words));
  ASSERT_TRUE(first.wait_until([&] { return folder.size_of("results.jsonl") > 0; }))
      << first.wait();
  const std::string results = folder.read("results.jsonl");
  // The first run rewrites its progress every second.
  const auto names_now = [&] {
    std::vector<std::string> names = folder.names();
    std::erase_if(
        names, [](const std::string& name) { return name.starts_with("results.progress.json"); });
    return names;
  };
  const std::vector<std::string> names = names_now();

  for (const Words& more : {Words{}, Words{"--fresh"}, Words{"--retry-failed"}}) {
    Words again = words;
    again.insert(again.end(), more.begin(), more.end());
    const Ended second = folder.windrow(again);
    EXPECT_EQ(second.code, 2) << second;
    EXPECT_EQ(second.errors,
              "windrow: another run writes results.jsonl: results.lock is held by process " +
                  std::to_string(first.id()) + "; wait until it ends, or stop it\n");
    EXPECT_EQ(folder.read("results.jsonl"), results);
    EXPECT_EQ(names_now(), names);
  }

  // The refused run changed nothing for the first one, and the end of that lets a third run start.
  first.send(SIGINT);
  const Ended ended = first.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_EQ(folder.read("results.jsonl"), results);
  const Ended third =
      folder.windrow(exact_run("requests.jsonl", "results.jsonl", {"--limit", "1"}));
  EXPECT_EQ(third.code, 0) << third;
}

}  // namespace
}  // namespace windrow::end_to_end
