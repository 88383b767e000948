#include "app/settings/run_options.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

ResolvedSettings with_default(const std::string& field, boost::json::value value,
                              const std::string& source) {
  ResolvedSettings settings;
  settings.values.body_defaults[field] = std::move(value);
  settings.body_default_sources[field] = source;
  return settings;
}

std::string problem(const ResolvedSettings& settings) {
  const Result<void> checked = check_body_defaults(settings);
  return checked ? "" : checked.error().message;
}

TEST(RunOptions, BodyDefaultsAreCheckedBeforeAnythingRuns) {
  EXPECT_EQ(problem(with_default("temperature", 0, "flag --set")), "");
  EXPECT_EQ(problem(with_default("max_tokens", 5, "flag --set")), "");
  EXPECT_EQ(problem(with_default("prompt", "text", "flag --set")), "");
  EXPECT_EQ(problem(with_default("echo", false, "flag --set")), "");
  EXPECT_EQ(problem(with_default("temprature", 0, "flag --set")),
            "--set temprature: no request has a field of this name; did you mean temperature?");
  EXPECT_EQ(problem(with_default("frobnicate", 0, "WINDROW_SET")),
            "WINDROW_SET: frobnicate: no request has a field of this name; docs/formats.md lists "
            "them");
  EXPECT_EQ(problem(with_default("temperature", "hot", "windrow.toml:3")),
            "windrow.toml:3: temperature: temperature must be a number from 0 to 2, not a string");
  EXPECT_NE(problem(with_default("stream", true, "flag --set")), "");
}

TEST(RunOptions, AModelIsServedUnderItsNameOrThatOfItsFile) {
  EXPECT_EQ(fleet::served_name({.name = "qwen", .path = "m/x.gguf"}), "qwen");
  EXPECT_EQ(fleet::served_name({.name = "", .path = "models/qwen3-0.6b.gguf"}), "qwen3-0.6b");
}

TEST(RunOptions, JobOptionsFollowTheSettings) {
  const RunCommand command{.input = "in.jsonl", .output = "out.jsonl", .flags = {}};
  Settings settings;
  const batch::JobOptions plain = job_options(command, settings, {{"", "m/a.gguf"}}, {});
  EXPECT_EQ(plain.input_name, "in.jsonl");
  EXPECT_EQ(plain.output_path, "out.jsonl");
  EXPECT_EQ(plain.rows_max, std::nullopt);
  EXPECT_TRUE(plain.any_model);
  EXPECT_EQ(plain.models, std::vector<std::string>{"a"});
  EXPECT_EQ(plain.grace, std::chrono::seconds(10));

  settings.limit = 3;
  settings.strict = settings.ordered = settings.fresh = settings.retry_failed = true;
  settings.grace_s = 1;
  settings.body_defaults["seed"] = 7;
  const batch::JobOptions all =
      job_options(command, settings, {{"one", "a.gguf"}, {"two", "b.gguf"}}, {{"x", "y"}});
  EXPECT_EQ(all.rows_max, 3);
  EXPECT_TRUE(all.strict && all.ordered && all.fresh && all.retry_failed);
  EXPECT_FALSE(all.any_model);
  EXPECT_EQ(all.models, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(all.grace, std::chrono::seconds(1));
  EXPECT_EQ(all.body_defaults.at("seed"), 7);
  EXPECT_EQ(all.settings, (std::vector<batch::JobSetting>{{"x", "y"}}));
}

TEST(RunOptions, ASettingIsRecordedExactlyWhenItAltersAnswers) {
  const Result<std::vector<batch::JobSetting>> list = job_settings({}, {});
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(*list,
            (std::vector<batch::JobSetting>{{"ctx", "chosen from the model and the free memory"},
                                            {"kv-type", "f16"},
                                            {"kv-cache", "unified"},
                                            {"max-tokens-default", "4096"}}));
}

TEST(RunOptions, ASwitchIsRecordedWhenItIsOn) {
  const batch::JobSetting on{"keep-truncated", "true"};
  Settings settings;
  settings.keep_truncated = true;
  EXPECT_EQ(job_settings(settings, {})->back(), on);
  EXPECT_EQ(upstream_job_settings(settings, {}).back(), on);
  EXPECT_EQ(upstream_job_settings({}, {}).back().name, "model-alias");
  EXPECT_TRUE(
      job_options({.input = "in", .output = "out", .flags = {}}, settings, {{"", "m/a.gguf"}}, {})
          .keep_truncated);
}

// A context chosen for the machine follows the memory that is free; that must not stop a job from
// being continued. A context that the user asked for is recorded instead.
TEST(RunOptions, OnlyAContextThatWasAskedForIsRecordedAsANumber) {
  const Result<std::vector<batch::JobSetting>> list = job_settings({.ctx_tokens = 8192}, {});
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->front(), (batch::JobSetting{"ctx", "8192"}));
}

TEST(RunOptions, TheSummaryListsEverySettingWithItsSource) {
  ResolvedSettings settings = with_default("seed", 7, "flag --set");
  settings.values.rows_max = 4;
  settings.sources["rows-max"] = "WINDROW_ROWS_MAX";
  const std::vector<report::SummarySetting> list = settings_with_sources(settings);
  const auto find = [&](std::string_view name) {
    for (const report::SummarySetting& setting : list) {
      if (setting.name == name) return setting;
    }
    ADD_FAILURE() << name;
    return report::SummarySetting{};
  };
  EXPECT_EQ(list.size(), setting_rows().size());
  EXPECT_EQ(find("rows-max").value, 4);
  EXPECT_EQ(find("rows-max").source, "WINDROW_ROWS_MAX");
  EXPECT_EQ(find("set.seed").value, 7);
  EXPECT_EQ(find("set.seed").source, "flag --set");
  EXPECT_EQ(find("ctx").source, "default");
}

TEST(RunOptions, AnOutputIsAFile) {
  EXPECT_TRUE(check_output_path("results.jsonl").has_value());
  EXPECT_EQ(check_output_path("/").error().message, "the output / is a folder; name a file in it");
  EXPECT_EQ(
      check_output_path("/dev/null").error().message,
      "the output /dev/null is a device, which keeps nothing; name a file, and delete it when "
      "it is not wanted");
}

TEST(RunOptions, AReportNeedsAPlace) {
  EXPECT_TRUE(check_written_path("--report", "").has_value());
  EXPECT_TRUE(check_written_path("--report", "report.html").has_value());
  EXPECT_EQ(check_written_path("--report", "/").error().message,
            "--report / is a folder; name a file in it");
  EXPECT_EQ(
      check_written_path("--report", "/dev/null").error().message,
      "--report /dev/null is a device, which keeps nothing; name a file, and delete it when it "
      "is not wanted");
  EXPECT_EQ(check_written_path("--report", "/nowhere/at/all.html").error().message,
            "the folder of --report /nowhere/at/all.html does not exist; make it first");
}

TEST(RunOptions, FailuresThatStopAJobAreANumberOrAllOrTheFirstRows) {
  const auto limit = [](const std::string& text) {
    return failure_limit_of(Settings{.failures_max = text});
  };
  EXPECT_EQ(*limit(""), batch::FailureLimit{.first_alike = true});
  EXPECT_EQ(*limit("all"), batch::FailureLimit{});
  EXPECT_EQ(*limit("20"), batch::FailureLimit{.rows_max = 20});
  for (const char* text : {"0", "-1", "1.5", "none", "20 "}) {
    EXPECT_EQ(limit(text).error().message,
              std::string("--max-failures ") + text +
                  ": this takes a whole number from 1 up, or all, which runs every row whatever "
                  "fails");
  }
}

}  // namespace
}  // namespace windrow::app
