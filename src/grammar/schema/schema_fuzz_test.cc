// Mutated schemas: compiling any of them ends soon, with a grammar or an error that names a place,
// and every grammar has a way to an end, which is JSON. WINDROW_FUZZ_SECONDS sets how long each
// part of the seeds runs; the parts are for tests that run side by side. Which texts a grammar has,
// tests of keywords ask (tests/keywords).
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/testing/schema_language.h"
#include "grammar/schema/testing/walk.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;

const std::vector<std::string> kSchemas = {
    R"({"type":"object","properties":{"a":{"type":"integer","minimum":0},"b":{"enum":["x","y"]},
        "c":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":["string","null"],
        "maxLength":9}}})",
    R"({"anyOf":[{"type":"array","items":{"$ref":"#"},"maxItems":3},{"type":"string","pattern":
        "^[a-c]{1,4}$"},{"const":{"k":[1,2.5]}}]})",
    R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"v":{"type":"number"}},
        "required":["k"]},{"type":"object","properties":{"k":{"const":"b"},"w":{"type":"boolean"}},
        "required":["k","w"]}],"$comment":"tagged"})",
    R"({"allOf":[{"properties":{"p":{"maximum":9}}},{"properties":{"p":{"multipleOf":3},"q":true}},
        {"patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":-3}}}],"type":"object",
        "additionalProperties":{"type":"null"}})",
    R"({"type":"array","prefixItems":[{"type":"string","format":"date"},{"type":"integer"}],
        "items":{"type":"object","additionalProperties":false},"minItems":1,"maxItems":5})",
    R"({"type":"object","properties":{"a":{"type":"integer"},"k":{"enum":["a","b"]}},"anyOf":[
        {"properties":{"b":{"type":"string"}},"required":["b"]},{"properties":{"c":{"type":"null"},
        "a":{"minimum":3}},"patternProperties":{"^x":{"type":"integer"}}}],"allOf":[{"properties":{
        "p":true}},{"$ref":"#/$defs/q"}],"$defs":{"q":{"properties":{"q":{"type":["integer",
        "null"]}},"required":["a"]}}})",
    R"({"allOf":[{"anyOf":[{"type":"integer","minimum":3},{"type":"string","minLength":2}]},
        {"oneOf":[{"type":"integer","multipleOf":3},{"type":"string","maxLength":4},{"type":"array",
        "items":[{"type":"integer"},true],"additionalItems":{"type":"string"}}]}]})",
    R"({"properties":{"n":{"$ref":"#"},"v":{"$ref":"#/$defs/v"}},"additionalProperties":{"$ref":
        "#/$defs/v"},"type":"object","$defs":{"v":{"anyOf":[{"type":"array","prefixItems":[{"type":
        "integer"}],"items":{"$ref":"#/$defs/v"},"minItems":1},{"enum":[1,2,"x",null,{"a":1},
        {"a":1,"b":[2]}]}]}}})",
    R"({"definitions":{"t":{"type":"object","properties":{"l":{"$ref":"#/definitions/t"},
        "r":{"$ref":"#/definitions/t"}}}},"$ref":"#/definitions/t","nullable":false})",
    // What has to be negated, counted or told apart.
    R"({"type":"object","properties":{"a":{"type":["integer","string"]},"b":{"$ref":"#/$defs/n"}},
        "not":{"anyOf":[{"required":["x"]},{"properties":{"a":{"type":"integer","minimum":3}},
        "required":["a"]}]},"minProperties":1,"maxProperties":4,"propertyNames":{"pattern":"^[a-d]",
        "not":{"enum":["c","cc"]}},"$defs":{"n":{"not":{"type":["object","array"]}}}})",
    R"({"oneOf":[{"type":"object","properties":{"a":{"type":"integer"}}},{"required":["b"]},
        {"type":"object","properties":{"a":{"minimum":2},"c":{"not":{"const":1}}},"required":["a"]},
        {"type":"integer","minimum":3},{"type":"number","maximum":5}]})",
    R"({"type":"object","properties":{"k":{"enum":["a","b"]},"v":{"type":["integer","string"]}},
        "if":{"properties":{"k":{"const":"a"}},"required":["k"]},"then":{"properties":{"v":{"type":
        "integer"}}},"else":{"required":["v"],"not":{"required":["w"]}},
        "dependentRequired":{"v":["k"],"w":["v","x"]},
        "dependentSchemas":{"x":{"properties":{"k":{"const":"b"}},"maxProperties":3}}})",
    R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
        "dependencies":{"a":["b"],"b":{"properties":{"c":{"type":"null"}},"required":["c"]},
        "c":{"not":{"required":["d"]}}},
        "patternProperties":{"^[a-c]$":{"type":["null","integer"]}},"additionalProperties":{"not":
        {"type":"string","pattern":"^a"}}})",
    R"({"type":"array","items":{"type":["string","integer","boolean"],"not":{"enum":["a",3]}},
        "uniqueItems":true,"contains":{"type":"integer","minimum":2},"minContains":1,
        "maxContains":2,"maxItems":6})",
    R"({"type":"array","prefixItems":[{"const":1},{"type":"string"}],"contains":{"type":"string",
        "minLength":1},"maxContains":3,"not":{"items":{"type":"integer"}},"minItems":2})",
    R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"l":{"$ref":"#/$defs/t"},
        "v":{"oneOf":[{"type":"string","pattern":"^a"},{"type":"string","pattern":"b$"}]}},
        "not":{"required":["l","v"]},"maxProperties":1}}})",
};

// Every value in it, with the object or array it is in.
void collect(json::value& value, std::vector<json::value*>& all) {
  all.push_back(&value);
  if (json::object* object = value.if_object()) {
    for (auto& [name, member] : *object)
      collect(member, all);
  } else if (json::array* array = value.if_array()) {
    for (json::value& item : *array)
      collect(item, all);
  }
}

json::value some_value(Random& random) {
  static const std::vector<std::string> kValues = {"true",
                                                   "false",
                                                   "null",
                                                   "0",
                                                   "1",
                                                   "3",
                                                   "-7",
                                                   "2.5",
                                                   "1e300",
                                                   "17",
                                                   "1000000",
                                                   "{}",
                                                   "[]",
                                                   "\"\"",
                                                   "\"a\"",
                                                   "\"^a\"",
                                                   "[\"a\"]",
                                                   "\"#\"",
                                                   "\"object\"",
                                                   "\"integer\"",
                                                   "\"string\"",
                                                   "\"#/$defs/n\"",
                                                   "\"date\"",
                                                   "[1,\"x\",null]",
                                                   "{\"type\":\"integer\"}",
                                                   "{\"a\":true}",
                                                   "\"(a|b)*c\""};
  return json::parse(kValues[random.below(kValues.size())]);
}

std::string some_keyword(Random& random) {
  const auto all = keywords();
  return std::string(all[random.below(all.size())].name);
}

void mutate(json::value& schema, Random& random) {
  std::vector<json::value*> all;
  collect(schema, all);
  json::value& at = *all[random.below(all.size())];
  const json::value other = *all[random.below(all.size())];
  switch (random.below(6)) {
    case 0:
      at = some_value(random);
      return;
    case 1:
      at = other;
      return;
    case 2:
      if (json::array* array = at.if_array()) {
        array->push_back(random.chance(0.5) ? other : some_value(random));
      }
      return;
    case 3:
      if (json::object* object = at.if_object(); object != nullptr && !object->empty()) {
        object->erase(object->begin() + static_cast<ptrdiff_t>(random.below(object->size())));
      }
      return;
    default:
      if (json::object* object = at.if_object()) {
        (*object)[some_keyword(random)] = random.chance(0.6) ? other : some_value(random);
      }
  }
}

constexpr int kParts = 6;

// Some hundred schemas of each part, or as many as fit in WINDROW_FUZZ_SECONDS.
class Deadline {
 public:
  bool another(uint64_t round) const {
    if (seconds_ == nullptr) return round < 700;
    return clock_.now() - start_ < std::chrono::seconds(std::atoi(seconds_));
  }

 private:
  const char* seconds_ = std::getenv("WINDROW_FUZZ_SECONDS");
  SystemClock clock_;
  TimePoint start_ = clock_.now();
};

class SchemaFuzz : public ::testing::TestWithParam<int> {};

TEST_P(SchemaFuzz, EndsWithAGrammarOrAnErrorWithAPlace) {
  constexpr int kQuestionsMax = 500;
  constexpr size_t kSchemaBytesMax = 4'000;
  const Deadline deadline;
  size_t made = 0;
  size_t endless = 0;
  for (uint64_t round = 0; deadline.another(round); ++round) {
    const uint64_t seed = round * kParts + static_cast<uint64_t>(GetParam());
    Random random(seed);
    json::value schema = json::parse(kSchemas[random.below(kSchemas.size())]);
    for (int64_t i = random.between(1, 6); i > 0; --i) {
      json::value next = schema;
      mutate(next, random);
      if (json::serialize(next).size() <= kSchemaBytesMax) schema = std::move(next);
    }
    const SchemaOptions options{
        .whitespace = random.chance(0.2) ? Whitespace::kFlexible : Whitespace::kCompact,
        .open = random.chance(0.3),
        .property_order = random.chance(0.3) ? PropertyOrder::kAny : PropertyOrder::kDefinition,
        .limits = {.parts_max = 20'000, .bytes_max = 8u << 20}};
    const std::string text = json::serialize(schema);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << text);
    int questions = 0;
    const auto grammar =
        schema_grammar(schema, options, [&] { return ++questions > kQuestionsMax; });
    if (!grammar) {
      ASSERT_FALSE(grammar.error().message.empty());
      if (grammar.error().kind == ErrorKind::kInvalid) {
        ASSERT_NE(grammar.error().message.find('#'), std::string::npos) << grammar.error().message;
      }
      continue;
    }
    ++made;
    const auto compiled = std::make_shared<CompiledGrammar>(*grammar, testing::byte_vocabulary());
    const testing::Walk walk = testing::random_walk(Matcher(compiled), random, 40);
    ASSERT_NE(walk.end, testing::Walk::End::kStuck) << walk.text;
    if (walk.end == testing::Walk::End::kLong) {
      ++endless;
      continue;
    }
    boost::system::error_code error;
    const json::value value = json::parse(walk.text, error, {}, {.max_depth = 10'000});
    ASSERT_FALSE(error) << walk.text;
  }
  EXPECT_GT(made, 80U);
  EXPECT_LT(endless * 50, made);
}

INSTANTIATE_TEST_SUITE_P(Parts, SchemaFuzz, ::testing::Range(0, kParts));

}  // namespace
}  // namespace windrow::grammar
