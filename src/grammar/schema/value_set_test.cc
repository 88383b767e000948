#include "grammar/schema/json_values.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <boost/json/parse.hpp>

#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

// Each of these with each: what same_value() says of pairs, found without looking at pairs.
TEST(ValueSet, AgreesWithSameValue) {
  const boost::json::value values = boost::json::parse(R"([
    null, true, false, 0, -0.0, 1, 1.0, 10e-1, "1", "", 1e400, 0.1, 1e-1, 18446744073709551615,
    [], [1], [1.0], [1, 2], ["1,2"], [[1], 2], [[1, 2]], {}, {"a": 1, "b": 2}, {"b": 2.0, "a": 1},
    {"a": 1}, {"a": {"b": 2}}, {"a,b": 1}, [{"a": 1}, "]"], "\"", "a\u0000b", "a"])");
  for (const boost::json::value& left : values.as_array()) {
    const ValueSet set({&left});
    for (const boost::json::value& right : values.as_array()) {
      const bool same = same_value(left, right);
      EXPECT_EQ(set.contains(right), same) << compact_json(left) << " " << compact_json(right);
      EXPECT_EQ(set.has_common(ValueSet({&right})), same);
      std::vector<const boost::json::value*> kept{&right};
      set.keep_common(kept);
      EXPECT_EQ(kept.size(), same ? 1U : 0U);
    }
  }
}

std::string numbers(int from, int to) {
  std::string text = "[";
  for (int i = from; i < to; ++i)
    text += fmt::format("{}{}", i == from ? "" : ",", i);
  return text + "]";
}

// Looking at pairs would be some 10^10 steps in each of these.
TEST(ValueSet, LongEnumsAreJoinedInTime) {
  for (const std::string& schema : {fmt::format(R"({{"allOf":[{{"enum":{}}},{{"enum":{}}}]}})",
                                                numbers(0, 100'000), numbers(99'000, 200'000)),
                                    fmt::format(R"({{"oneOf":[{{"enum":{}}},{{"enum":{}}}]}})",
                                                numbers(0, 99'000), numbers(99'000, 100'000))}) {
    const testing::SchemaLanguage language(schema);
    ASSERT_TRUE(language.made()) << language.error();
    EXPECT_TRUE(language.has("99500"));
    EXPECT_FALSE(language.has("200000"));
  }
}

TEST(ValueSet, WorkOnValuesIsGivenUp) {
  const boost::json::value schema = boost::json::parse(
      fmt::format(R"({{"type":"integer","minimum":0,"enum":{}}})", numbers(0, 10'000)));
  int asked = 0;
  const auto grammar = schema_grammar(schema, {}, [&] { return ++asked > 20; });
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace windrow::grammar
