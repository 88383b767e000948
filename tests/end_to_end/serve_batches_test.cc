// Files and batches of `windrow serve` as people use them: over HTTP, on a real disk, with a
// process that is killed in the middle.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "batch/testing/pack.h"
#include "end_to_end/batch_calls.h"
#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

const Words kInstant = {"--model", "sim:instant,answer-tokens=8", "--data-dir", "data"};

// Eight rows every half second, so that no test sees the end of hundreds. The answers are the same.
const Words kSlow = {"--model",    "sim:step-us=50000,row-us=0,prompt-token-us=0,answer-tokens=8",
                     "--data-dir", "data",
                     "--rows-max", "8"};

TEST(ServeBatches, AFileIsUploadedRunAndItsResultsFetched) {
  const JobFolder folder;
  const Served served(folder, kInstant);
  const std::string file = upload(served, rows(20));
  const json::value about = json::parse(served.get("/v1/files/" + file).body);
  EXPECT_EQ(about.at("object"), "file");
  EXPECT_EQ(about.at("filename"), "requests.jsonl");
  EXPECT_EQ(about.at("purpose"), "batch");
  EXPECT_EQ(served.get("/v1/files/" + file + "/content").body, rows(20));

  const std::string id = create(served, file);
  const json::value ended = wait_for_end(served, id);
  EXPECT_EQ(ended.at("status"), "completed") << ended;
  EXPECT_EQ(ended.at("request_counts"), json::parse(R"({"total":20,"completed":20,"failed":0})"));
  EXPECT_TRUE(ended.at("error_file_id").is_null());
  EXPECT_GT(ended.at_pointer("/usage/output_tokens").as_int64(), 0);
  const std::string output = text_of(ended, "output_file_id");
  const HttpReply results = served.get("/v1/files/" + output + "/content");
  EXPECT_EQ(results.status, 200);
  EXPECT_EQ(names_in(results.body).size(), 20U);

  const json::value list = json::parse(served.get("/v1/batches?limit=1").body);
  EXPECT_EQ(list.at("object"), "list");
  EXPECT_EQ(text_of(list, "first_id"), id);
  EXPECT_EQ(list.at("has_more"), false);
  EXPECT_EQ(
      json::parse(served.get("/v1/files?purpose=batch_output").body).at("data").as_array().size(),
      1U);
  EXPECT_THAT(served.get("/metrics").body, HasSubstr("windrow_batches{status=\"completed\"} 1\n"));
  EXPECT_THAT(served.get("/metrics").body,
              HasSubstr("windrow_batch_rows_total{result=\"completed\"} 20\n"));

  EXPECT_EQ(json::parse(served.del("/v1/files/" + output).body),
            json::parse(fmt::format(R"({{"id":"{}","object":"file","deleted":true}})", output)));
  EXPECT_EQ(served.get("/v1/files/" + output).status, 404);
}

TEST(ServeBatches, WithoutADataDirItSaysWhatToDo) {
  const JobFolder folder;
  const Served served(folder, {"--model", "sim:instant"});
  for (const HttpReply& reply :
       {served.get("/v1/files"), served.get("/v1/batches"), served.post("/v1/batches", "{}")}) {
    EXPECT_EQ(reply.status, 501);
    EXPECT_THAT(reply.body, HasSubstr("--data-dir"));
  }
}

TEST(ServeBatches, AFaultyFileFailsWithLineNumbers) {
  const JobFolder folder;
  const Served served(folder, kInstant);
  const std::string id = create(served, upload(served, rows(2) + "no json\n"));
  const json::value ended = wait_for_end(served, id);
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(ended.at_pointer("/errors/data/0/code"), "invalid_json_line");
  EXPECT_EQ(ended.at_pointer("/errors/data/0/line"), 3);
}

// Some thousand bytes that are five megabytes once gzip is undone, and then a short file.
TEST(ServeBatches, WhatIsUnpackedOutOfAFileIsBounded) {
  const JobFolder folder;
  Words words = kInstant;
  words.insert(words.end(), {"--max-file-mb", "1"});
  const Served served(folder, words);
  const std::string packed =
      batch::testing::gzipped(rows(2) + std::string(size_t{5} << 20, '\n') + rows(2));
  ASSERT_LT(packed.size(), 20'000U);
  const std::string id = create(served, upload(served, packed));
  const json::value ended = wait_for_end(served, id);
  EXPECT_EQ(ended.at("status"), "failed") << ended;
  EXPECT_EQ(ended.at_pointer("/errors/data/0/code"), "file_too_large");
  EXPECT_NEAR(static_cast<double>(ended.at_pointer("/errors/data/0/line").as_int64()),
              static_cast<double>(4 << 20), 1 << 17);
  EXPECT_THAT(text_of(ended.at_pointer("/errors/data/0"), "message"), HasSubstr("--max-file-mb"));
  EXPECT_EQ(wait_for_end(served, create(served, upload(served, rows(2)))).at("status"),
            "completed");
}

// Killed again and again: in the end every row has one result, and nothing was asked twice but what
// was being answered when the process died.
TEST(ServeBatches, KilledInTheMiddleEveryRowHasOneResult) {
  constexpr int kRows = 600;
  constexpr int kKills = 5;
  const JobFolder folder;
  std::string id;
  {
    const Served first(folder, kSlow);
    id = create(first, upload(first, rows(kRows)));
  }
  int64_t before = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    Served served(folder, kSlow);
    ASSERT_TRUE(served.wait_until_ready());
    const json::value now = wait_until(served, id, [&](const json::value& at) {
      return done(at) > before + 8 || text_of(at, "status") == "completed";
    });
    ASSERT_EQ(now.at("status"), "in_progress") << now;
    before = done(now);
    served.process().send(SIGKILL);
    served.process().wait();
  }
  const Served last(folder, kInstant);
  const json::value ended = wait_for_end(last, id);
  EXPECT_EQ(ended.at("status"), "completed") << ended;
  EXPECT_EQ(ended.at_pointer("/request_counts/completed"), kRows);
  const std::map<std::string, int> names =
      names_in(last.get("/v1/files/" + text_of(ended, "output_file_id") + "/content").body);
  EXPECT_EQ(names.size(), static_cast<size_t>(kRows));
  for (const auto& [name, count] : names)
    EXPECT_EQ(count, 1) << name;
}

TEST(ServeBatches, StoppedAsItShouldBeItGoesOnToo) {
  const JobFolder folder;
  std::string id;
  {
    Served served(folder, kSlow);
    ASSERT_TRUE(served.wait_until_ready());
    id = create(served, upload(served, rows(300)));
    wait_until(served, id, [](const json::value& now) { return done(now) > 8; });
    served.process().send(SIGTERM);
    EXPECT_EQ(served.process().wait().code, 0);
  }
  const Served again(folder, kInstant);
  const json::value ended = wait_for_end(again, id);
  EXPECT_EQ(ended.at("status"), "completed") << ended;
  EXPECT_EQ(ended.at_pointer("/request_counts/completed"), 300);
}

// A chat is answered while a batch has all the places that it may have, each for minutes: none of
// its rows has ended by then.
TEST(ServeBatches, AChatDoesNotWaitForABatch) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:step-us=50000,answer-tokens=6000", "--data-dir", "data",
                         "--rows-max", "8"});
  ASSERT_TRUE(served.wait_until_ready());
  const std::string id = create(served, upload(served, rows(100, 6000)));
  ASSERT_TRUE(served.process().wait_until([&] { return metric(served, "windrow_rows_running{"); },
                                          Not(HasSubstr("} 0\n"))));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(served.post("/v1/chat/completions", chat_body("hello", R"("max_tokens":8)")).status,
              200);
    const json::value after = batch(served, id);
    ASSERT_EQ(after.at("status"), "in_progress");
    EXPECT_EQ(done(after), 0);
  }
  EXPECT_EQ(served.post("/v1/batches/" + id + "/cancel", "").status, 200);
  EXPECT_EQ(batch(served, id).at("status"), "cancelling") << "rows that run are let end";
}

TEST(ServeBatches, ADamagedDatabaseIsNamedAndTheRestServes) {
  const JobFolder folder;
  std::filesystem::create_directories(folder.path("data"));
  std::ofstream(folder.path("data/windrow.db")) << std::string(9000, 'x');
  Served served(folder, kInstant);
  ASSERT_TRUE(served.wait_until_ready());
  EXPECT_THAT(served.process().errors(), HasSubstr("windrow.db.damaged-1"));
  const std::string id = create(served, upload(served, rows(3)));
  EXPECT_EQ(wait_for_end(served, id).at("status"), "completed");
}

}  // namespace
}  // namespace windrow::end_to_end
