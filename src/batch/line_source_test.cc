#include "batch/line_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/random.h"
#include "batch/testing/memory_input.h"
#include "batch/testing/naive_lines.h"
#include "batch/testing/pack.h"

namespace windrow::batch {
namespace {

using std::string_literals::operator""s;
using testing::FoundLine;
using testing::gzipped;
using testing::MemoryInput;
using testing::naive_lines;
using testing::read_lines;
using testing::ReadLines;
using testing::zstd_packed;

ReadLines lines_of(const std::string& bytes, size_t piece_bytes = 65536, LineLimits limits = {}) {
  MemoryInput input(bytes, {.piece_bytes = piece_bytes});
  auto source = open_lines(input, limits);
  return read_lines(**source);
}

std::vector<std::string> texts_of(const std::string& bytes) {
  std::vector<std::string> texts;
  const ReadLines read = lines_of(bytes);
  texts.reserve(read.lines.size() + 1);
  for (const FoundLine& line : read.lines)
    texts.push_back(line.bytes);
  if (!read.error.empty()) texts.push_back("error: " + read.error);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(LineSource, GivesLinesWithTheirNumbers) {
  EXPECT_EQ(texts_of("one\ntwo\n"), (Texts{"one", "two"}));
  EXPECT_EQ(texts_of("one\r\ntwo\r\n"), (Texts{"one", "two"}));
  EXPECT_EQ(texts_of("one\ntwo"), (Texts{"one", "two"}));
  EXPECT_EQ(texts_of(""), Texts{});
  EXPECT_EQ(texts_of("\n\n"), Texts{});
  const ReadLines read = lines_of("\n \t\none\n\r\n\ntwo");
  ASSERT_EQ(read.lines.size(), 2U);
  EXPECT_EQ(read.lines[0].number, 3U);
  EXPECT_EQ(read.lines[1].number, 6U);
}

TEST(LineSource, EndsWhereTheTextBecomesLongerThanItMay) {
  const std::string flood(100'000, '\n');
  for (const std::string& bytes : {"one\ntwo\n" + flood, gzipped("one\ntwo\n" + flood)}) {
    MemoryInput input(bytes);
    const auto source = *open_lines(input, {.text_bytes_max = 50'000});
    EXPECT_EQ(source->next().value()->bytes, "one");
    EXPECT_EQ(source->next().value()->bytes, "two");
    const Line last = source->next().value().value();
    EXPECT_TRUE(last.beyond);
    EXPECT_GT(last.number, 2U);
    EXPECT_LT(last.number, 100'002U);
    EXPECT_FALSE(source->next().value());
  }
  MemoryInput exact("one\ntwo\n");
  const auto source = *open_lines(exact, {.text_bytes_max = 8});
  EXPECT_FALSE(source->next().value()->beyond);
  EXPECT_FALSE(source->next().value()->beyond);
  EXPECT_FALSE(source->next().value());
}

TEST(LineSource, KeepsWhatIsInsideALine) {
  EXPECT_EQ(texts_of("a\rb\0c\n"s), (Texts{"a\rb\0c"s}));
  EXPECT_EQ(texts_of("  x \n"), (Texts{"  x "}));
  EXPECT_EQ(texts_of("a\r\r\n"), (Texts{"a\r"}));
}

TEST(LineSource, AByteOrderMarkIsNotPartOfTheText) {
  EXPECT_EQ(texts_of("\xEF\xBB\xBF{}\n"), (Texts{"{}"}));
  EXPECT_EQ(texts_of("\xEF\xBB\xBF"), Texts{});
  EXPECT_EQ(texts_of("\xEF\xBB"), (Texts{"\xEF\xBB"}));
  EXPECT_EQ(texts_of("{}\n\xEF\xBB\xBF{}\n"), (Texts{"{}", "\xEF\xBB\xBF{}"}));
}

TEST(LineSource, OtherEncodingsAndPackersAreNamed) {
  EXPECT_NE(lines_of("\xFF\xFE{\0"s).error.find("UTF-16"), std::string::npos);
  EXPECT_NE(lines_of(testing::filtered({"bzip2", "-c"}, "{}\n")).error.find("bzip2"),
            std::string::npos);
  EXPECT_NE(lines_of(testing::filtered({"xz", "-c"}, "{}\n")).error.find("xz"), std::string::npos);
  EXPECT_NE(lines_of("PK\x03\x04 and so on").error.find("zip"), std::string::npos);
  EXPECT_TRUE(lines_of("PK\x03\x04").error.starts_with("requests.jsonl: "));
}

TEST(LineSource, ALineAboveTheLimitIsCutAndTheNextOneIsWhole) {
  const LineLimits limits{.line_bytes_max = 8, .too_long_bytes_kept = 4};
  for (const size_t piece : std::vector<size_t>{1, 2, 3, 7, 64}) {
    const std::string text = "12345678\r\n123456789\nx\n" + std::string(500, 'y') + "\r\nz\n";
    const ReadLines read = lines_of(text, piece, limits);
    EXPECT_EQ(read.lines, naive_lines(text, limits)) << "pieces of " << piece;
    ASSERT_EQ(read.lines.size(), 5U);
    EXPECT_FALSE(read.lines[0].too_long);
    EXPECT_TRUE(read.lines[1].too_long);
    EXPECT_EQ(read.lines[3].bytes, "yyyy");
    EXPECT_EQ(read.lines[3].length, 500U);
  }
}

TEST(LineSource, ALineOf64MiBIsRead) {
  const size_t max = LineLimits{}.line_bytes_max;
  ASSERT_EQ(max, size_t{64} << 20);
  const std::string text = std::string(max, 'a') + "\n" + std::string(max + 1, 'b') + "\nc\n";
  const ReadLines read = lines_of(text, size_t{1} << 20);
  ASSERT_EQ(read.lines.size(), 3U);
  EXPECT_FALSE(read.lines[0].too_long);
  EXPECT_EQ(read.lines[0].length, max);
  EXPECT_TRUE(read.lines[1].too_long);
  EXPECT_EQ(read.lines[1].bytes.size(), LineLimits{}.too_long_bytes_kept);
  EXPECT_EQ(read.lines[2].bytes, "c");
}

// --- compressed -------------------------------------------------------------------------------

std::string sample_text() {
  std::string text;
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    text += "{\"custom_id\":\"row-" + std::to_string(i) + "\",\"n\":";
    for (int j = 0; j < 5; ++j)
      text += std::to_string(random.next());
    text += "}\n";
  }
  return text;
}

TEST(LineSource, ReadsWhatGzipAndZstdWrite) {
  const std::string text = sample_text();
  const auto expected = naive_lines(text, {});
  for (const std::string& packed :
       {gzipped(text), zstd_packed(text), testing::filtered({"gzip", "-1", "-c"}, text),
        testing::filtered({"zstd", "-q", "-19", "--long=27", "-c"}, text),
        testing::filtered({"zstd", "-q", "--format=gzip", "-c"}, text)}) {
    for (const size_t piece : std::vector<size_t>{1, 5, 4096, 1 << 20}) {
      const ReadLines read = lines_of(packed, piece);
      EXPECT_EQ(read.error, "");
      EXPECT_EQ(read.lines, expected);
    }
  }
}

TEST(LineSource, MembersAndFramesMayFollowOneAnother) {
  for (const auto& pack : {gzipped, zstd_packed}) {
    // The border lies in the middle of a line.
    const std::string packed = pack("one\ntw") + pack("") + pack("o\nthree\n");
    EXPECT_EQ(texts_of(packed), (Texts{"one", "two", "three"}));
  }
  EXPECT_EQ(texts_of(gzipped("one\n") + std::string(700, '\0') + gzipped("two\n") +
                     std::string(512, '\0')),
            (Texts{"one", "two"}));
  // As parallel compressors write it, with a frame to skip in front.
  const std::string skipped = "\x5A\x2A\x4D\x18\x04\0\0\0abcd"s;
  EXPECT_EQ(texts_of(skipped + zstd_packed("one\n") + skipped + zstd_packed("two\n")),
            (Texts{"one", "two"}));
}

TEST(LineSource, EmptyCompressedFilesHaveNoLines) {
  EXPECT_EQ(texts_of(gzipped("")), Texts{});
  EXPECT_EQ(texts_of(zstd_packed("")), Texts{});
}

TEST(LineSource, ACutOffFileGivesItsWholeLinesAndThenSaysSo) {
  const std::string text = sample_text();
  const auto expected = naive_lines(text, {});
  for (const std::string& packed : {gzipped(text), zstd_packed(text)}) {
    for (size_t cut = 7; cut < packed.size(); cut += 997) {
      const ReadLines read = lines_of(packed.substr(0, cut), 333);
      ASSERT_NE(read.error.find("stops in the middle"), std::string::npos)
          << "cut at " << cut << ": " << read.error;
      ASSERT_LT(read.lines.size(), expected.size());
      // Whole lines only, and as many as can be had.
      ASSERT_TRUE(std::equal(read.lines.begin(), read.lines.end(), expected.begin()));
    }
    EXPECT_NE(lines_of(packed.substr(0, packed.size() - 1)).error, "");
  }
}

TEST(LineSource, DamagedDataIsAnError) {
  const std::string text = sample_text();
  std::string packed = gzipped(text);
  for (size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i)
    packed[i] = '\x55';
  EXPECT_NE(lines_of(packed).error.find("damaged"), std::string::npos);
  packed = testing::filtered({"zstd", "-q", "--check", "-c"}, text);
  for (size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i)
    packed[i] = '\x55';
  EXPECT_NE(lines_of(packed).error, "");
  const ReadLines trailing = lines_of(gzipped("one\n") + "rubbish");
  ASSERT_EQ(trailing.lines.size(), 1U);
  EXPECT_NE(trailing.error.find("damaged"), std::string::npos);
}

TEST(LineSource, KeepsSayingTheSame) {
  MemoryInput input(gzipped("one\n") + "rubbish");
  auto source = *open_lines(input);
  EXPECT_TRUE(source->next()->has_value());
  const Error error = source->next().error();
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_EQ(source->next().error(), error);

  MemoryInput other("one\n");
  auto ended = *open_lines(other);
  EXPECT_TRUE(ended->next()->has_value());
  EXPECT_FALSE(ended->next()->has_value());
  EXPECT_FALSE(ended->next()->has_value());
}

TEST(LineSource, AReadThatFailsEndsTheLines) {
  MemoryInput input("one\ntwo\nthree\n", {.fails_at = 10});
  auto source = *open_lines(input);
  const ReadLines read = read_lines(*source);
  EXPECT_EQ(read.lines.size(), 2U);
  EXPECT_NE(read.error.find("injected"), std::string::npos);
}

TEST(LineSource, CountsBytesAsTheyLieOnDisk) {
  const std::string packed = gzipped(sample_text());
  MemoryInput input(packed, {.piece_bytes = 100});
  auto source = *open_lines(input);
  EXPECT_EQ(source->input_bytes_read(), 0U);
  EXPECT_TRUE(source->next()->has_value());
  EXPECT_LT(source->input_bytes_read(), packed.size());
  read_lines(*source);
  EXPECT_EQ(source->input_bytes_read(), packed.size());
}

TEST(LineSource, AnInterruptedSourceHasNoFurtherLineNotEvenHalfOfOne) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
  auto input = open_input(path);
  ASSERT_TRUE(input.has_value()) << input.error().message;
  EXPECT_FALSE((*input)->rereadable());
  auto source = open_lines(**input);
  ASSERT_TRUE(source.has_value());
  ASSERT_EQ(write(ends[1], "one\nhal", 7), 7);
  EXPECT_EQ((**source).next()->value().bytes, "one");
  std::thread stopper([&] { (*source)->interrupt(); });
  const auto line = (*source)->next();  // waits for the rest of the line, until interrupted
  stopper.join();
  ASSERT_TRUE(line.has_value());
  EXPECT_FALSE(line->has_value());
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace windrow::batch
