#include "session/history/canonical_json.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "base/random.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

std::string form_of(const json::value& value) {
  std::string form;
  append_canonical(value, form);
  return form;
}

std::string form_of_text(std::string_view text) {
  return form_of(json::parse(text));
}

TEST(CanonicalJson, ValuesThatMeanTheSameHaveOneForm) {
  EXPECT_EQ(form_of_text(R"({"a":1,"b":[true,null]})"),
            form_of_text(R"({ "b":[true,null],"a":1 })"));
  EXPECT_EQ(form_of_text("1"), form_of_text("1.0"));
  EXPECT_EQ(form_of_text("100"), form_of_text("1e2"));
  EXPECT_EQ(form_of_text("0"), form_of_text("-0.0"));
  EXPECT_EQ(form_of(uint64_t{7}), form_of(int64_t{7}));
  EXPECT_EQ(form_of_text(R"("\u00e9")"), form_of_text("\"é\""));
}

TEST(CanonicalJson, OtherValuesHaveOtherForms) {
  const std::vector<std::string_view> texts = {"null",
                                               "true",
                                               "false",
                                               "0",
                                               "1",
                                               "-1",
                                               "10",
                                               "0.1",
                                               "\"\"",
                                               "\"null\"",
                                               "\"true\"",
                                               "\"1\"",
                                               "[]",
                                               "{}",
                                               "[[]]",
                                               "[null]",
                                               "[1,2]",
                                               "[2,1]",
                                               "[12]",
                                               "[[1],2]",
                                               "[[1,2]]",
                                               "[\"1\",\"\"]",
                                               "[\"\",\"1\"]",
                                               R"({"a":1})",
                                               R"({"a":"1"})",
                                               R"({"1":"a"})",
                                               R"([["a",1]])",
                                               R"({"a":{"b":1}})",
                                               R"({"a":1,"b":1})",
                                               R"(["s1:a"])",
                                               R"(["s1:","a"])",
                                               R"("é")",
                                               "\"e\u0301\"",
                                               "18446744073709551615",
                                               "9007199254740993",
                                               "9007199254740992"};
  std::set<std::string> forms;
  for (const std::string_view text : texts)
    EXPECT_TRUE(forms.insert(form_of_text(text)).second) << text;
}

TEST(CanonicalJson, ATextHasTheFormOfItsObject) {
  for (const std::string_view text : {R"({})", R"( {"b":[1,{"c":"\u00e9\n"}],"a":-1.5e3,"":null} )",
                                      R"({"a":[[],{}],"b":false})"})
    EXPECT_EQ(canonical_object_of(text), form_of_text(text)) << text;
}

TEST(CanonicalJson, ATextKeepsEveryDigit) {
  EXPECT_NE(canonical_object_of(R"({"a":0.1000000000000000055511151231257827})"),
            canonical_object_of(R"({"a":0.1})"));
  EXPECT_NE(canonical_object_of(R"({"a":123456789012345678901234567890})"),
            canonical_object_of(R"({"a":123456789012345678901234567891})"));
  EXPECT_EQ(canonical_object_of(R"({"a":1e999})"), canonical_object_of(R"({"a":10e998})"));
  EXPECT_EQ(canonical_object_of(R"({"a":0.00120})"), canonical_object_of(R"({"a":12E-4})"));
  EXPECT_TRUE(canonical_object_of(R"({"a":1e999})"));
}

TEST(CanonicalJson, TextsThatAreNoObjectHaveNone) {
  const std::string deep = R"({"x":)" + std::string(200, '[') + std::string(200, ']') + "}";
  const std::string huge = R"({"x":1e)" + std::string(30, '9') + "}";
  for (const std::string_view text : std::vector<std::string_view>{
           "", " ", "null", "[]", "1", "\"{}\"", "{invalid}", R"({"x":1,"x":2})",
           R"({"y":{"x":1,"\u0078":1}})", R"({"x":NaN})", R"({"x":Infinity})", R"({"x":-Infinity})",
           R"({"x":1} {})", R"({"x":1,})", R"({"x":01})", R"({"x":1)", deep, huge})
    EXPECT_FALSE(canonical_object_of(text)) << text;
}

json::value random_value(Random& random, int depth) {
  switch (random.below(depth > 0 ? 8 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.between(-3, 3);
    case 3:
      return static_cast<double>(random.between(-30, 30)) / 8;
    case 4:
      return static_cast<uint64_t>(random.next());
    case 5:
      return json::value(std::string(random.below(3), "a1:\"é"[random.below(4)]));
    case 6: {
      json::array elements;
      for (size_t i = random.below(4); i > 0; --i)
        elements.push_back(random_value(random, depth - 1));
      return elements;
    }
    default: {
      json::object members;
      for (size_t i = random.below(4); i > 0; --i)
        members[std::string(1, static_cast<char>('a' + random.below(4)))] =
            random_value(random, depth - 1);
      return members;
    }
  }
}

TEST(CanonicalJson, FormsAreEqualExactlyWhereValuesAre) {
  const uint64_t seed = 20261127;
  SCOPED_TRACE(seed);
  Random random(seed);
  std::vector<json::value> values;
  std::vector<std::string> forms;
  for (size_t i = 0; i < 400; ++i) {
    values.push_back(random_value(random, 3));
    forms.push_back(form_of(values.back()));
    if (values.back().is_object()) {
      EXPECT_EQ(canonical_object_of(json::serialize(values.back())), forms.back());
    }
  }
  size_t equal = 0;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = i + 1; j < values.size(); ++j) {
      // Boost compares 1 and 1.0 as different, so doubles are only those that are no whole numbers.
      const auto has_whole_double = [](const json::value& value) {
        return json::serialize(value).find("E0") != std::string::npos;
      };
      if (has_whole_double(values[i]) || has_whole_double(values[j])) continue;
      ASSERT_EQ(forms[i] == forms[j], values[i] == values[j])
          << json::serialize(values[i]) << " " << json::serialize(values[j]);
      equal += values[i] == values[j] ? 1 : 0;
    }
  EXPECT_GT(equal, 100U);
}

}  // namespace
}  // namespace windrow::session
