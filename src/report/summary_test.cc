#include "report/summary.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "store/testing/memory_disk.h"

namespace windrow::report {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Summary example() {
  Summary summary{.version = "0.1.0",
                  .runtime = "libllama 0.7.0",
                  .end = RunEnd::kCompleted,
                  .exit_code = 1,
                  .input = "requests.jsonl",
                  .files = *batch::job_paths("out/results.jsonl"),
                  .started_unix_s = 1'700'000'000,
                  .ended_unix_s = 1'700'000'021,
                  .loading = milliseconds(800),
                  .running = seconds(20),
                  .rows_total = 2400,
                  .rows_succeeded = 2387,
                  .rows_failed = 13,
                  .failures = {{404, "model_not_found", 12}, {0, "others", 1}},
                  .rows_this_run = 2400,
                  .attempts = 2401,
                  .prompt_tokens = 40'000,
                  .completion_tokens = 10'000};
  summary.backend.prompt_tokens = 42'000;
  summary.backend.generated_tokens = 10'100;
  summary.backend.steps = 700;
  summary.settings = {{"rows-max", 16, "windrow.toml:1"},
                      {"set", boost::json::object(), "default"}};
  return summary;
}

TEST(Summary, TheTableSaysWhatWasDone) {
  EXPECT_EQ(summary_to_text(example()),
            "rows          2,387 succeeded, 13 failed\n"
            "failures      12 x 404 model_not_found\n"
            "              1 x others\n"
            "time          20 s running, 0.8 s loading the model\n"
            "speed         120 rows/s, 2,100 prompt and 505 generated tokens/s\n"
            "tokens        42,000 prompt, 10,100 generated, in 700 forward passes\n"
            "results       out/results.jsonl\n"
            "errors        out/results.errors.jsonl\n"
            "to retry      windrow retry out/results.errors.jsonl, with the same --model or "
            "--upstream\n"
            "summary       out/results.summary.json\n");
}

TEST(Summary, TheTableSpeaksOfWhatThereIs) {
  Summary summary = example();
  summary.rows_succeeded = 1000;
  summary.rows_failed = 0;
  summary.failures.clear();
  summary.rows_before = 400;
  summary.rows_this_run = 600;
  summary.backend.cached_tokens = 14'000;
  summary.backend.preemptions = 3;
  summary.backend.recomputed_tokens = 1234;
  summary.ordered = true;
  summary.report = "report.html";
  EXPECT_EQ(summary_to_text(summary),
            "rows          1,000 succeeded, 0 failed, 1,400 left (400 in earlier runs, 600 in this "
            "one)\n"
            "time          20 s running, 0.8 s loading the model\n"
            "speed         30.0 rows/s, 2,100 prompt and 505 generated tokens/s\n"
            "tokens        42,000 prompt, 10,100 generated, in 700 forward passes\n"
            "reused        25 % of the prompts' tokens: 14,000 were cached\n"
            "preempted     3 times, 1,234 tokens computed again\n"
            "results       out/results.jsonl, in the order of the input\n"
            "summary       out/results.summary.json\n"
            "report        report.html\n");
}

TEST(Summary, TheTableOfEmbeddingsSpeaksOfPromptsAlone) {
  Summary summary = example();
  summary.backend.generated_tokens = 0;
  const std::string text = summary_to_text(summary);
  EXPECT_NE(text.find(" rows/s, 2,100 prompt tokens/s\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tokens        42,000 prompt, in 700 forward passes\n"), std::string::npos)
      << text;
}

TEST(Summary, TheTableNamesOnlySoManyKindsOfFailure) {
  Summary summary = example();
  summary.failures.clear();
  for (int i = 0; i < 11; ++i)
    summary.failures.push_back({400, "code", 1});
  EXPECT_NE(summary_to_text(summary).find("              and 3 other kinds\n"), std::string::npos);
}

// How long the logs were is the one thing that comes from the disk.
boost::json::value without_log_bytes(std::string_view text) {
  boost::json::value value = boost::json::parse(text);
  EXPECT_EQ(value.as_object().erase("log_bytes"), 1U);
  return value;
}

TEST(Summary, TheFileHoldsEveryNumber) {
  store::testing::MemoryDisk disk;
  disk.put("out/results.jsonl", "results");
  ASSERT_TRUE(write_summary(disk, example()).has_value());
  const Result<std::string> text = disk.read_all("out/results.summary.json");
  ASSERT_TRUE(text.has_value());
  const boost::json::value value = boost::json::parse(*text);
  EXPECT_EQ(value, boost::json::parse(R"({
    "version": 1, "windrow": "0.1.0", "runtime": "libllama 0.7.0",
    "end": "completed", "error": null, "exit_code": 1,
    "started_at": 1700000000, "ended_at": 1700000021,
    "input": "requests.jsonl",
    "files": {"results": "out/results.jsonl", "errors": "out/results.errors.jsonl",
              "report": null},
    "ordered": false,
    "rows": {"total": 2400, "succeeded": 2387, "failed": 13, "left": 0, "earlier_runs": 0,
             "this_run": 2400},
    "failures": [{"status": 404, "code": "model_not_found", "rows": 12},
                 {"status": null, "code": "others", "rows": 1}],
    "this_run": {"loading_s": 0.8, "running_s": 20.0, "rows_per_s": 120.0, "attempts": 2401,
                 "usage": {"prompt_tokens": 40000, "completion_tokens": 10000},
                 "computed": {"prompt_tokens": 42000, "cached_tokens": 0, "generated_tokens": 10100,
                              "prompt_tokens_per_s": 2100.0, "generated_tokens_per_s": 505.0,
                              "forward_passes": 700, "preemptions": 0, "recomputed_tokens": 0},
                 "dispatch": {"calls": 0, "retries": 0, "shared_answers": 0, "cached_answers": 0,
                              "batches": 0, "batched_rows": 0, "cost_usd": 0.0},
                 "upstreams": []},
    "runs": [],
    "settings": {"rows-max": {"value": 16, "source": "windrow.toml:1"},
                 "set": {"value": {}, "source": "default"}},
    "log_bytes": {"results": 7, "errors": 0}})"));
}

TEST(Summary, ARunInWhichNoRowRanKeepsTheFiguresOfTheOneBefore) {
  store::testing::MemoryDisk disk;
  Summary first = example();
  first.rows_total = 2500;
  first.end = RunEnd::kInterrupted;
  first.exit_code = 130;
  first.report = "report.html";
  ASSERT_TRUE(write_summary(disk, first).has_value());
  const boost::json::value before = boost::json::parse(*disk.read_all(first.files.summary));

  Summary second = example();  // the input lost the rows that were missing
  second.started_unix_s += 3600;
  second.ended_unix_s += 3600;
  second.loading = second.running = milliseconds(1);
  second.rows_before = 2400;
  second.rows_this_run = second.attempts = 0;
  second.prompt_tokens = second.completion_tokens = 0;
  second.backend = {};
  second.ordered = true;
  ASSERT_TRUE(write_summary(disk, second).has_value());
  const boost::json::value after = boost::json::parse(*disk.read_all(first.files.summary));
  for (const char* kept : {"windrow", "runtime", "started_at", "ended_at", "this_run", "settings"})
    EXPECT_EQ(after.at(kept), before.at(kept)) << kept;
  EXPECT_EQ(after.at("files"), before.at("files")) << "the report is of that run too";
  EXPECT_EQ(after.at("end"), "completed");
  EXPECT_EQ(after.at("exit_code"), 1);
  EXPECT_EQ(after.at("ordered"), true);
  EXPECT_EQ(after.at("rows"), boost::json::parse(R"({"total": 2400, "succeeded": 2387, "failed": 13,
    "left": 0, "earlier_runs": 0, "this_run": 2400})"));

  // And the next in which a row runs speaks for itself.
  Summary third = second;
  third.rows_before = 2399;
  third.rows_this_run = third.attempts = 1;
  ASSERT_TRUE(write_summary(disk, third).has_value());
  EXPECT_EQ(without_log_bytes(*disk.read_all(first.files.summary)), summary_to_json(third));
}

TEST(Summary, WhereNoneWasBeforeARunWithoutRowsWritesItsOwn) {
  Summary empty = example();
  empty.rows_this_run = empty.attempts = 0;
  for (const char* there : {"", "no JSON", "[]", "{\"this_run\": 1}"}) {
    store::testing::MemoryDisk disk;
    if (*there != '\0') disk.put(empty.files.summary, there);
    ASSERT_TRUE(write_summary(disk, empty).has_value());
    EXPECT_EQ(without_log_bytes(*disk.read_all(empty.files.summary)), summary_to_json(empty));
  }
}

TEST(Summary, WhatIsNotKnownIsNull) {
  Summary summary = example();
  summary.rows_total = -1;
  summary.end = RunEnd::kFailed;
  summary.error = "results.jsonl: disk full";
  summary.running = Duration::zero();
  const boost::json::object json = summary_to_json(summary);
  EXPECT_TRUE(json.at("rows").at("total").is_null());
  EXPECT_TRUE(json.at("rows").at("left").is_null());
  EXPECT_EQ(json.at("error"), "results.jsonl: disk full");
  EXPECT_EQ(json.at("end"), "failed");
  EXPECT_EQ(json.at("this_run").at("rows_per_s"), 0.0);
}

}  // namespace
}  // namespace windrow::report
