#include "batch/log_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "batch/result_line.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {

namespace {

using store::testing::MemoryDisk;

struct Read {
  std::vector<std::string> lines;
  std::string torn;
};

Read read_all(MemoryDisk& disk, const std::string& text) {
  disk.put("log", text);
  auto file = *disk.open_read("log");
  LogLines lines(*file);
  Read read;
  for (auto line = lines.next(); line && *line; line = lines.next())
    read.lines.emplace_back(**line);
  EXPECT_EQ(lines.offset(), text.size() - lines.torn().size());
  read.torn = lines.torn();
  return read;
}

TEST(LogLines, NothingIsNothing) {
  MemoryDisk disk;
  EXPECT_TRUE(read_all(disk, "").lines.empty());
}

TEST(LogLines, WhatStandsBehindTheLastEndIsTorn) {
  MemoryDisk disk;
  const Read read = read_all(disk, "a\n\nbc");
  EXPECT_EQ(read.lines, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(read.torn, "bc");
}

// Against a plain split, with lines around the sizes of the blocks.
TEST(LogLines, LinesOfAnySizeComeWhole) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    std::string text;
    std::vector<std::string> expected;
    for (int64_t count = random.between(0, 40); count > 0; --count) {
      const int64_t most = random.chance(0.2) ? 400'000 : 3'000;
      expected.emplace_back(static_cast<size_t>(random.between(0, most)),
                            static_cast<char>('a' + random.below(26)));
      text += expected.back() + "\n";
    }
    const std::string torn(static_cast<size_t>(random.between(0, 200'000)), 'x');
    MemoryDisk disk;
    const Read read = read_all(disk, text + torn);
    ASSERT_TRUE(read.lines == expected) << "seed " << seed;
    ASSERT_TRUE(read.torn == torn) << "seed " << seed;
  }
}

TEST(LogLines, AnUnreadableFileIsAnError) {
  MemoryDisk memory;
  memory.put("log", "a\n");
  store::testing::FaultyDisk disk(memory, {.read_fails = true});
  auto file = disk.open_read("log");
  if (!file) return;  // refused even earlier
  LogLines lines(**file);
  EXPECT_EQ(lines.next().error().kind, ErrorKind::kIo);
}

RowKey key_of(int64_t i) {
  const std::string id = fmt::format("row-{}", i);
  return {.line = static_cast<uint64_t>(i) + 1,
          .custom_id = id,
          .identity = row_identity(id),
          .fingerprint = static_cast<uint64_t>(i) * 7};
}

std::string result(int64_t i, size_t text_bytes = 5) {
  const llm::Answer answer{.choices = {{.text = std::string(text_bytes, 'x')}}};
  return result_line(key_of(i), llm::Endpoint::kCompletions, "m", answer, {.attempts = 1}, 0);
}

std::string error(int64_t i) {
  return error_line({.key = key_of(i), .failure = {}}, {.attempts = 1});
}

std::string bad_line(uint64_t line, uint64_t fingerprint) {
  return error_line({.key = {.line = line,
                             .custom_id = {},
                             .identity = line_identity(line, fingerprint),
                             .fingerprint = fingerprint},
                     .failure = {},
                     .of_line = true},
                    {});
}

class LogScanTest : public ::testing::Test {
 protected:
  Result<LogScan> scan(const std::string& text, LogKind kind = LogKind::kResults) {
    disk_.put("log", text);
    found_.clear();
    ids_.clear();
    auto file = *disk_.open_read("log");
    return scan_log(*file, "log", kind, [&](const LogLine& line) -> Result<void> {
      found_.push_back(line);
      ids_.emplace_back(line.custom_id);
      return {};
    });
  }

  store::testing::MemoryDisk disk_;
  std::vector<LogLine> found_;
  std::vector<std::string> ids_;
};

TEST_F(LogScanTest, FindsWhatWasWritten) {
  const auto scanned = scan(result(0) + result(1) + result(2));
  ASSERT_TRUE(scanned.has_value()) << scanned.error().message;
  EXPECT_EQ(scanned->lines, 3);
  EXPECT_EQ(scanned->whole_bytes, disk_.get("log").size());
  EXPECT_EQ(scanned->torn_bytes, 0U);
  ASSERT_EQ(found_.size(), 3U);
  EXPECT_EQ(ids_, (std::vector<std::string>{"row-0", "row-1", "row-2"}));
  EXPECT_EQ(found_[1].identity, row_identity("row-1"));
  EXPECT_EQ(found_[1].fingerprint, 7U);
  EXPECT_EQ(found_[1].input_line, 2U);
  EXPECT_EQ(found_[1].number, 2U);
  EXPECT_EQ(found_[1].offset, result(0).size());
  EXPECT_EQ(found_[1].size, result(1).size());
}

TEST_F(LogScanTest, AnEmptyLogIsALog) {
  const auto scanned = scan("");
  ASSERT_TRUE(scanned.has_value());
  EXPECT_EQ(scanned->lines, 0);
}

TEST_F(LogScanTest, LinesOfAnySizeAreRead) {
  const auto scanned = scan(result(0, 3'000'000) + result(1, 1) + result(2, 700'000) + result(3));
  ASSERT_TRUE(scanned.has_value()) << scanned.error().message;
  EXPECT_EQ(scanned->lines, 4);
  EXPECT_EQ(scanned->whole_bytes, disk_.get("log").size());
}

TEST_F(LogScanTest, ErrorsGoByRowOrByLine) {
  const auto scanned = scan(error(0) + bad_line(9, 99), LogKind::kErrors);
  ASSERT_TRUE(scanned.has_value()) << scanned.error().message;
  EXPECT_EQ(found_[0].identity, row_identity("row-0"));
  EXPECT_EQ(found_[1].identity, line_identity(9, 99));
  EXPECT_EQ(ids_[1], "");
}

TEST_F(LogScanTest, ATornEndIsMeasuredAtEveryByte) {
  const std::string whole = result(0) + result(1);
  const std::string last = result(2);
  for (size_t cut = 0; cut < last.size(); ++cut) {
    const auto scanned = scan(whole + last.substr(0, cut));
    ASSERT_TRUE(scanned.has_value()) << cut << ": " << scanned.error().message;
    ASSERT_EQ(scanned->lines, 2);
    ASSERT_EQ(scanned->whole_bytes, whole.size());
    ASSERT_EQ(scanned->torn_bytes, cut);
  }
}

TEST_F(LogScanTest, BlocksThatNeverReachedTheDiskAreATornEnd) {
  const auto zeros = scan(result(0) + std::string(4096, '\0'));
  ASSERT_TRUE(zeros.has_value());
  EXPECT_EQ(zeros->torn_bytes, 4096U);
  const auto partly = scan(result(0) + result(1).substr(0, 50) + std::string(100, '\0'));
  ASSERT_TRUE(partly.has_value());
  EXPECT_EQ(partly->torn_bytes, 150U);
  const auto early = scan(result(0) + "{\"id" + std::string(100, '\0') + "later");
  ASSERT_TRUE(early.has_value());
  EXPECT_EQ(early->torn_bytes, 109U);
}

TEST_F(LogScanTest, AnEndThatIsNotOursIsNotTakenForATornOne) {
  for (const std::string& text : {std::string("notes of mine"),
                                  std::string("{\"custom_id\":\"a\"}"), std::string("x\0\0", 3)}) {
    const auto scanned = scan(text);
    ASSERT_FALSE(scanned.has_value()) << text;
    EXPECT_EQ(scanned.error().kind, ErrorKind::kInvalid);
    EXPECT_FALSE(scan(result(0) + text).has_value());
  }
}

TEST_F(LogScanTest, ALineThatIsNotOursIsNamedWithWhatToDo) {
  std::string other = result(1);
  other.insert(3, "\"");
  for (const std::string& line :
       {std::string("\n"), std::string("{}\n"), std::string("hello\n"), std::string("[1]\n"),
        std::string("{\"custom_id\":\"a\",\"method\":\"POST\"}\n"), other,
        std::string("{\"custom_id\":\"a\",\"response\":{},\"error\":null,\"windrow\":{}}\n"),
        std::string("{\"custom_id\":\"a\",\"response\":{},\"error\":null,\"windrow\":{\"line\":-1,"
                    "\"fingerprint\":\"0000000000000001\"}}\n"),
        error(5), std::string(10, '\0') + "\n"}) {
    const auto scanned = scan(result(0) + line + result(2));
    ASSERT_FALSE(scanned.has_value()) << line;
    EXPECT_EQ(scanned.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(scanned.error().message.starts_with("log: line 2 ")) << scanned.error().message;
    EXPECT_NE(scanned.error().message.find("nothing was changed"), std::string::npos);
    EXPECT_NE(scanned.error().message.find("--fresh"), std::string::npos);
  }
  EXPECT_NE(scan(result(0), LogKind::kErrors).error().message.find("a result among errors"),
            std::string::npos);
}

// A line that names a row but is damaged is reported to the caller that asks for such lines, and
// the rest of the log is read.
TEST_F(LogScanTest, ALineThatNamesARowIsStray) {
  const std::string edited = R"({"custom_id":"row-1","response":{},"error":null})";
  const std::string deep =
      R"({"custom_id":"row-2","response":)" + std::string(500, '[') + std::string(500, ']') + "}";
  disk_.put("log", result(0) + edited + "\n" + deep + "\n" + error(4) + result(3));
  std::vector<std::string> stray;
  const auto file = disk_.open_read("log");
  const auto scanned = scan_log(
      **file, "log", LogKind::kResults,
      [&](const LogLine& line) -> Result<void> {
        ids_.emplace_back(line.custom_id);
        return {};
      },
      0,
      [&](const LogLine& line, std::string_view why) {
        stray.push_back(fmt::format("{} {} {}: {}", line.number, line.size, line.custom_id, why));
      });
  ASSERT_TRUE(scanned.has_value()) << scanned.error().message;
  EXPECT_EQ(scanned->lines, 2);
  EXPECT_EQ(scanned->whole_bytes, disk_.get("log").size());
  EXPECT_EQ(ids_, (std::vector<std::string>{"row-0", "row-3"}));
  EXPECT_EQ(stray, (std::vector<std::string>{
                       fmt::format("2 {} row-1: it has no object \"windrow\"", edited.size() + 1),
                       fmt::format("3 {} row-2: it is nested too deep", deep.size() + 1),
                       fmt::format("4 {} row-4: it is an error among results", error(4).size())}));
}

TEST_F(LogScanTest, WhatNamesNoRowIsNotStray) {
  for (const char* line : {"hello", "{}", "[1]", R"({"custom_id":null})", R"({"custom_id":""})"}) {
    disk_.put("log", result(0) + line + "\n");
    const auto file = disk_.open_read("log");
    const auto scanned = scan_log(
        **file, "log", LogKind::kResults, [](const LogLine&) -> Result<void> { return {}; }, 0,
        [](const LogLine&, std::string_view) {});
    ASSERT_FALSE(scanned.has_value()) << line;
    EXPECT_NE(scanned.error().message.find("Take the line out"), std::string::npos);
  }
}

TEST_F(LogScanTest, StopsAtTheFirstErrorOfItsCaller) {
  disk_.put("log", result(0) + result(1));
  auto file = *disk_.open_read("log");
  const Error reason{ErrorKind::kConflict, "enough"};
  int64_t calls = 0;
  const auto scanned =
      scan_log(*file, "log", LogKind::kResults, [&](const LogLine&) -> Result<void> {
        ++calls;
        return reason;
      });
  EXPECT_EQ(scanned.error(), reason);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace windrow::batch
