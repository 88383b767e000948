// Random schemas and values: which of a schema and its negation holds, as the places of the grammar
// have it, against the validator, which knows neither.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"
#include "grammar/lexeme/formats.h"
#include "grammar/schema/conjunctions.h"
#include "schema/validator.h"

namespace windrow {
namespace {

namespace json = boost::json;

std::string one_of(Random& random, std::initializer_list<const char*> texts) {
  return *(texts.begin() + random.below(texts.size()));
}

std::string random_value(Random& random, int depth) {
  const uint64_t kind = random.below(depth > 0 ? 8 : 6);
  if (kind < 2) return one_of(random, {"0", "1", "2", "3", "-1", "1.5", "2.0", "0.25", "6"});
  if (kind < 4)
    return one_of(random, {R"("")", R"("a")", R"("b")", R"("ab")", R"("abc")", R"("1.2.3.4")"});
  if (kind < 6) return one_of(random, {"null", "true", "false", "[]", "{}"});
  std::string result;
  if (kind == 6) {
    for (uint64_t i = random.below(4); i > 0; --i)
      result += (result.empty() ? "" : ",") + random_value(random, depth - 1);
    return "[" + result + "]";
  }
  for (const char* name : {"a", "b", "x1", "y"}) {
    if (!random.chance(0.4)) continue;
    result += (result.empty() ? "\"" : ",\"") + std::string(name) +
              "\":" + random_value(random, depth - 1);
  }
  return "{" + result + "}";
}

class SchemaMaker {
 public:
  explicit SchemaMaker(Random& random) : random_(random) {}

  std::string whole() {
    const std::string definition = some(2);
    std::string schema = some(3);
    if (!schema.starts_with('{')) return schema;
    schema.pop_back();
    return schema + (schema.size() > 1 ? "," : "") + R"("$defs":{"d":)" + definition + "}}";
  }

 private:
  std::string some(int depth) {
    if (random_.chance(0.05)) return one_of(random_, {"true", "false"});
    if (depth > 0 && random_.chance(0.05)) return R"({"$ref":"#/$defs/d"})";
    std::string result;
    std::vector<std::string> names;
    for (uint64_t count = 1 + random_.below(2) + random_.below(2); count > 0; --count) {
      const std::string word = keyword(depth);
      const std::string name = word.substr(0, word.find(':'));
      if (std::ranges::find(names, name) != names.end()) continue;
      names.push_back(name);
      result += (result.empty() ? "" : ",") + word;
    }
    return "{" + result + "}";
  }

  std::string list(int depth) {
    std::string result = some(depth);
    for (uint64_t i = random_.below(3); i > 0; --i)
      result += "," + some(depth);
    return "[" + result + "]";
  }

  std::string keyword(int depth) {
    switch (random_.below(depth > 0 ? 30 : 15)) {
      case 0:
      case 1:
        return one_of(random_, {R"("type":"integer")", R"("type":"number")", R"("type":"string")",
                                R"("type":["array","null"])", R"("type":"object")",
                                R"("type":["integer","string"])", R"("type":"boolean")"});
      case 2:
        return R"("const":)" + random_value(random_, 2);
      case 3:
        return R"("enum":[)" + random_value(random_, 1) + "," + random_value(random_, 1) + "]";
      case 4:
        return one_of(random_, {R"("minimum":1)", R"("exclusiveMinimum":1)", R"("minimum":1.5)"});
      case 5:
        return one_of(random_, {R"("maximum":2)", R"("exclusiveMaximum":2)", R"("maximum":0.5)"});
      case 6:
        return one_of(random_, {R"("multipleOf":2)", R"("multipleOf":0.5)", R"("multipleOf":3)"});
      case 7:
        return one_of(random_, {R"("minLength":1)", R"("maxLength":1)", R"("minLength":2)"});
      case 8:
        return one_of(random_, {R"("pattern":"^a")", R"("pattern":"b$")", R"("format":"ipv4")"});
      case 9:
        return one_of(random_, {R"("minItems":1)", R"("maxItems":1)", R"("minItems":2)"});
      case 10:
        return one_of(random_,
                      {R"("required":["a"])", R"("required":["a","b"])", R"("required":["y"])"});
      case 11:
        return one_of(random_,
                      {R"("minProperties":1)", R"("maxProperties":1)", R"("minProperties":2)"});
      case 12:
        return one_of(
            random_,
            {R"("dependentRequired":{"a":["b"]})", R"("dependentRequired":{"a":["b"],"y":["b"]})",
             R"("dependentRequired":{"b":["a","x1"]})", R"("uniqueItems":true)"});
      case 13:
        return R"("propertyNames":)" +
               one_of(random_,
                      {R"({"pattern":"^[ab]$"})", R"({"enum":["a","x1"]})", R"({"maxLength":1})"});
      case 14:
        return R"("additionalProperties":false)";
      case 15:
        return R"("prefixItems":)" + list(depth - 1);
      case 16:
        return R"("items":)" + some(depth - 1);
      case 17:
        return R"("contains":)" + some(depth - 1) +
               one_of(random_, {"", "", R"(,"minContains":2)", R"(,"maxContains":1)",
                                R"(,"minContains":0,"maxContains":1)"});
      case 18:
      case 19:
        return R"("properties":{"a":)" + some(depth - 1) + R"(,"b":)" + some(depth - 1) + "}";
      case 20:
        return R"("additionalProperties":)" + some(depth - 1);
      case 21:
        return R"("patternProperties":{"^x":)" + some(depth - 1) + "}";
      case 22:
        return R"("dependentSchemas":{"a":)" + some(depth - 1) + "}";
      case 23:
        return R"("if":)" + some(depth - 1) + R"(,"then":)" + some(depth - 1) + R"(,"else":)" +
               some(depth - 1);
      case 24:
        return R"("allOf":)" + list(depth - 1);
      case 25:
        return R"("anyOf":)" + list(depth - 1);
      case 26:
      case 27:
        return R"("oneOf":)" + list(depth - 1);
      default:
        return R"("not":)" + some(depth - 1);
    }
  }

  Random& random_;
};

// What the places of a schema say.
class Places {
 public:
  Places(const json::value& schema, bool open) {
    Result<grammar::Schema> read = grammar::read_schema(schema, {.open = open}, {});
    if (!read) {
      error_ = read.error().message;
      return;
    }
    schema_ = *std::move(read);
    not_ = grammar::SchemaId(static_cast<uint32_t>(schema_.nodes.size()));
    grammar::SchemaNode& node = schema_.nodes.emplace_back();
    node.kind = grammar::SchemaNode::Kind::kNot;
    node.parts = {schema_.root};
    conjunctions_.emplace(schema_, give_up_);
  }

  // Nothing if it is refused.
  std::optional<bool> holds(const json::value& value) { return judged(schema_.root, value); }
  std::optional<bool> breaks(const json::value& value) { return judged(not_, value); }
  const std::string& error() const { return error_; }

 private:
  std::optional<bool> judged(grammar::SchemaId place, const json::value& value) {
    if (!conjunctions_) return std::nullopt;
    Result<grammar::NodeId> node = conjunctions_->find({{place, false}});
    Result<bool> held = node ? grammar::value_holds(*conjunctions_, *node, value) : node.error();
    if (held) return *held;
    error_ = held.error().message;
    return std::nullopt;
  }

  grammar::GiveUp give_up_;
  grammar::Schema schema_;
  grammar::SchemaId not_;
  std::optional<grammar::Conjunctions> conjunctions_;
  std::string error_;
};

TEST(Negations, OneOfASchemaAndItsNegationHoldsAsTheValidatorSays) {
  const char* seed_text = std::getenv("WINDROW_SEED");
  const uint64_t seed = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 1;
  SCOPED_TRACE(::testing::Message() << "WINDROW_SEED=" << seed);
  Random random(seed);
  constexpr int kSchemas = 1'500;
  int decided = 0;
  int refused = 0;
  for (int i = 0; i < kSchemas; ++i) {
    const json::value schema = json::parse(SchemaMaker(random).whole());
    SCOPED_TRACE(json::serialize(schema));
    auto validator = schema::Validator::compile(schema, {});
    if (!validator) continue;  // circles of references
    Places open(schema, true);
    Places closed(schema, false);
    for (int n = 0; n < 12; ++n) {
      const std::string text = random_value(random, 3);
      const json::value value = json::parse(text);
      const bool valid = !validator->check(text);
      const auto holds = open.holds(value);
      const auto breaks = open.breaks(value);
      ++(holds && breaks ? decided : refused);
      if (!holds || !breaks)
        ASSERT_NE(open.error().find("that two items are equal"), std::string::npos) << open.error();
      if (holds) ASSERT_EQ(*holds, valid) << text;
      if (breaks) ASSERT_EQ(*breaks, !valid) << text;
      // A closed object allows less, and never something else.
      if (closed.holds(value).value_or(false)) ASSERT_TRUE(valid) << "closed: " << text;
      if (const auto closed_breaks = closed.breaks(value))
        ASSERT_EQ(*closed_breaks, !valid) << text;
    }
  }
  EXPECT_GT(decided, 5 * refused);
}

// What a negated format excludes is all that the validator takes for one: texts close to one.
TEST(Formats, AreNowhereWiderThanTheirWidestReading) {
  const std::vector<std::pair<std::string, std::string>> examples = {
      {"date", "2024-02-29"},
      {"time", "23:59:60.5+00:00"},
      {"date-time", "2024-02-29T23:59:59.125Z"},
      {"duration", "P1Y2M3DT4H5M6S"},
      {"email", "\"a b\"@[IPv6:::1]"},
      {"hostname", "ab-c.d1.e"},
      {"ipv4", "192.168.0.250"},
      {"ipv6", "1:2::3:4:255.0.0.1"},
      {"uri", "http://u@h:80/p;x/?q#f"},
      {"uri-reference", "//h/p?q#f%20"},
      {"iri", "http://ü/é?ß"},
      {"iri-reference", "é/ü#x"},
      {"uri-template", "/a{?x,y*}/{z:3}"},
      {"json-pointer", "/a~0b/~1"},
      {"relative-json-pointer", "12+3/a~1"},
      {"uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380"},
      {"byte", "YWJjZA=="},
      {"idn-email", "ü@example.com"},
      {"idn-hostname", "ü-a.example"}};
  constexpr uint64_t kSeed = 3;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  for (const auto& [name, example] : examples) {
    const auto validator = schema::Validator::compile(json::value{{"format", name}}, {});
    ASSERT_TRUE(validator) << name;
    const grammar::CharDfa* widest = grammar::widest_format_dfa(name);
    ASSERT_NE(widest, nullptr) << name;
    const bool exact = widest == grammar::format_dfa(name);
    for (int i = 0; i < 4'000; ++i) {
      std::string text = example;
      for (uint64_t changes = random.below(4); changes > 0 && !text.empty(); --changes) {
        const size_t at = random.below(text.size());
        static constexpr std::string_view kCharacters = "09azAZ-.:/@+%~=[]{}#?_ \"TtZzWPYMDHS";
        const char other = kCharacters[random.below(kCharacters.size())];
        if (random.chance(0.4)) {
          text[at] = other;
        } else if (random.chance(0.5)) {
          text.insert(at, 1, other);
        } else {
          text.erase(at, 1);
        }
      }
      if (!code_points(text)) continue;
      const bool valid = !validator->check(json::serialize(json::value(text)));
      if (exact) {
        ASSERT_EQ(widest->contains(text), valid) << name << ": " << text;
      } else if (valid) {
        ASSERT_TRUE(widest->contains(text)) << name << ": " << text;
      }
    }
  }
}

}  // namespace
}  // namespace windrow
