#include "batches/batch_record.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>

#include "batches/batch_json.h"

namespace windrow::batches {
namespace {

namespace json = boost::json;

BatchRecord full() {
  return {.number = 7,
          .id = "batch_1",
          .owner = "alice",
          .request = {.input_file_id = "file-1",
                      .endpoint = llm::Endpoint::kEmbeddings,
                      .window_s = 7200,
                      .metadata = {{"a", "b"}},
                      .output_expires_after_s = 3600},
          .state = {.status = BatchStatus::kExpired,
                    .time_over = true,
                    .created_at = 1,
                    .expires_at = 2,
                    .in_progress_at = 3,
                    .finalizing_at = 4,
                    .completed_at = 5,
                    .failed_at = 6,
                    .expired_at = 7,
                    .cancelling_at = 8,
                    .cancelled_at = 9},
          .body_defaults = {{"temperature", 0}},
          .models = {"m"},
          .faults = {{"invalid_json_line", "what", "custom_id", 3}, {"empty_file", "none", "", 0}},
          .counts = {10, 7, 3},
          .usage = BatchUsage{100, 40, 30, 5},
          .output_file_id = "file-2",
          .error_file_id = "file-3",
          .idempotency_key = "key"};
}

TEST(BatchRecord, IsReadAsItWasWritten) {
  for (const BatchRecord& record : {full(), BatchRecord{}}) {
    BatchRecord read{.number = record.number,
                     .id = record.id,
                     .owner = record.owner,
                     .idempotency_key = record.idempotency_key};
    ASSERT_TRUE(read_record(record_text(record), read));
    EXPECT_EQ(read, record);
  }
}

TEST(BatchRecord, WhatIsDamagedIsSaidToBe) {
  const std::string text = record_text(full());
  for (size_t size = 0; size < text.size(); size += 7) {
    BatchRecord record{.id = "batch_1"};
    const Result<void> read = read_record(text.substr(0, size), record);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(read.error().message.find("batch_1"), std::string::npos);
  }
  for (const char* bad : {"{}", "[]", "1", R"({"request":{}})"}) {
    BatchRecord record;
    EXPECT_FALSE(read_record(bad, record)) << bad;
  }
}

TEST(BatchJson, HasTheMembersOfTheApi) {
  const json::object object = batch_json(full());
  std::set<std::string> names;
  for (const auto& [name, value] : object)
    names.insert(std::string(name));
  EXPECT_EQ(names, (std::set<std::string>{"id",
                                          "object",
                                          "endpoint",
                                          "model",
                                          "errors",
                                          "input_file_id",
                                          "completion_window",
                                          "status",
                                          "output_file_id",
                                          "error_file_id",
                                          "created_at",
                                          "in_progress_at",
                                          "expires_at",
                                          "finalizing_at",
                                          "completed_at",
                                          "failed_at",
                                          "expired_at",
                                          "cancelling_at",
                                          "cancelled_at",
                                          "request_counts",
                                          "usage",
                                          "metadata"}));
  EXPECT_EQ(object.at("object"), "batch");
  EXPECT_EQ(object.at("status"), "expired");
  EXPECT_EQ(object.at("endpoint"), "/v1/embeddings");
  EXPECT_EQ(object.at("completion_window"), "2h");
  EXPECT_EQ(object.at("model"), "m");
  EXPECT_EQ(object.at("errors"), json::parse(R"({"object":"list","data":[
                {"code":"invalid_json_line","message":"what","param":"custom_id","line":3},
                {"code":"empty_file","message":"none","param":null,"line":null}]})"));
  EXPECT_EQ(object.at("request_counts"), json::parse(R"({"total":10,"completed":7,"failed":3})"));
  EXPECT_EQ(object.at("usage"),
            json::parse(R"({"input_tokens":100,"input_tokens_details":{"cached_tokens":40},
                "output_tokens":30,"output_tokens_details":{"reasoning_tokens":5},
                "total_tokens":130})"));
}

TEST(BatchJson, WhatIsNotThereIsNull) {
  const json::object object = batch_json(BatchRecord{}, "the disk is full");
  for (const char* name :
       {"model", "errors", "output_file_id", "error_file_id", "in_progress_at", "finalizing_at",
        "completed_at", "failed_at", "expired_at", "cancelling_at", "cancelled_at", "metadata"})
    EXPECT_TRUE(object.at(name).is_null()) << name;
  EXPECT_EQ(object.at("windrow").at("note"), "the disk is full");
  EXPECT_FALSE(batch_json(BatchRecord{}).contains("windrow"));
}

TEST(BatchJson, ProgressIsThereWhileRowsRun) {
  BatchProgress progress{.rows_per_s = 2.5,
                         .output_tokens_per_s = 40,
                         .elapsed = std::chrono::seconds(8),
                         .left = std::chrono::seconds(12),
                         .usage = {.input_tokens = 10, .output_tokens = 4},
                         .failures = {{.status = 400, .code = "invalid_value", .rows = 2},
                                      {.status = 0, .code = "batch_expired", .rows = 1}}};
  const json::object object = batch_json(BatchRecord{}, "", progress);
  EXPECT_EQ(object.at("windrow"), json::parse(R"({"progress":{"rows_per_s":2.5,
      "output_tokens_per_s":4E1,"elapsed_s":8E0,"left_s":1.2E1,
      "failures":[{"status":400,"code":"invalid_value","rows":2},
                  {"status":null,"code":"batch_expired","rows":1}]}})"));
  progress.left.reset();
  const json::object running = running_json({.id = "batch_1",
                                             .owner = "alice",
                                             .url = "/v1/completions",
                                             .models = {"m"},
                                             .counts = {.total = 9, .completed = 2, .failed = 3},
                                             .progress = progress});
  EXPECT_EQ(running.at("object"), "windrow.batch");
  EXPECT_EQ(running.at("key"), "alice");
  EXPECT_EQ(running.at("request_counts").at("failed"), 3);
  EXPECT_EQ(running.at("usage").at("total_tokens"), 14);
  EXPECT_TRUE(running.at("progress").at("left_s").is_null());
}

}  // namespace
}  // namespace windrow::batches
