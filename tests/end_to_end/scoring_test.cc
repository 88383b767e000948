// A job as an evaluation harness makes it: each question with every choice of an answer behind it,
// scored and not continued. How much of it is shared is counted here; tests/exactness holds the
// scores, shared or not, to libllama's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

constexpr int kQuestions = 60;
constexpr int kChoices = 4;

// 240 rows in no order: examples that all begin with, 60 questions, 4 choices of each.
std::string harness_rows(const json::object& body) {
  std::string examples;
  for (int i = 0; i < 6; ++i)
    examples += fmt::format("the house of the water {} is the house of the day {}\n", i, i * i);
  std::vector<std::string> lines;
  for (int question = 0; question < kQuestions; ++question) {
    for (int choice = 0; choice < kChoices; ++choice) {
      lines.push_back(completion_line(
          fmt::format("{}-{}", question, choice),
          fmt::format("{}which of the houses is number {} of the day, and of the water {}? {}",
                      examples, question, question * question,
                      std::string_view("ABCD").substr(static_cast<size_t>(choice), 1)),
          body));
    }
  }
  Random random(1);
  for (size_t i = lines.size(); i > 1; --i)
    std::swap(lines[i - 1], lines[static_cast<size_t>(random.below(i))]);
  std::string text;
  for (const std::string& line : lines)
    text += line;
  return text;
}

class ScoringJob : public ::testing::Test {
 protected:
  ScoringJob() {
    folder_.use_model(model_path("qwen3"));
    folder_.write("scored.jsonl",
                  harness_rows({{"max_tokens", 0}, {"echo", true}, {"logprobs", 1}}));
    folder_.write("answered.jsonl", harness_rows({{"max_tokens", 1}}));
  }

  // The results of a job, by custom_id.
  std::map<std::string, json::object> run_job(const std::string& name, const Words& more = {}) {
    Words words = {"--fresh", "--rows-max", "8", "--ctx", "4096"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = folder_.windrow(exact_run(name + ".jsonl", name + ".out.jsonl", words));
    EXPECT_EQ(ended.code, 0) << ended;
    std::map<std::string, json::object> bodies;
    for (const LogLine& line : read_log(folder_, name + ".out.jsonl")) {
      bodies[std::string(line.json.at("custom_id").as_string())] =
          line.json.at("response").at("body").as_object();
    }
    return bodies;
  }

  static double cached_share(const std::map<std::string, json::object>& bodies) {
    int64_t prompt = 0;
    int64_t cached = 0;
    for (const auto& [id, body] : bodies) {
      const json::value& usage = body.at("usage");
      prompt += usage.at("prompt_tokens").as_int64();
      cached += usage.at_pointer("/prompt_tokens_details/cached_tokens").as_int64();
    }
    return static_cast<double>(cached) / static_cast<double>(prompt);
  }

  // Returns the share of prompts that `--dry-run` says have been computed already.
  double dry_run_share(const std::string& name) {
    const Ended ended =
        folder_.windrow(exact_run(name + ".jsonl", name + ".out.jsonl", {"--dry-run", "--json"}));
    EXPECT_EQ(ended.code, 0) << ended;
    std::string_view output = ended.output;
    if (!output.ends_with('\n')) return -1;
    output.remove_suffix(1);
    return json::parse(output.substr(output.rfind('\n') + 1)).at("shared_prefix").as_double();
  }

  JobFolder folder_;
};

TEST_F(ScoringJob, SharesAsMuchAsTheSamePromptsAnsweredUnlessToldNotTo) {
  const auto scored = run_job("scored");
  ASSERT_EQ(scored.size(), static_cast<size_t>(kQuestions * kChoices));
  const double answered_share = cached_share(run_job("answered"));
  // How much a run shares depends on which rows are computed together, and that on the machine's
  // speed. A dry run of the same rows does not depend on it.
  EXPECT_GT(dry_run_share("scored"), 0.9);
  EXPECT_NEAR(dry_run_share("scored"), dry_run_share("answered"), 0.01);
  EXPECT_GT(cached_share(scored), 0.8 * answered_share);

  const auto alone = run_job("scored", {"--no-share", "--limit", "8"});
  ASSERT_EQ(alone.size(), 8U);
  EXPECT_EQ(cached_share(alone), 0);
}

}  // namespace
}  // namespace windrow::end_to_end
