#include "app/process/line_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "base/testing/eventually.h"
#include "store/testing/temporary_folder.h"

namespace windrow::app {
namespace {

class LineLogTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  std::vector<std::string> lines_of(const std::string& name) const {
    std::ifstream file(path(name));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  }

  store::testing::TemporaryFolder folder_;
  std::atomic<int> warnings_ = 0;
  std::function<void(const std::string&)> warn_ = [this](const std::string&) { ++warnings_; };
};

TEST_F(LineLogTest, LinesOfManyThreadsStayWholeAndOnlyTheOwnerReadsThem) {
  auto log = LineLog::open(path("log"), warn_);
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
  log->reset();
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
  auto log = LineLog::open(path("log"), warn_);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  (*log)->write("one");
  std::filesystem::rename(path("log"), path("log.1"));
  (*log)->write("two");
  ASSERT_TRUE((*log)->reopen().has_value());
  (*log)->write("three");
  log->reset();
  EXPECT_EQ(lines_of("log.1"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(lines_of("log"), std::vector<std::string>{"three"});
}

TEST_F(LineLogTest, ALastLineThatACrashLeftTornDoesNotSpoilTheNext) {
  std::ofstream(path("log")) << "one\n{\"torn";
  auto log = LineLog::open(path("log"), warn_);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  (*log)->write("two");
  std::ofstream(path("other")) << "tor";
  log->reset();
  EXPECT_EQ(lines_of("log"), (std::vector<std::string>{"one", "{\"torn", "two"}));

  // A whole one stays as it is, and so does an empty file.
  log = LineLog::open(path("log"), warn_);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  (*log)->write("three");
  // The same where the log goes on in another file.
  std::filesystem::rename(path("log"), path("log.1"));
  std::filesystem::rename(path("other"), path("log"));
  ASSERT_TRUE((*log)->reopen().has_value());
  (*log)->write("four");
  log->reset();
  EXPECT_EQ(lines_of("log.1"), (std::vector<std::string>{"one", "{\"torn", "two", "three"}));
  EXPECT_EQ(lines_of("log"), (std::vector<std::string>{"tor", "four"}));
}

TEST_F(LineLogTest, AReaderThatStopsReadingDelaysNoWriter) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  auto log = LineLog::open(path("pipe"), warn_);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  const std::string line(10'000, 'x');
  for (size_t bytes = 0; bytes < 2 * LineLog::kWaitingBytesMax; bytes += line.size())
    (*log)->write(line);
  log->reset();  // and ends, with most of it unwritten
  ::close(reader);
}

TEST_F(LineLogTest, AFullDiskIsSaidOnce) {
  auto log = LineLog::open("/dev/full", warn_);
  ASSERT_TRUE(log.has_value()) << log.error().message;
  (*log)->write("one");
  (*log)->write("two");
  windrow::testing::eventually([&] { return warnings_.load(); }, ::testing::Ge(1));
  (*log)->write("three");
  log->reset();
  EXPECT_EQ(warnings_.load(), 1);
}

TEST_F(LineLogTest, AFileThatCannotBeOpenedIsRefused) {
  const auto log = LineLog::open(path("none/log"), warn_);
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().message,
            "--log " + path("none/log") + ": it cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace windrow::app
