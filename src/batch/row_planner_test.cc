#include "batch/row_planner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"

namespace windrow::batch {
namespace {

// A row named as a test wants; its beginning is a word, each letter a whole block of the prompt.
struct TestRow {
  std::string id;
  std::string blocks;
  std::string end = {};
  int32_t output_tokens = 0;
  std::string model = "m";
  llm::Endpoint endpoint = llm::Endpoint::kCompletions;

  std::string prompt() const {
    std::string text;
    for (const char letter : blocks)
      text += std::string(kPromptBlockBytes, letter);
    return text + end;
  }
};

Row made(const TestRow& test) {
  Row row;
  row.key.custom_id = test.id;
  row.request.endpoint = test.endpoint;
  row.request.model = test.model;
  row.request.inputs = {{.text = test.prompt()}};
  if (test.output_tokens > 0) row.request.output_tokens_max = test.output_tokens;
  row.bytes = 100 + row.request.inputs[0].text.size();
  return row;
}

void add(RowPlanner& planner, const TestRow& test) {
  Row row = made(test);
  PromptKey key = prompt_key(row.request);
  planner.add(std::move(row), std::move(key));
}

std::string next_id(RowPlanner& planner) {
  const std::optional<Row> row = planner.next();
  return row ? row->key.custom_id : "nothing";
}

using Ids = std::vector<std::string>;

Ids rest_of(RowPlanner& planner) {
  Ids ids;
  while (const std::optional<Row> row = planner.next())
    ids.push_back(row->key.custom_id);
  return ids;
}

Ids order_of(const std::vector<TestRow>& rows) {
  RowPlanner planner;
  for (const TestRow& row : rows)
    add(planner, row);
  return rest_of(planner);
}

// --- the order of one round -------------------------------------------------------------------

struct Case {
  const char* name;
  std::vector<TestRow> rows;
  Ids order;
};

std::ostream& operator<<(std::ostream& stream, const Case& tested) {
  return stream << tested.name;
}

constexpr auto kEmbeddings = llm::Endpoint::kEmbeddings;

const Case kCases[] = {
    {"Nothing", {}, {}},
    {"OneRow", {{"1", "ab"}}, {"1"}},
    {"NothingSharedIsTheOrderOfTheFile",
     {{"1", "c"}, {"2", "a"}, {"3", "", "z"}, {"4", "b"}, {"5", "", "y"}},
     {"1", "2", "3", "4", "5"}},
    {"WhatAllShareIsNoGroup",
     {{"1", "xxc"}, {"2", "xxa"}, {"3", "xx", "z"}, {"4", "xxb"}},
     {"1", "2", "3", "4"}},
    {"LessThanABlockIsNoGroup",
     {{"1", "", "the same 1"}, {"2", "c"}, {"3", "", "the same 3"}},
     {"1", "2", "3"}},
    {"GroupsGoSideBySide",
     {{"1", "a"}, {"2", "b"}, {"3", "a"}, {"4", "b"}, {"5", "a"}},
     {"1", "3", "5", "2", "4"}},
    {"GroupsOfWhatAllShareToo",
     {{"1", "xxa"}, {"2", "xxb"}, {"3", "xxa"}, {"4", "xxb"}},
     {"1", "3", "2", "4"}},
    {"SinglesGoLast", {{"1", "c"}, {"2", "a"}, {"3", "d"}, {"4", "a"}}, {"2", "4", "1", "3"}},
    {"TheLongestBeginningGoesFirst",
     {{"1", "a"}, {"2", "bb"}, {"3", "ccc"}, {"4", "a"}, {"5", "bb"}, {"6", "ccc"}},
     {"3", "6", "2", "5", "1", "4"}},
    {"GroupsWithinGroups",
     {{"1", "ax"},
      {"2", "b"},
      {"3", "ay"},
      {"4", "az"},
      {"5", "ax"},
      {"6", "b"},
      {"7", "ayp"},
      {"8", "ayp"},
      {"9", "a"}},
     {"1", "5", "7", "8", "3", "4", "9", "2", "6"}},
    {"EqualPromptsStayInOrder",
     {{"1", "ab"}, {"2", "c"}, {"3", "ab"}, {"4", "ab"}},
     {"1", "3", "4", "2"}},
    {"WhatDecodesMuchGoesEarly",
     {{"1", "aaa", "", 1}, {"2", "b", "", 100}, {"3", "aaa", "", 1}, {"4", "b", "", 100}},
     {"2", "4", "1", "3"}},
    {"WhatIsSharedIsPrefilledOnce",
     {{"1", "bbb", "own text of the row", 1},
      {"2", "aa", "1", 5},
      {"3", "bbb", "own text of the row", 1},
      {"4", "aa", "3", 5},
      {"5", "aa", "4", 5},
      {"6", "aa", "5", 5}},
     {"2", "4", "5", "6", "1", "3"}},
    {"AFewTokensAreNotMuch",
     {{"1", "b", "", 1}, {"2", "aaa", "", 1}, {"3", "b", "", 1}, {"4", "aaa", "", 1}},
     {"2", "4", "1", "3"}},
    {"OtherModelsShareNothing",
     {{"1", "a"},
      {"2", "a", "", 0, "n"},
      {"3", "b"},
      {"4", "c", "", 0, "n"},
      {"5", "a"},
      {"6", "a", "", 0, "n"}},
     {"1", "5", "2", "6", "3", "4"}},
    {"WhatAllOfAModelShareIsNoGroup",
     {{"1", "a"}, {"2", "b", "", 0, "n"}, {"3", "a"}, {"4", "b", "", 0, "n"}},
     {"1", "2", "3", "4"}},
    {"EmbeddingsKeepTheOrderOfTheFile",
     {{"1", "b", "", 0, "m", kEmbeddings},
      {"2", "a"},
      {"3", "a", "", 0, "m", kEmbeddings},
      {"4", "c"},
      {"5", "b", "", 0, "m", kEmbeddings},
      {"6", "a"}},
     {"2", "6", "1", "3", "4", "5"}},
};

class RowPlannerOrder : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Of, RowPlannerOrder, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(RowPlannerOrder, IsAsStated) {
  EXPECT_EQ(order_of(GetParam().rows), GetParam().order);
}

// --- rows that come meanwhile -----------------------------------------------------------------

TEST(RowPlanner, ARowJoinsTheGroupThatGoesOut) {
  RowPlanner planner;
  for (const TestRow& row : std::vector<TestRow>{{"1", "a"}, {"2", "b"}, {"3", "a"}, {"4", "b"}})
    add(planner, row);
  EXPECT_EQ(next_id(planner), "1");
  add(planner, {"5", "b"});  // its group has not begun: it waits for the next round
  add(planner, {"6", "a"});
  EXPECT_EQ(next_id(planner), "3");
  add(planner, {"7", "a", "after the last"});
  EXPECT_EQ(rest_of(planner), (Ids{"6", "7", "2", "4", "5"}));
}

TEST(RowPlanner, ARowJoinsTheInnermostGroupItBelongsTo) {
  RowPlanner planner;
  for (const TestRow& row : std::vector<TestRow>{
           {"1", "ap"}, {"2", "ap"}, {"3", "aq"}, {"4", "aq"}, {"5", "b"}, {"6", "b"}})
    add(planner, row);
  EXPECT_EQ(next_id(planner), "1");
  add(planner, {"7", "ar"});
  add(planner, {"8", "ap"});
  add(planner, {"9", "ar"});
  EXPECT_EQ(rest_of(planner), (Ids{"2", "8", "3", "4", "7", "9", "5", "6"}));
}

TEST(RowPlanner, AnEmptiedPlannerGoesOn) {
  RowPlanner planner;
  EXPECT_EQ(next_id(planner), "nothing");
  for (const char* id : {"1", "2", "3"}) {
    add(planner, {id, "a"});
    EXPECT_EQ(next_id(planner), id);
    EXPECT_EQ(next_id(planner), "nothing");
  }
}

TEST(RowPlanner, NoGroupKeepsTheOthersWaitingForEver) {
  const LookAhead limits{.rows_max = 10, .joins_max = 3};
  RowPlanner planner(limits);
  add(planner, {"early", "c"});
  add(planner, {"b", "b"});
  for (int i = 0; i < 8; ++i)
    add(planner, {"a", "a"});
  size_t before = 0;
  for (; next_id(planner) != "early"; ++before)
    add(planner, {"a", "a"});
  EXPECT_EQ(before, 8 + limits.joins_max);
}

// --- bounds -----------------------------------------------------------------------------------

TEST(RowPlanner, IsFullByRowsOrByBytes) {
  RowPlanner by_rows({.rows_max = 2});
  EXPECT_TRUE(by_rows.has_room(SIZE_MAX / 2));  // one that is above the bound passes alone
  add(by_rows, {"1", "a"});
  EXPECT_FALSE(by_rows.has_room(SIZE_MAX / 2));
  EXPECT_TRUE(by_rows.has_room(1));
  add(by_rows, {"2", "a"});
  EXPECT_FALSE(by_rows.has_room(1));
  EXPECT_EQ(by_rows.size(), 2U);
  next_id(by_rows);
  EXPECT_TRUE(by_rows.has_room(1));

  RowPlanner by_bytes({.bytes_max = 10'000});
  const Row row = made({"1", "abcdefgh"});
  const PromptKey key = prompt_key(row.request);
  const size_t cost = RowPlanner::cost_of(row, key);
  EXPECT_GE(cost, row.bytes + key.bytes());
  size_t added = 0;
  for (; by_bytes.has_room(cost); ++added)
    add(by_bytes, {fmt::format("{}", added), "abcdefgh"});
  EXPECT_EQ(by_bytes.bytes(), added * cost);
  EXPECT_LE(by_bytes.bytes(), 10'000U);
  EXPECT_GT(by_bytes.bytes() + cost, 10'000U);
  EXPECT_EQ(rest_of(by_bytes).size(), added);
  EXPECT_EQ(by_bytes.bytes(), 0U);
  EXPECT_EQ(by_bytes.size(), 0U);
}

// --- against the rules, stated plainly --------------------------------------------------------

constexpr size_t kBlock = kPromptBlockBytes;

// What the key of a row stands for.
std::string text_of(const TestRow& row) {
  return row.prompt() + "\n";
}

size_t common_blocks(const std::vector<TestRow>& rows) {
  const std::string first = text_of(rows.front());
  size_t common = first.size();
  for (const TestRow& row : rows) {
    const std::string text = text_of(row);
    common = std::min(common,
                      static_cast<size_t>(std::ranges::mismatch(first, text).in1 - first.begin()));
  }
  return common / kBlock;
}

bool decodes_much(const std::vector<TestRow>& rows) {
  size_t prefill = common_blocks(rows) * kBlock;
  size_t decode = 0;
  for (const TestRow& row : rows) {
    prefill += text_of(row).size() - common_blocks(rows) * kBlock;
    decode += static_cast<size_t>(row.output_tokens);
  }
  return 4 * decode > prefill;
}

void sort_by_file(std::vector<TestRow>& rows) {
  std::ranges::sort(rows, {}, [](const TestRow& row) { return std::stoi(row.id); });
}

struct Parts {
  std::vector<std::vector<TestRow>> groups;
  std::vector<TestRow> singles;
};

// What stands apart within rows of one kind that share so many blocks.
Parts parts_of(const std::vector<TestRow>& rows) {
  const size_t common = common_blocks(rows);
  std::map<std::string, std::vector<TestRow>> by_block;
  Parts parts;
  for (const TestRow& row : rows) {
    const std::string text = text_of(row);
    if (text.size() < (common + 1) * kBlock) {
      parts.singles.push_back(row);
    } else {
      by_block[text.substr(0, (common + 1) * kBlock)].push_back(row);
    }
  }
  for (auto& [block, together] : by_block) {
    if (together.size() > 1) parts.groups.push_back(together);
    if (together.size() == 1) parts.singles.push_back(together.front());
  }
  return parts;
}

Ids plain_order_of(Parts parts) {
  std::ranges::sort(parts.groups, {}, [](const std::vector<TestRow>& rows) {
    return std::tuple(!decodes_much(rows), -static_cast<int64_t>(common_blocks(rows)),
                      std::stoi(rows.front().id));
  });
  Ids ids;
  for (const std::vector<TestRow>& group : parts.groups) {
    const Ids inner = plain_order_of(parts_of(group));
    ids.insert(ids.end(), inner.begin(), inner.end());
  }
  sort_by_file(parts.singles);
  for (const TestRow& row : parts.singles)
    ids.push_back(row.id);
  return ids;
}

Ids plain_order_of(const std::vector<TestRow>& rows) {
  std::map<std::string, std::vector<TestRow>> by_kind;
  Parts all;
  for (const TestRow& row : rows) {
    if (row.endpoint == kEmbeddings) {
      all.singles.push_back(row);
    } else {
      by_kind[row.model].push_back(row);
    }
  }
  for (const auto& [kind, together] : by_kind) {
    const Parts parts = parts_of(together);
    all.groups.insert(all.groups.end(), parts.groups.begin(), parts.groups.end());
    all.singles.insert(all.singles.end(), parts.singles.begin(), parts.singles.end());
  }
  return plain_order_of(all);
}

TestRow some_row(Random& random, size_t number, uint64_t letters) {
  TestRow row{.id = fmt::format("{}", number)};
  for (uint64_t size = random.below(5); size > 0; --size)
    row.blocks += static_cast<char>('a' + random.below(letters));
  row.end = std::string(random.below(40), static_cast<char>('A' + random.below(3)));
  if (random.chance(0.5)) row.output_tokens = static_cast<int32_t>(random.below(80));
  if (random.chance(0.2)) row.model = "n";
  if (random.chance(0.1)) row.endpoint = kEmbeddings;
  return row;
}

TEST(RowPlanner, ARoundIsAsThePlainRulesSay) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    std::vector<TestRow> rows;
    const uint64_t letters = random.below(4) + 1;
    for (uint64_t count = random.below(60); count > 0; --count)
      rows.push_back(some_row(random, rows.size(), letters));
    ASSERT_EQ(order_of(rows), plain_order_of(rows)) << "seed " << seed;
  }
}

// Rows come and go at random; the reader is held back by the bounds alone.
TEST(RowPlanner, WhateverComesEveryRowGoesOnceAndIsOvertakenByFew) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const LookAhead limits{.rows_max = random.below(30) + 1,
                           .bytes_max = random.below(20'000),
                           .joins_max = random.below(8)};
    RowPlanner planner(limits);
    const uint64_t letters = random.below(4) + 1;
    const double eager = random.unit();  // how much of what there is room for has come
    size_t added = 0;
    std::vector<size_t> out;
    while (out.size() < 400) {
      while (added < 400 && random.chance(eager)) {
        const TestRow row = some_row(random, added, letters);
        const Row counted = made(row);
        if (!planner.has_room(RowPlanner::cost_of(counted, prompt_key(counted.request)))) break;
        add(planner, row);
        ++added;
        ASSERT_LE(planner.size(), limits.rows_max) << "seed " << seed;
        ASSERT_TRUE(planner.size() == 1 || planner.bytes() <= limits.bytes_max) << "seed " << seed;
      }
      ASSERT_EQ(planner.size(), added - out.size()) << "seed " << seed;
      if (const std::optional<Row> row = planner.next()) {
        out.push_back(std::stoul(row->key.custom_id));
      } else {
        ASSERT_EQ(out.size(), added) << "seed " << seed;
      }
    }
    ASSERT_EQ(std::set<size_t>(out.begin(), out.end()).size(), 400U) << "seed " << seed;
    for (size_t i = 0; i < out.size(); ++i) {
      const auto overtaken = std::count_if(out.begin(), out.begin() + static_cast<int64_t>(i),
                                           [&](size_t earlier) { return earlier > out[i]; });
      ASSERT_LE(static_cast<size_t>(overtaken), limits.overtaken_max()) << "seed " << seed;
    }
  }
}

TEST(RowPlanner, WhereNothingIsSharedTheOrderOfTheFileIsKept) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    RowPlanner planner({.rows_max = random.below(30) + 1});
    size_t added = 0;
    for (size_t expected = 0; expected < 300; ++expected) {
      while (added == expected || (planner.has_room(0) && random.chance(0.7))) {
        std::string own = fmt::format("{:032}", random.next());
        add(planner, {.id = fmt::format("{}", added++), .end = own + own});
      }
      ASSERT_EQ(next_id(planner), fmt::format("{}", expected)) << "seed " << seed;
    }
  }
}

// Each row begins as the row before it and goes on.
TEST(RowPlanner, GroupsMayLieDeepInOneAnother) {
  RowPlanner planner;
  constexpr size_t kRows = 500;
  for (size_t i = 0; i < kRows; ++i)
    add(planner, {fmt::format("{}", i), std::string(i, 'a')});
  add(planner, {"other", "b"});
  const Ids order = rest_of(planner);
  ASSERT_EQ(order.size(), kRows + 1);
  EXPECT_EQ(order[0], fmt::format("{}", kRows - 2));
  EXPECT_EQ(order[1], fmt::format("{}", kRows - 1));
  EXPECT_EQ(order[2], fmt::format("{}", kRows - 3));
}

}  // namespace
}  // namespace windrow::batch
