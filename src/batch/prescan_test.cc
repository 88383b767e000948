#include "batch/prescan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "batch/row.h"
#include "batch/testing/memory_input.h"

namespace windrow::batch {
namespace {

std::string row(std::string_view id, std::string_view prompt) {
  return fmt::format(
      R"({{"custom_id":"{}","method":"POST","url":"/v1/completions","body":{{"prompt":"{}"}}}})",
      id, prompt);
}

class PrescanTest : public ::testing::Test {
 protected:
  std::unique_ptr<LineSource> lines(const std::string& text) {
    input_ = std::make_unique<testing::MemoryInput>(text);
    return *open_lines(*input_);
  }

  void finished(std::string_view id, std::string_view prompt, bool succeeded) {
    const std::string text = row(id, prompt);
    const uint64_t fingerprint = row_fingerprint(text, id);
    EXPECT_TRUE(succeeded ? index_.add_result(row_identity(id), fingerprint)
                          : index_.add_failure(row_identity(id), fingerprint));
  }

  std::unique_ptr<testing::MemoryInput> input_;
  RowReader reader_{RowRules{.body = {}, .models = {"m"}, .any_model = true}};
  RowIndex index_;
};

TEST_F(PrescanTest, CountsRowsAndNotBlankLines) {
  const std::string text = row("a", "1") + "\n\n  \nrubbish\n" + row("b", "2");
  const Prescan all = count_rows(*lines(text), std::nullopt);
  EXPECT_EQ(all.rows, 3);
  EXPECT_TRUE(all.whole);
  const Prescan some = count_rows(*lines(text), 2);
  EXPECT_EQ(some.rows, 2);
  EXPECT_TRUE(some.whole);
  EXPECT_EQ(count_rows(*lines(text), 0).rows, 0);
  EXPECT_EQ(count_rows(*lines(""), std::nullopt).rows, 0);
}

TEST_F(PrescanTest, SaysWhatIsDone) {
  finished("a", "1", true);
  finished("b", "2", false);
  finished("gone", "9", true);
  EXPECT_TRUE(index_.add_failure(line_identity(3, line_fingerprint("rubbish", 7)),
                                 line_fingerprint("rubbish", 7)));
  const Prescan prescan =
      compare_rows(*lines(row("a", "1") + "\n" + row("b", "2") + "\nrubbish\nother\n" +
                          row("c", "3") + "\n" + row("c", "3") + "\n"),
                   std::nullopt, reader_, index_);
  EXPECT_EQ(prescan.rows, 6);
  EXPECT_EQ(prescan.rows_finished, 3);
  EXPECT_EQ(prescan.rows_finished_failed, 2);
  EXPECT_EQ(prescan.rows_changed, 0);
}

TEST_F(PrescanTest, NamesTheFirstChangedRowsAndCountsAll) {
  std::string text;
  for (int i = 0; i < 30; ++i) {
    finished(fmt::format("row-{}", i), "old", i != 1);
    text += row(fmt::format("row-{}", i), "new") + "\n";
  }
  const Prescan prescan = compare_rows(*lines(text), std::nullopt, reader_, index_);
  EXPECT_EQ(prescan.rows_changed, 30);
  EXPECT_EQ(prescan.rows_changed_failed, 1);
  EXPECT_EQ(prescan.changed.size(), kNamedMax);
  const Error error = changed_rows_error(prescan, "requests.jsonl");
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  EXPECT_NE(error.message.find("30 rows"), std::string::npos);
  EXPECT_NE(error.message.find("line 1, custom_id \"row-0\"\n"), std::string::npos);
  EXPECT_NE(error.message.find("line 2, custom_id \"row-1\" (failed before)"), std::string::npos);
  EXPECT_NE(error.message.find("line 20, custom_id \"row-19\""), std::string::npos);
  EXPECT_EQ(error.message.find("row-20"), std::string::npos);
  EXPECT_NE(error.message.find("and 10 more"), std::string::npos);
  EXPECT_NE(error.message.find("--retry-failed"), std::string::npos);
  EXPECT_NE(error.message.find("--fresh"), std::string::npos);
}

TEST_F(PrescanTest, ADuplicateOfADoneRowIsNotAChange) {
  finished("a", "1", true);
  const Prescan prescan = compare_rows(*lines(row("a", "1") + "\n" + row("a", "2") + "\n"),
                                       std::nullopt, reader_, index_);
  EXPECT_EQ(prescan.rows_changed, 0);
  EXPECT_EQ(prescan.rows_finished, 1);
}

TEST_F(PrescanTest, AnInputThatEndsEarlyIsCountedSoFar) {
  testing::MemoryInput input(row("a", "1") + "\n" + row("b", "2") + "\n", {.fails_at = 100});
  auto source = *open_lines(input);
  const Prescan prescan = count_rows(*source, std::nullopt);
  EXPECT_EQ(prescan.rows, 1);
  EXPECT_FALSE(prescan.whole);
  EXPECT_TRUE(prescan.error.has_value());
}

TEST_F(PrescanTest, CheckingFindsEveryLineAtFault) {
  finished("done", "0", true);
  std::vector<std::pair<uint64_t, std::string>> faults;
  const RowCheck too_long = [](const llm::Request& request) -> std::optional<llm::Failure> {
    if (request.inputs.at(0).text != "long") return std::nullopt;
    return llm::Failure{.code = "context_length_exceeded"};
  };
  const Prescan prescan = check_rows(
      *lines(row("done", "0") + "\n" + row("a", "1") + "\nrubbish\n" + row("a", "2") + "\n" +
             row("b", "long") + "\n" + R"({"custom_id":"c","url":"/v2"})" + "\n{}\n"),
      std::nullopt, reader_, index_, too_long,
      [&](const RowFault& fault) { faults.emplace_back(fault.key.line, fault.failure.code); });
  EXPECT_EQ(prescan.rows, 7);
  EXPECT_EQ(prescan.rows_finished, 1);
  using Faults = std::vector<std::pair<uint64_t, std::string>>;
  EXPECT_EQ(faults, (Faults{{3, "invalid_json_line"},
                            {4, "duplicate_custom_id"},
                            {5, "context_length_exceeded"},
                            {6, "unknown_url"},
                            {7, "missing_custom_id"}}));
}

}  // namespace
}  // namespace windrow::batch
