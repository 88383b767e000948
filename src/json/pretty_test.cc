#include "json/pretty.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow {
namespace {

TEST(PrettyJson, OneLineHasNumbersAsPeopleWriteThem) {
  EXPECT_EQ(
      plain_json(boost::json::parse(R"({"a":0.5,"b":[1,2.25,-3,4.0],"c":{"d":null},"e":"x\"y"})")),
      R"({"a": 0.5, "b": [1, 2.25, -3, 4.0], "c": {"d": null}, "e": "x\"y"})");
  EXPECT_EQ(plain_json(boost::json::parse("[]")), "[]");
  EXPECT_EQ(plain_json(boost::json::parse("{}")), "{}");
  EXPECT_EQ(plain_json(1e300), "1e+300");
  EXPECT_EQ(plain_json(boost::json::value("caf\u00e9")), "\"caf\u00e9\"");
}

TEST(PrettyJson, ADocumentHasAMemberALine) {
  const auto value = boost::json::parse(
      R"({"a":0.5,"b":{"c":1},"empty":[],"long":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",)"
      R"("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",{"d":2}]})");
  EXPECT_EQ(pretty_json(value),
            "{\n"
            "  \"a\": 0.5,\n"
            "  \"b\": {\"c\": 1},\n"
            "  \"empty\": [],\n"
            "  \"long\": [\n"
            "    \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\n"
            "    \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\n"
            "    {\"d\": 2}\n"
            "  ]\n"
            "}\n");
  EXPECT_EQ(boost::json::parse(pretty_json(value)), value);
  EXPECT_EQ(pretty_json(boost::json::parse("{}")), "{}\n");
}

}  // namespace
}  // namespace windrow
