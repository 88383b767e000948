#include "chat/tool_table.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::chat {
namespace {

ToolTable table(std::string_view properties) {
  return ToolTable(boost::json::parse(R"([{"type": "function", "function": {"name": "f",
      "parameters": {"type": "object", "properties": )" +
                                      std::string(properties) +
                                      R"(}}}, {"type": "function", "function": {"name": "fly"}}])")
                       .as_array());
}

TEST(ToolTable, KnowsNamesAndTheirBeginnings) {
  const ToolTable tools = table("{}");
  EXPECT_TRUE(tools.has("f"));
  EXPECT_FALSE(tools.has("fl"));
  EXPECT_TRUE(tools.begins_one("fl"));
  EXPECT_TRUE(tools.begins_one("fly"));
  EXPECT_FALSE(tools.begins_one("flyer"));
  EXPECT_FALSE(tools.begins_one("g"));
}

TEST(ToolTable, KnowsWhichParametersAreTexts) {
  const ToolTable tools = table(R"({"s": {"type": "string"}, "i": {"type": "integer"},
      "n": {"type": ["string", "null"]}, "o": {"type": ["object", "array"]},
      "e": {"enum": ["a", "b"]}, "m": {"enum": ["a", 1]}, "r": {"$ref": "#/x"}, "t": true})");
  EXPECT_EQ(tools.kind_of("f", "s"), ValueKind::kString);
  EXPECT_EQ(tools.kind_of("f", "i"), ValueKind::kJson);
  EXPECT_EQ(tools.kind_of("f", "n"), ValueKind::kEither);
  EXPECT_EQ(tools.kind_of("f", "o"), ValueKind::kJson);
  EXPECT_EQ(tools.kind_of("f", "e"), ValueKind::kString);
  EXPECT_EQ(tools.kind_of("f", "m"), ValueKind::kEither);
  EXPECT_EQ(tools.kind_of("f", "r"), ValueKind::kEither);
  EXPECT_EQ(tools.kind_of("f", "t"), ValueKind::kEither);
  EXPECT_EQ(tools.kind_of("f", "?"), ValueKind::kEither);
  EXPECT_EQ(tools.kind_of("fly", "s"), ValueKind::kEither);
}

TEST(TaggedValue, IsWhatItsTypeSays) {
  EXPECT_EQ(tagged_value_to_json("5", ValueKind::kString), R"("5")");
  EXPECT_EQ(tagged_value_to_json("5", ValueKind::kJson), "5");
  EXPECT_EQ(tagged_value_to_json(" 5\n", ValueKind::kEither), "5");
  EXPECT_EQ(tagged_value_to_json("True", ValueKind::kJson), "true");
  EXPECT_EQ(tagged_value_to_json("None", ValueKind::kEither), "null");
  EXPECT_EQ(tagged_value_to_json("True", ValueKind::kString), R"("True")");
  EXPECT_EQ(tagged_value_to_json(R"({"a": [1]})", ValueKind::kJson), R"({"a": [1]})");
  EXPECT_EQ(tagged_value_to_json(R"("a")", ValueKind::kEither), R"("\"a\"")");
  EXPECT_EQ(tagged_value_to_json("007", ValueKind::kEither), R"("007")");
  EXPECT_EQ(tagged_value_to_json("two words\n", ValueKind::kJson), R"("two words\n")");
}

}  // namespace
}  // namespace windrow::chat
