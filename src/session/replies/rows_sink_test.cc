#include "session/replies/rows_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "session/replies/testing/replies.h"

namespace windrow::session {
namespace {

using testing::base64;
using testing::base64_ints;
using testing::base64_npy;
using testing::numbers_from;
using testing::numbers_of;

// Feeds the text in pieces. False: the sink refused it.
bool feed_text(RowsSink& sink, std::string_view text, size_t piece_bytes = 5) {
  while (!text.empty()) {
    if (!sink.on_text(text.substr(0, piece_bytes))) return false;
    text.remove_prefix(std::min(piece_bytes, text.size()));
  }
  return sink.on_end();
}

bool feed_lists(RowsSink& sink, const std::vector<std::vector<int64_t>>& rows) {
  for (const auto& row : rows) {
    if (!sink.on_open(1)) return false;
    for (const int64_t number : row) {
      if (!sink.on_number(number)) return false;
    }
    if (!sink.on_close(1)) return false;
  }
  return sink.on_end();
}

std::vector<int32_t> all_of(RowsSink& sink) {
  std::vector<int32_t> numbers(sink.values().size());
  sink.values().read(0, numbers);
  return numbers;
}

std::string fault_of(const RowsOrFault& rows) {
  const auto* fault = std::get_if<std::string>(&rows);
  return fault == nullptr ? "" : *fault;
}

TEST(RowsSink, ReadsInt32InPiecesOfEverySize) {
  const std::vector<int32_t> numbers = numbers_from(-3, 40);
  for (size_t piece = 1; piece < 20; ++piece) {
    RowsSink sink([](RowsSink::Form) { return 7; });
    ASSERT_TRUE(feed_text(sink, base64_ints(numbers), piece)) << sink.wrong();
    EXPECT_EQ(sink.numbers(), 40);
    EXPECT_EQ(sink.skipped(), 7);
    EXPECT_EQ(all_of(sink), std::vector<int32_t>(numbers.begin() + 7, numbers.end()));
    EXPECT_FALSE(sink.rows());
  }
}

TEST(RowsSink, ReadsNumPyFilesOfEveryWholeType) {
  const std::vector<int32_t> numbers = numbers_from(0, 24);
  for (const std::string_view type : {"|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"}) {
    for (const size_t piece : {1UL, 3UL, 50UL, 1000UL}) {
      RowsSink sink([](RowsSink::Form) { return 6; });
      ASSERT_TRUE(feed_text(sink, base64_npy(numbers, type, "(4, 3, 2)"), piece)) << sink.wrong();
      EXPECT_EQ(sink.rows(), 4);
      EXPECT_EQ(sink.numbers(), 24);
      EXPECT_EQ(all_of(sink), std::vector<int32_t>(numbers.begin() + 6, numbers.end()));
    }
  }
}

TEST(RowsSink, KnowsTheSignOfNumPyTypes) {
  const std::vector<int32_t> numbers = {-1, 255, 128};
  const auto read = [&](std::string_view type) {
    RowsSink sink([](RowsSink::Form) { return 0; });
    EXPECT_TRUE(feed_text(sink, base64_npy(numbers, type, "(3,)"))) << sink.wrong();
    return all_of(sink);
  };
  EXPECT_EQ(read("|u1"), (std::vector<int32_t>{255, 255, 128}));
  EXPECT_EQ(read("|i1"), (std::vector<int32_t>{-1, -1, -128}));
  EXPECT_EQ(read("<u2"), (std::vector<int32_t>{65535, 255, 128}));
  EXPECT_EQ(read("<i2"), numbers);
  EXPECT_EQ(read("<i8"), numbers);
}

TEST(RowsSink, SaysWhatIsWrongWithANumPyFile) {
  const std::vector<int32_t> numbers = numbers_from(0, 6);
  const auto wrong = [&](const std::string& text) {
    RowsSink sink([](RowsSink::Form) { return 0; });
    EXPECT_FALSE(feed_text(sink, text, 100));
    return sink.wrong();
  };
  EXPECT_EQ(wrong(base64_npy(numbers, "|u1", "(7,)")), "it has 6 of the 7 numbers of its shape");
  EXPECT_EQ(wrong(base64_npy(numbers, "|u1", "(5,)")),
            "it has more numbers than the 5 of its shape");
  EXPECT_EQ(wrong(base64_npy(numbers, "<f4", "(6,)")),
            "its NumPy type is not one of whole numbers, little endian: '<f4'");
  EXPECT_EQ(wrong(base64_npy(numbers, "|u1", "(x,)")), "its NumPy shape cannot be read at 'x'");
  EXPECT_EQ(wrong(base64_npy(numbers, "|u1", "(99999999, 99999999)")),
            "its NumPy shape cannot be read at ' 99999999'");
  const std::string whole = base64_npy(numbers, "|u1", "(6,)");
  EXPECT_EQ(wrong(whole.substr(0, 40)), "its NumPy header ends too early");
  EXPECT_EQ(wrong(whole.substr(0, 6)), "its base64 text ends too early");
  EXPECT_EQ(wrong(whole.substr(0, whole.size() - 2)),
            "its base64 text ends within a group of characters");
  EXPECT_EQ(wrong(whole.substr(0, 28) + "????"), "it is not base64");
  EXPECT_EQ(wrong(base64_npy(std::vector<int32_t>{-1}, "<u4", "(1,)")),
            "number 0 of it does not fit 32 bits: 4294967295");
}

TEST(RowsSink, SaysWhatIsWrongWithInt32) {
  RowsSink no_base64([](RowsSink::Form) { return 0; });
  EXPECT_FALSE(feed_text(no_base64, "AAAA!AAA"));
  EXPECT_EQ(no_base64.wrong(), "it is not base64");
  RowsSink no_numbers([](RowsSink::Form) { return 0; });
  EXPECT_FALSE(feed_text(no_numbers, base64("12345")));
  EXPECT_EQ(no_numbers.wrong(), "it is not base64 of whole numbers of 4 bytes");
}

TEST(RowsSink, ReadsLists) {
  RowsSink sink([](RowsSink::Form form) { return form == RowsSink::Form::kLists ? 3 : 0; });
  ASSERT_TRUE(feed_lists(sink, {{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(sink.rows(), 3);
  EXPECT_EQ(sink.numbers(), 6);
  EXPECT_EQ(all_of(sink), (std::vector<int32_t>{4, 5, 6}));
}

TEST(RowsSink, RefusesListsThatAreNoRows) {
  RowsSink differ([](RowsSink::Form) { return 0; });
  EXPECT_FALSE(feed_lists(differ, {{1, 2}, {3}}));
  EXPECT_EQ(differ.wrong(), "its rows differ in length: row 1 has 1 numbers, those before it 2");
  RowsSink wide([](RowsSink::Form) { return 0; });
  EXPECT_FALSE(feed_lists(wide, {{1, int64_t{1} << 31}}));
  EXPECT_EQ(wide.wrong(), "number 1 of it does not fit 32 bits: 2147483648");
  for (const bool number_first : {false, true}) {
    RowsSink mixed([](RowsSink::Form) { return 0; });
    if (number_first) EXPECT_TRUE(mixed.on_number(1));
    EXPECT_TRUE(mixed.on_open(1) && mixed.on_number(2) && mixed.on_close(1));
    if (!number_first) EXPECT_TRUE(mixed.on_number(1));
    EXPECT_FALSE(mixed.on_end());
    EXPECT_EQ(mixed.wrong(), "it has numbers beside its rows");
  }
}

TEST(RowsOf, FindsTheLengthOfARowByTheTokens) {
  RowsSink sink([](RowsSink::Form) { return 0; });
  ASSERT_TRUE(feed_text(sink, base64_ints(numbers_from(0, 12))));
  const RowsOrFault rows = rows_of(sink, "routed_experts", {.wanted = true}, 4);
  const auto& found = std::get<std::shared_ptr<TokenRows>>(rows);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->first_row, 0);
  EXPECT_EQ(found->values_per_row, 4);
  EXPECT_EQ(found->rows(), 3);
  EXPECT_EQ(numbers_of(*found), numbers_from(0, 12));
}

TEST(RowsOf, RowsBeginWhereTheReplyWasAskedToBegin) {
  const WantedRows wanted = {
      .wanted = true, .first_row = 12, .reply_begins_at = 10, .values_per_row = 2};
  RowsSink sink([&](RowsSink::Form) { return held_numbers(wanted); });
  // 15 tokens have 14 rows; 10 to 13 are here, and 12 and 13 are new.
  ASSERT_TRUE(feed_text(sink, base64_ints(numbers_from(0, 8))));
  const RowsOrFault rows = rows_of(sink, "routed_experts", wanted, 15);
  const auto& found = std::get<std::shared_ptr<TokenRows>>(rows);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->first_row, 12);
  EXPECT_EQ(found->end_row(), 14);
  EXPECT_EQ(numbers_of(*found), numbers_from(4, 4));
}

TEST(RowsOf, DropsHeldRowsThatTheSinkDidNotSkip) {
  const WantedRows wanted = {.wanted = true, .first_row = 2, .values_per_row = 2};
  RowsSink sink([](RowsSink::Form) { return 0; });
  ASSERT_TRUE(feed_lists(sink, {{0, 1}, {2, 3}, {4, 5}}));
  const RowsOrFault rows = rows_of(sink, "routed_experts", wanted, 4);
  EXPECT_EQ(numbers_of(*std::get<std::shared_ptr<TokenRows>>(rows)), numbers_from(4, 2));
}

TEST(RowsOf, ThereAreNoneWhereTheServerToldNone) {
  RowsSink unused([](RowsSink::Form) { return 0; });
  EXPECT_EQ(rows_of(unused, "routed_experts", {.wanted = true}, 4),
            RowsOrFault(std::shared_ptr<TokenRows>()));
  RowsSink empty([](RowsSink::Form) { return 0; });
  ASSERT_TRUE(feed_text(empty, ""));
  EXPECT_EQ(rows_of(empty, "routed_experts", {.wanted = true}, 4),
            RowsOrFault(std::shared_ptr<TokenRows>()));
}

TEST(RowsOf, SaysWhyRowsDoNotBelongToTheTokens) {
  const auto fault = [](const WantedRows& wanted, size_t numbers, size_t tokens) {
    RowsSink sink([](RowsSink::Form) { return 0; });
    EXPECT_TRUE(feed_text(sink, base64_ints(numbers_from(0, numbers))));
    return fault_of(rows_of(sink, "routed_experts", wanted, tokens));
  };
  EXPECT_EQ(
      fault({.wanted = true}, 7, 4),
      "routed_experts has 7 numbers, which are not 3 rows (of 4 tokens in all, from row 0 on) "
      "of one length");
  EXPECT_EQ(fault({.wanted = true, .values_per_row = 2}, 12, 4),
            "routed_experts has 12 numbers, which are not 3 rows (of 4 tokens in all, from row 0 "
            "on) of 2 numbers, as the rows before them");
  EXPECT_EQ(fault({.wanted = true}, 7, 1),
            "routed_experts has 7 numbers where 0 rows (of 1 tokens in all, from row 0 on) belong "
            "to the reply");
  RowsSink shaped([](RowsSink::Form) { return 0; });
  ASSERT_TRUE(feed_text(shaped, base64_npy(numbers_from(0, 12), "|u1", "(6, 1, 2)")));
  EXPECT_EQ(fault_of(rows_of(shaped, "routed_experts", {.wanted = true}, 4)),
            "routed_experts has 6 rows where 3 rows (of 4 tokens in all, from row 0 on) belong to "
            "the reply");
}

}  // namespace
}  // namespace windrow::session
