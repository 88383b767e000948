#include "batch/sound_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "batch/result_line.h"
#include "batch/testing/job_rig.h"
#include "batch/testing/memory_input.h"

namespace windrow::batch {
namespace {

using testing::MemoryInput;
using testing::row_line;

// The rows a to c, a line that is none, and a second b.
const std::string kInput = row_line("a", "1") + row_line("b", "2") + row_line("c", "3") +
                           "rubbish\n" + row_line("b", "other");

class SoundLinesTest : public ::testing::Test {
 protected:
  SoundLinesTest() {
    MemoryInput input(kInput);
    const auto lines = open_lines(input);
    const RowReader reader({.models = {"m"}, .any_model = true});
    for (auto line = (*lines)->next(); *line; line = (*lines)->next()) {
      sound.add_input(**line);
      keys.push_back(key_of(reader, **line));
    }
  }

  static RowKey key_of(const RowReader& reader, const Line& line) {
    const auto opened = reader.open(line);
    if (const auto* fault = std::get_if<RowFault>(&opened)) return fault->key;
    const RowKey& key = std::get<Envelope>(opened).key;
    return line.number == 5 ? duplicate_fault(key, line).key : key;
  }

  std::string result(size_t row) const {
    const llm::Answer answer{.choices = {{.text = "so"}}};
    return whole(
        result_line(keys.at(row), llm::Endpoint::kCompletions, "m", answer, {.attempts = 1}, 0));
  }
  std::string failure(size_t row, bool of_line = false) const {
    return whole(error_line({.key = keys.at(row), .failure = {.status = 400}, .of_line = of_line},
                            {.attempts = 1}));
  }
  static std::string whole(std::string line) {
    line.pop_back();
    return line;
  }
  std::string why_not(LogKind kind, const std::string& line) {
    return std::string(sound.judge(kind, line).value_or(""));
  }

  SoundLines sound;
  std::vector<RowKey> keys;  // of the lines of the input
};

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(SoundLinesTest, WhatWasWrittenIsSoundOnceForEachRow) {
  EXPECT_EQ(why_not(LogKind::kResults, result(1)), "");
  EXPECT_EQ(why_not(LogKind::kResults, result(0)), "");
  EXPECT_EQ(why_not(LogKind::kResults, result(1)), "its row has a line already");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(0)), "its row has a line already");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(2)), "");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(2)), "its row has a line already");
}

TEST_F(SoundLinesTest, LinesThatBecameNoRequestsCountByTheirPlaces) {
  EXPECT_EQ(why_not(LogKind::kErrors, failure(3, true)), "");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(4, true)), "");
  EXPECT_EQ(why_not(LogKind::kErrors, failure(4, true)), "its row has a line already");
  EXPECT_EQ(why_not(LogKind::kResults, result(1)), "");
}

TEST_F(SoundLinesTest, WhatIsNotWholeIsNotSound) {
  const std::string line = result(0);
  for (size_t size = 0; size < line.size(); ++size)
    EXPECT_NE(why_not(LogKind::kResults, line.substr(0, size)), "") << size;
  for (size_t at = 0; at < line.size(); ++at) {
    std::string garbled = line;
    garbled[at] = '\0';
    EXPECT_EQ(why_not(LogKind::kResults, garbled), "it is not JSON") << at;
  }
  EXPECT_EQ(why_not(LogKind::kResults, line), "");
}

// The beginning of one line with the end of another, as a lost block makes it.
TEST_F(SoundLinesTest, TwoHalvesAreNoWhole) {
  const std::string one = result(0);
  const std::string other = result(1);
  const size_t end_of_answer = one.find("\"windrow\"");
  for (size_t at = one.find("custom_id"); at < end_of_answer; ++at)
    EXPECT_NE(why_not(LogKind::kResults, one.substr(0, at) + other.substr(at)), "") << at;
}

TEST_F(SoundLinesTest, WhatAnswersNoRowOfTheInputIsNotSound) {
  EXPECT_EQ(why_not(LogKind::kResults, "null"), "it is not a JSON object");
  EXPECT_EQ(why_not(LogKind::kErrors, result(0)), "it is a result among errors");
  EXPECT_EQ(why_not(LogKind::kResults, failure(0)), "it is an error among results");
  EXPECT_EQ(why_not(LogKind::kResults, with(result(0), "\"a\"", "\"b\"")),
            "its id is that of another line");
  EXPECT_EQ(why_not(LogKind::kResults, with(result(0), ":200", ":500")), "it has no answer");
  EXPECT_EQ(why_not(LogKind::kResults, with(result(0), "\"body\"", "\"b\"")), "it has no answer");

  RowKey stranger = keys[0];
  stranger.custom_id = "z";
  stranger.identity = row_identity("z");
  keys.push_back(stranger);
  EXPECT_EQ(why_not(LogKind::kResults, result(5)), "the input has no such row");
  keys[0].fingerprint ^= 4;
  EXPECT_EQ(why_not(LogKind::kResults, result(0)), "its row asks something else now");
}

}  // namespace
}  // namespace windrow::batch
