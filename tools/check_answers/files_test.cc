#include "check_answers/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

namespace windrow::check_answers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKey = R"({"custom_id":"a","task":"sort","answer":"1 2"}

{"custom_id":"b","task":"sort","answer":"3 4"}
{"custom_id":"c","task":"sum","answer":"5"}
)";

std::string result(std::string_view custom_id, std::string_view answer) {
  return R"({"custom_id":")" + std::string(custom_id) +
         R"(","response":{"body":{"choices":[{"message":{"content":")" + std::string(answer) +
         "\"}}]}},\"error\":null}\n";
}

class CheckFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "windrow-answers-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<Checked> check(std::string_view results, std::string_view key = kKey,
                        size_t wrong_max = 0) const {
    std::ofstream(results_path()) << results;
    std::ofstream(key_path()) << key;
    return check_files(results_path(), key_path(), wrong_max);
  }

  std::string refusal(std::string_view results, std::string_view key = kKey) const {
    const Result<Checked> checked = check(results, key);
    return checked ? "" : checked.error().message;
  }

  std::string results_path() const { return (folder_ / "results.jsonl").string(); }
  std::string key_path() const { return (folder_ / "key.jsonl").string(); }

 private:
  fs::path folder_;
};

TEST_F(CheckFiles, RowsMeetByTheirNamesInAnyOrder) {
  const Result<Checked> checked = check(result("c", "5") + result("a", "1 2") + result("b", "4 3"));
  ASSERT_TRUE(checked) << checked.error().message;
  ASSERT_EQ(checked->score.tasks.size(), 2U);
  EXPECT_EQ(checked->score.tasks[0].right, 1);
  EXPECT_EQ(checked->score.tasks[0].rows, 2);
  EXPECT_EQ(checked->score.tasks[1].right, 1);
  EXPECT_TRUE(checked->wrong.empty());
}

TEST_F(CheckFiles, ARowWithoutAnAnswerIsWrongAndCounted) {
  const Result<Checked> checked =
      check(result("a", "1 2") + "{\"custom_id\":\"c\",\"response\":null,\"error\":{}}\n" +
                result("z", ""),
            kKey, 9);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->score.tasks[0].missing, 1);
  EXPECT_EQ(checked->score.tasks[1].missing, 1);
  EXPECT_EQ(checked->score.unknown, 1);
  ASSERT_EQ(checked->wrong.size(), 2U);
  EXPECT_EQ(checked->wrong[0].custom_id, "b");
  EXPECT_FALSE(checked->wrong[0].given);
}

TEST_F(CheckFiles, KeepsAsManyWrongAnswersAsAsked) {
  const Result<Checked> checked = check(result("a", "2 1") + result("b", "4 3"), kKey, 1);
  ASSERT_TRUE(checked);
  ASSERT_EQ(checked->wrong.size(), 1U);
  EXPECT_EQ(checked->wrong[0].expected, "1 2");
  EXPECT_EQ(checked->wrong[0].given, "2 1");
}

TEST_F(CheckFiles, AFileOfAnotherKindIsRefusedWithItsLine) {
  EXPECT_EQ(refusal(result("a", "1") + "{\"custom_id\":\"b\""),
            results_path() + ":2: this line is no JSON object");
  EXPECT_EQ(refusal(result("a", "1") + result("a", "1")),
            results_path() + ":2: \"a\" is there twice");
  EXPECT_EQ(refusal("", "{}\n"), key_path() + ":1: this line has no text \"custom_id\"");
  EXPECT_EQ(refusal("", std::string(kKey) + std::string(kKey)),
            key_path() + ":5: \"a\" is there twice");
  EXPECT_EQ(refusal("", "\n"), key_path() + " holds no rows");
}

TEST_F(CheckFiles, AFileThatIsNotThereIsNamed) {
  const Result<Checked> none = check_files(results_path(), key_path(), 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(none.error().message, key_path() + " cannot be read: No such file or directory");
  const Result<Checked> folder = check_files("/tmp", "/tmp", 0);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "/tmp is a folder");
}

}  // namespace
}  // namespace windrow::check_answers
