#include "schema/validator.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace windrow::schema {
namespace {

Result<Validator> compile(std::string_view schema, bool closed = false) {
  return Validator::compile(boost::json::parse(schema), {.closed_by_default = closed});
}

// What is wrong with `answer`, "" for nothing.
std::string fault(std::string_view schema, std::string_view answer, bool closed = false) {
  const Result<Validator> validator = compile(schema, closed);
  if (!validator) return "no schema: " + validator.error().message;
  const std::optional<Violation> violation = validator.value().check(answer);
  return violation ? violation->message : "";
}

TEST(Validator, SaysWhatIsWrongWhereAndByWhichKeyword) {
  constexpr std::string_view kSchema = R"({"properties": {"ages": {"items": {"maximum": 130}}}})";
  EXPECT_EQ(fault(kSchema, R"({"ages": [1, 130]})"), "");
  const std::optional<Violation> violation =
      compile(kSchema).value().check(R"({"ages": [1, 200]})");
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, Violation::Kind::kSchema);
  EXPECT_EQ(violation->instance_pointer, "/ages/1");
  EXPECT_EQ(violation->schema_pointer, "/properties/ages/items/maximum");
  EXPECT_EQ(violation->message,
            "/ages/1 is 200, above the maximum of 130 (/properties/ages/items/maximum of the "
            "schema)");
}

}  // namespace
}  // namespace windrow::schema
