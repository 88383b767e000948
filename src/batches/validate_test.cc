#include "batches/validate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/testing/live_bytes.h"
#include "batch/testing/memory_input.h"
#include "batch/testing/pack.h"

namespace windrow::batches {
namespace {

std::string line(std::string_view id, std::string_view model = "m",
                 std::string_view url = "/v1/chat/completions") {
  return fmt::format(
      R"({{"custom_id":"{}","method":"POST","url":"{}","body":{{"model":"{}","messages":[]}}}})"
      "\n",
      id, url, model);
}

using Outcome = std::variant<CheckedInput, std::vector<BatchFault>>;

ValidationRules rules() {
  using Found = std::variant<std::string, llm::Failure>;
  return {.rows_max = 100, .find_model = [](const std::string& name) -> Found {
            if (name == "m" || name == "other") return name;
            if (name == "alias") return "m";
            return llm::Failure{
                .status = 404, .code = "model_not_found", .message = "there is no model " + name};
          }};
}

Outcome check(const std::string& input, const ValidationRules& with = rules()) {
  batch::testing::MemoryInput memory(input);
  const auto lines = batch::open_lines(memory);
  Result<Outcome> outcome = validate(**lines, with);
  EXPECT_TRUE(outcome);
  return *std::move(outcome);
}

// "LINE code" of each.
std::vector<std::string> faults(const Outcome& outcome) {
  std::vector<std::string> list;
  if (const auto* all = std::get_if<std::vector<BatchFault>>(&outcome)) {
    for (const BatchFault& fault : *all) {
      EXPECT_NE(fault.message, "");
      list.push_back(fmt::format("{} {}", fault.line, fault.code));
    }
  }
  return list;
}

using Faults = std::vector<std::string>;

TEST(Validate, AGoodFileHasSoManyRowsOfOneModel) {
  const Outcome outcome = check(line("a") + "\n  \n" + line("b") + line("c"));
  EXPECT_EQ(std::get<CheckedInput>(outcome), (CheckedInput{.rows = 3, .models = {"m"}}));
}

TEST(Validate, EveryFaultIsNamedWithItsLine) {
  const std::string input =
      line("a") +                                                                   // 1
      "not json\n" +                                                                // 2
      "\n" +                                                                        // 3
      line("b", "m", "/v1/embeddings") +                                            // 4
      line("a") +                                                                   // 5
      line("c", "nobody") +                                                         // 6
      line("d", "other") +                                                          // 7
      R"({"custom_id":"e","method":"GET","url":"/v1/chat/completions","body":{}})"  // 8
      "\n"
      R"({"custom_id":"f","method":"POST","body":{}})"  // 9
      "\n"
      R"({"custom_id":"g","method":"POST","url":"/v1/chat/completions"})"  // 10
      "\n"
      R"({"method":"POST","url":"/v1/chat/completions","body":{}})"  // 11
      "\n"
      R"({"custom_id":"h","method":"POST","url":"/v1/chat/completions","body":{"model":1}})"  // 12
      "\n[]\n";                                                                               // 13
  EXPECT_EQ(
      faults(check(input)),
      (Faults{"2 invalid_json_line", "4 url_mismatch", "5 duplicate_custom_id", "6 model_not_found",
              "7 model_mismatch", "8 invalid_request", "9 url_mismatch", "10 invalid_request",
              "11 invalid_request", "12 invalid_request", "13 invalid_json_line"}));
}

TEST(Validate, AFileWithoutRequestsIsEmpty) {
  EXPECT_EQ(faults(check("")), Faults{"0 empty_file"});
  EXPECT_EQ(faults(check("\n \n")), Faults{"0 empty_file"});
}

TEST(Validate, TooManyRowsEndIt) {
  ValidationRules few = rules();
  few.rows_max = 2;
  EXPECT_TRUE(std::holds_alternative<CheckedInput>(check(line("a") + line("b"), few)));
  EXPECT_EQ(faults(check(line("a") + line("b") + line("c") + "not json\n", few)),
            Faults{"3 too_many_tasks"});
}

TEST(Validate, TextsToEmbedAreCountedOneByOne) {
  ValidationRules few = rules();
  few.rows_max = 5;
  few.endpoint = llm::Endpoint::kEmbeddings;
  const auto wants = [](std::string_view id, std::string_view input) {
    return fmt::format(R"({{"custom_id":"{}","method":"POST","url":"/v1/embeddings",)"
                       R"("body":{{"model":"m","input":{}}}}})"
                       "\n",
                       id, input);
  };
  const std::string five = wants("a", R"(["x","y"])") + wants("b", R"("one")") +
                           wants("c", "[1,2,3,4,5,6,7]") + wants("d", "[[1,2]]");
  EXPECT_TRUE(std::holds_alternative<CheckedInput>(check(five, few)));
  EXPECT_EQ(faults(check(five + wants("e", "[]") + "no json\n", few)), Faults{"5 too_many_tasks"});
  EXPECT_EQ(faults(check(wants("a", "[[1],[2],[3],[4],[5],[6]]"), few)),
            Faults{"1 too_many_tasks"});
}

// Two thousand bytes that are two million.
TEST(Validate, WhatIsPackedIsBoundedToo) {
  const auto check_packed = [](const std::string& packed) {
    batch::testing::MemoryInput memory(packed);
    ValidationRules small = rules();
    small.text_bytes_max = 1'000'000;
    const auto lines = batch::open_lines(memory, {.text_bytes_max = small.text_bytes_max});
    return *validate(**lines, small);
  };
  const std::string flood(2'000'000, '\n');
  for (const std::string& packed : {batch::testing::gzipped(line("a") + flood),
                                    batch::testing::zstd_packed(line("a") + flood)}) {
    ASSERT_LT(packed.size(), 10'000U);
    const Outcome outcome = check_packed(packed);
    const auto& all = std::get<std::vector<BatchFault>>(outcome);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].code, "file_too_large");
    EXPECT_GT(all[0].line, 900'000);
    EXPECT_LT(all[0].line, 1'100'000);
    EXPECT_NE(all[0].message.find("--max-file-mb"), std::string::npos) << all[0].message;
  }
  const std::string fits = line("a") + std::string(900'000, '\n') + line("b");
  EXPECT_EQ(std::get<CheckedInput>(check_packed(batch::testing::gzipped(fits))).rows, 2);
  const std::string wide = line("a") + std::string(2'000'000, ' ');
  EXPECT_EQ(faults(check_packed(batch::testing::gzipped(wide))), Faults{"2 file_too_large"});
}

TEST(Validate, SeveralModelsWhereTheyMay) {
  ValidationRules mixed = rules();
  mixed.mixed_models = true;
  EXPECT_EQ(std::get<CheckedInput>(check(line("a") + line("b", "other") + line("c"), mixed)),
            (CheckedInput{.rows = 3, .models = {"m", "other"}}));
  EXPECT_EQ(faults(check(line("a") + line("b", "nobody"), mixed)), Faults{"2 model_not_found"});
}

TEST(Validate, RowsThatNameNoModelAreAskedFor) {
  ValidationRules any = rules();
  std::vector<std::string> asked;
  any.find_model = [&](const std::string& name) -> std::variant<std::string, llm::Failure> {
    asked.push_back(name);
    return "m";
  };
  const std::string input =
      R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{}})"
      "\n"
      R"({"custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{"model":null}})";
  EXPECT_EQ(std::get<CheckedInput>(check(input, any)), (CheckedInput{.rows = 2, .models = {""}}));
  EXPECT_EQ(asked, std::vector<std::string>{""});
}

TEST(Validate, AModelMayGoBySeveralNames) {
  const std::string input =
      R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}})"
      "\n"
      R"({"custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{"model":"alias"}})";
  EXPECT_EQ(std::get<CheckedInput>(check(input)),
            (CheckedInput{.rows = 2, .models = {"m", "alias"}}));
}

TEST(Validate, OfManyFaultsTheFirstAreListedAndTheOthersCounted) {
  std::string input;
  for (int i = 0; i < 90; ++i)
    input += "x\n" + line("same");
  ValidationRules many = rules();
  many.rows_max = 1000;
  const Faults list = faults(check(input, many));
  ASSERT_EQ(list.size(), kFaultsMax + 1);
  EXPECT_EQ(list.back(), "0 too_many_errors");
  const Outcome outcome = check(input, many);
  const auto& all = std::get<std::vector<BatchFault>>(outcome);
  EXPECT_NE(all.back().message.find("79 more"), std::string::npos) << all.back().message;
}

TEST(Validate, DamagedInputIsAFaultOfTheFileAndABadDiskIsNot) {
  EXPECT_EQ(faults(check("\x1F\x8B\x08 this is no gzip")).back(), "0 invalid_request");
  batch::testing::MemoryInput broken(line("a") + line("b"), {.piece_bytes = 10, .fails_at = 30});
  const auto lines = batch::open_lines(broken);
  const Result<Outcome> outcome = validate(**lines, rules());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kIo);
}

// 16 bytes a row, and a table that may be half empty.
TEST(Validate, MemoryDoesNotGrowWithTheInput) {
  std::string input;
  constexpr int64_t kRows = 50'000;
  for (int64_t i = 0; i < kRows; ++i)
    input += line(fmt::format("row-{}", i));
  ValidationRules many = rules();
  many.rows_max = kRows;
  size_t most = 0;
  batch::testing::MemoryInput memory(input);
  const auto lines = batch::open_lines(memory);
  const size_t before = testing::live_bytes();
  class Watch final : public batch::LineSource {
   public:
    Watch(batch::LineSource& lines, size_t& most) : lines_(lines), most_(most) {}
    Result<std::optional<batch::Line>> next() override {
      if (++count_ % 1000 == 0) most_ = std::max(most_, windrow::testing::live_bytes());
      return lines_.next();
    }
    uint64_t input_bytes_read() const override { return lines_.input_bytes_read(); }
    void interrupt() override { lines_.interrupt(); }

   private:
    batch::LineSource& lines_;
    size_t& most_;
    int64_t count_ = 0;
  } watch(**lines, most);
  const Result<Outcome> outcome = validate(watch, many);
  EXPECT_EQ(std::get<CheckedInput>(*outcome).rows, kRows);
  EXPECT_LT(most - std::min(most, before), size_t{8} << 20) << "the input has " << input.size();
}

}  // namespace
}  // namespace windrow::batches
