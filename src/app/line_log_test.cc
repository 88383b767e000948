#include "app/line_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

namespace windrow::app {
namespace {

class LineLogTest : public ::testing::Test {
 protected:
  LineLogTest() : folder_(std::filesystem::path(::testing::TempDir()) / "line_log") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~LineLogTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<std::string> lines_of(const std::string& name) const {
    std::ifstream file(path(name));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  }

  std::filesystem::path folder_;
};

TEST_F(LineLogTest, LinesOfManyThreadsStayWholeAndNobodyElseReadsThem) {
  const auto log = LineLog::open(path("log"));
  ASSERT_TRUE(log.has_value()) << log.error().message;
  {
    std::vector<std::jthread> threads;
    for (char letter = 'a'; letter < 'e'; ++letter) {
      threads.emplace_back([&log, letter] {
        for (int i = 0; i < 100; ++i)
          (*log)->write(std::string(200, letter));
      });
    }
  }
  const std::vector<std::string> lines = lines_of("log");
  EXPECT_EQ(lines.size(), 400U);
  const std::set<std::string> kinds(lines.begin(), lines.end());
  EXPECT_EQ(kinds, (std::set<std::string>{std::string(200, 'a'), std::string(200, 'b'),
                                          std::string(200, 'c'), std::string(200, 'd')}));
  struct stat status{};
  ASSERT_EQ(stat(path("log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(LineLogTest, AFileThatWasMovedAwayIsLeftWhenAskedTo) {
  const auto log = LineLog::open(path("log"));
  ASSERT_TRUE(log.has_value()) << log.error().message;
  (*log)->write("one");
  std::filesystem::rename(path("log"), path("log.1"));
  (*log)->write("two");
  ASSERT_TRUE((*log)->reopen().has_value());
  (*log)->write("three");
  EXPECT_EQ(lines_of("log.1"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(lines_of("log"), std::vector<std::string>{"three"});
}

TEST_F(LineLogTest, AFileThatCannotBeOpenedIsRefused) {
  const auto log = LineLog::open(path("none/log"));
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().message,
            "--log " + path("none/log") + ": it cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace windrow::app
