#include "batch/job_record.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::batch {
namespace {

const JobRecord kRecord{.input = "re\"quests.jsonl",
                        .settings = {{"model", "tiny.gguf"}, {"kv-type", "f16"}}};

TEST(JobRecord, IsReadBackAsItWasWritten) {
  const std::string text = job_record_text(kRecord);
  EXPECT_EQ(*parse_job_record(text, "p"), kRecord);
  EXPECT_TRUE(boost::json::parse(text).is_object());
  JobRecord dated = kRecord;
  dated.began_unix_s = 1'700'000'000;
  EXPECT_EQ(*parse_job_record(job_record_text(dated), "p"), dated);
  const JobRecord empty{.input = "-", .settings = {}};
  EXPECT_EQ(*parse_job_record(job_record_text(empty), "p"), empty);
}

TEST(JobRecord, AnythingElseIsRefused) {
  const std::string text = job_record_text(kRecord);
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[]"), text.substr(0, text.size() / 2),
        std::string("{\"windrow_job\":1,\"input\":\"a\"}"),
        std::string("{\"windrow_job\":1,\"input\":\"a\",\"settings\":[],\"began_unix_s\":\"x\"}"),
        std::string("{\"windrow_job\":1,\"input\":\"a\",\"settings\":[{\"name\":\"a\"}]}")}) {
    const auto record = parse_job_record(bad, "r.job.json");
    ASSERT_FALSE(record.has_value()) << bad;
    EXPECT_EQ(record.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(record.error().message.starts_with("r.job.json is not a job record"));
  }
  const auto later = parse_job_record("{\"windrow_job\":2}", "r.job.json");
  EXPECT_NE(later.error().message.find("later version"), std::string::npos);
}

TEST(JobRecord, ChangesAreNamedInOrder) {
  const std::vector<JobSetting> before{{"a", "1"}, {"gone", "x"}, {"b", "2"}};
  const std::vector<JobSetting> now{{"new", "y"}, {"b", "3"}, {"a", "1"}};
  using Changes = std::vector<SettingChange>;
  const Changes so_far{{.name = "new", .before = {}, .now = "y"},
                       {.name = "b", .before = "2", .now = "3"}};
  EXPECT_EQ(changed_so_far(before, now), so_far);
  Changes all = so_far;
  all.push_back({.name = "gone", .before = "x", .now = {}});
  EXPECT_EQ(changed_settings(before, now), all);
  EXPECT_EQ(changed_settings(before, before), Changes{});
  const Error error = changed_settings_error(all, "r.jsonl");
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  for (const char* part : {"r.jsonl", "\n  new: (not set) -> y", "\n  b: 2 -> 3",
                           "\n  gone: x -> (not set)", "--fresh"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

TEST(JobRecord, BodyDefaultsAreSettings) {
  JobOptions options;
  options.settings = {{"model", "m"}};
  options.body_defaults = {{"temperature", 0}, {"stop", {"a", "b"}}};
  const std::vector<JobSetting> expected{
      {"model", "m"}, {"set temperature", "0"}, {"set stop", "[\"a\",\"b\"]"}};
  EXPECT_EQ(settings_of(options), expected);
}

}  // namespace
}  // namespace windrow::batch
