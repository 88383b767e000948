#include "sim_upstream/token_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/random.h"
#include "base/text_encoding.h"
#include "sim_upstream/long_body.h"

namespace windrow::sim_upstream {
namespace {

// What the text must be: all bytes, encoded at once.
std::string encoded(const RowBank& bank, const std::vector<uint8_t>& rows, std::string bytes) {
  for (const uint8_t row : rows)
    bytes += bank.bytes(row);
  std::string text;
  append_base64(bytes, text);
  return text;
}

TEST(RowsText, IsTheBase64OfItsRowsWhereverTheyBegin) {
  constexpr uint64_t kSeed = 3;
  Random random(kSeed);
  for (const size_t value_bytes : {1U, 2U, 4U}) {
    for (int64_t topk = 1; topk <= 9; ++topk) {
      const auto bank = std::make_shared<RowBank>(
          RowShape{.layers = 1, .topk = topk, .below = 64, .value_bytes = value_bytes}, kSeed);
      for (const size_t head : {0U, 1U, 2U, 7U}) {
        std::vector<uint8_t> rows(random.below(40));
        for (uint8_t& row : rows)
          row = static_cast<uint8_t>(random.below(bank->rows()));
        const std::string expected = encoded(*bank, rows, std::string(head, 'h'));
        RowsText text(bank, rows, std::string(head, 'h'));
        EXPECT_EQ(text.bytes(), expected.size());
        std::string made;
        while (text.append(made, 1 + random.below(30))) {
        }
        EXPECT_EQ(made, expected) << value_bytes << " x " << topk << " behind " << head;
      }
    }
  }
}

TEST(RowsText, IsBrokenInItsMiddle) {
  const auto bank = std::make_shared<RowBank>(RowShape{.layers = 2, .topk = 3, .below = 8}, 1);
  const std::vector<uint8_t> rows = {1, 2, 3, 4, 5};
  RowsText text(bank, rows);
  text.break_in_the_middle();
  std::string made;
  while (text.append(made, 20)) {
  }
  std::string expected = encoded(*bank, rows, "");
  ASSERT_EQ(made.size(), expected.size());
  expected[expected.size() / 2] = '*';
  EXPECT_EQ(made, expected);
}

TEST(RowBank, ALayerOfARowHasDifferentIdsInItsRange) {
  const RowShape shape{.layers = 5, .topk = 8, .below = 13};
  const RowBank bank(shape, 7);
  EXPECT_EQ(bank.rows(), 256U);
  std::set<std::string_view> different;
  for (size_t row = 0; row < bank.rows(); ++row) {
    const std::string_view bytes = bank.bytes(row);
    ASSERT_EQ(bytes.size(), shape.bytes());
    different.insert(bytes);
    for (size_t layer = 0; layer < 5; ++layer) {
      std::set<int32_t> ids;
      for (size_t i = 0; i < 8; ++i) {
        int32_t id = 0;
        std::memcpy(&id, bytes.data() + (layer * 8 + i) * sizeof(id), sizeof(id));
        EXPECT_GE(id, 0);
        EXPECT_LT(id, 13);
        ids.insert(id);
      }
      EXPECT_EQ(ids.size(), 8U);
    }
  }
  EXPECT_GT(different.size(), 200U);
}

TEST(RowsOfTokens, AreThoseOfThePrefix) {
  const RowBank bank(RowShape{.layers = 1, .topk = 2, .below = 64}, 1);
  const std::vector<int32_t> prompt = {5, 6, 7, 8};
  const std::vector<int32_t> answer = {9, 10, 11};
  const std::vector<uint8_t> all = rows_of_tokens(prompt, answer, 0, bank, 1);
  ASSERT_EQ(all.size(), 6U);
  const std::vector<uint8_t> some = rows_of_tokens(prompt, answer, 4, bank, 1);
  EXPECT_EQ(some, std::vector<uint8_t>(all.begin() + 4, all.end()));

  // The next turn: what was an answer is now a part of the prompt.
  const std::vector<int32_t> longer = {5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<uint8_t> next = rows_of_tokens(longer, answer, 0, bank, 1);
  EXPECT_TRUE(std::equal(all.begin(), all.end(), next.begin()));

  EXPECT_NE(rows_of_tokens(longer, answer, 0, bank, 2), next);
  EXPECT_TRUE(rows_of_tokens({}, std::vector<int32_t>{1}, 0, bank, 1).empty());
  EXPECT_TRUE(rows_of_tokens({}, {}, 0, bank, 1).empty());
}

TEST(NpyHead, IsWhatNumPyWrites) {
  // numpy.save() of an array of this shape and type.
  const std::string head = npy_head({.layers = 48, .topk = 8, .below = 128, .value_bytes = 1}, 101);
  EXPECT_EQ(head.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(head.size(), 128U);
  EXPECT_EQ(head.substr(10, 67),
            "{'descr': '|u1', 'fortran_order': False, 'shape': (101, 48, 8), }  ");
  EXPECT_EQ(head.back(), '\n');
}

TEST(LongBody, ComesInPiecesAndEndsWhereItIsCut) {
  const auto bank = std::make_shared<RowBank>(RowShape{.layers = 3, .topk = 4, .below = 9}, 1);
  const std::vector<uint8_t> rows(100, 3);
  const auto make = [&] {
    LongBody body("begin ");
    body.add(RowsText(bank, rows));
    body.add(" mid");
    body.add("dle ");
    body.add(LongBody("end"));
    return body;
  };
  const std::string whole = "begin " + encoded(*bank, rows, "") + " middle end";
  EXPECT_TRUE(make().has_rows());
  EXPECT_EQ(make().bytes(), whole.size());
  EXPECT_EQ(make().take_all(), whole);
  for (const uint64_t cut :
       {uint64_t{0}, uint64_t{3}, uint64_t{1000}, uint64_t{6400 + 12}, whole.size() + 1}) {
    LongBody body = make();
    body.cut(cut);
    std::string all;
    for (std::string piece = body.take(100); !piece.empty(); piece = body.take(100))
      all += piece;
    EXPECT_EQ(all, whole.substr(0, cut));
    EXPECT_EQ(body.bytes(), 0U);
  }
}

}  // namespace
}  // namespace windrow::sim_upstream
