// Random schemas and answers: whatever comes, compiling and judging end, and what is judged keeps
// to the laws that the standard implies. WINDROW_FUZZ_SECONDS sets how long it runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "schema/keywords.h"
#include "schema/validator.h"

namespace windrow::schema {
namespace {

namespace json = boost::json;

const std::vector<std::string_view> kNames = {"a", "b", "c", "x-y", "", "$ref", "type", "\xC3\xA9"};
const std::vector<std::string_view> kTypes = {"null",   "boolean", "integer", "number",
                                              "string", "array",   "object"};
const std::vector<std::string_view> kPatterns = {"a", "^[a-c]+$", "\\d", "^x-", "(?=a)", "("};
const std::vector<std::string_view> kFormats = {"date", "email", "uuid", "ipv4", "tartan"};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  template <class List>
  const auto& one_of(const List& list) {
    return list[random_.below(list.size())];
  }

  json::value value(int depth) {
    switch (random_.below(depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return random_.chance(0.5);
      case 2:
        return random_.between(-3, 5);
      case 3:
        return static_cast<double>(random_.between(-30, 50)) / 10;
      case 4:
      case 5:
        return json::value(one_of(kNames));
      case 6: {
        json::array items;
        for (auto left = random_.below(4); left > 0; --left)
          items.push_back(value(depth - 1));
        return items;
      }
      default: {
        json::object members;
        for (auto left = random_.below(4); left > 0; --left)
          members[one_of(kNames)] = value(depth - 1);
        return members;
      }
    }
  }

  json::value schema(int depth) {
    if (random_.chance(0.05)) return random_.chance(0.7);
    json::object schema;
    for (auto left = random_.below(3) + 1; left > 0; --left)
      add_keyword(schema, depth);
    return schema;
  }

  // A keyword of the module, with a value that may be anything.
  json::value nonsense(int depth) {
    json::object schema;
    for (auto left = random_.below(3) + 1; left > 0; --left) {
      const auto keywords = all_keywords();
      const std::string_view name = keywords[random_.below(keywords.size())].name;
      schema[name] = random_.chance(0.3)   ? json::value(one_of(kTypes))
                     : random_.chance(0.5) ? value(2)
                     : depth > 0           ? nonsense(depth - 1)
                                           : json::value("#");
    }
    return schema;
  }

  json::object definitions() {
    json::object result;
    for (const char* name : {"p", "q"})
      result[name] = schema(2);
    return result;
  }

  Random& random() { return random_; }

 private:
  json::array schemas(int depth) {
    json::array result;
    for (auto left = random_.below(3) + 1; left > 0; --left)
      result.push_back(schema(depth));
    return result;
  }

  json::object schema_map(int depth) {
    json::object result;
    for (auto left = random_.below(3) + 1; left > 0; --left)
      result[one_of(kNames)] = schema(depth);
    return result;
  }

  json::array names() {
    json::array result;
    for (auto left = random_.below(3); left > 0; --left)
      result.push_back(json::value(one_of(kNames)));
    return result;
  }

  void add_keyword(json::object& schema, int depth);

  Random random_;
};

void Maker::add_keyword(json::object& out, int depth) {
  const int64_t count = random_.between(0, 3);
  switch (random_.below(depth > 0 ? 38 : 18)) {
    case 0:
    case 1:
      out["type"] = json::value(one_of(kTypes));
      return;
    case 2:
      out["type"] = {one_of(kTypes), one_of(kTypes)};
      return;
    case 3:
      out["enum"] = {value(1), value(1), value(2)};
      return;
    case 4:
      out["const"] = value(2);
      return;
    case 5:
      out["minimum"] = count;
      return;
    case 6:
      out["maximum"] = count;
      return;
    case 7:
      out["exclusiveMinimum"] = count;
      return;
    case 8:
      out["exclusiveMaximum"] = count;
      return;
    case 9:
      out["multipleOf"] = random_.chance(0.5) ? json::value(0.1) : json::value(2);
      return;
    case 10:
      out["minLength"] = count;
      return;
    case 11:
      out["maxLength"] = count;
      return;
    case 12:
      out["pattern"] = json::value(one_of(kPatterns));
      return;
    case 13:
      out["format"] = json::value(one_of(kFormats));
      return;
    case 14:
      out["required"] = names();
      return;
    case 15:
      out["minItems"] = count;
      return;
    case 16:
      out["uniqueItems"] = true;
      return;
    case 17:
      out["$ref"] = random_.chance(0.5) ? "#/$defs/p" : "#/$defs/q";
      return;
    case 18:
      out["maxItems"] = count;
      return;
    case 19:
      out["minProperties"] = count;
      return;
    case 20:
      out["maxProperties"] = count;
      return;
    case 21:
    case 22:
      out["properties"] = schema_map(depth - 1);
      return;
    case 23:
      out["patternProperties"] = {{one_of(kPatterns), schema(depth - 1)}};
      return;
    case 24:
      out["additionalProperties"] = schema(depth - 1);
      return;
    case 25:
      out["propertyNames"] = schema(depth - 1);
      return;
    case 26:
      out["items"] = random_.chance(0.7) ? schema(depth - 1) : json::value(schemas(depth - 1));
      return;
    case 27:
      out["prefixItems"] = schemas(depth - 1);
      return;
    case 28:
      out["additionalItems"] = schema(depth - 1);
      return;
    case 29:
      out["contains"] = schema(depth - 1);
      return;
    case 30:
      out["minContains"] = count;
      out["maxContains"] = count + 1;
      return;
    case 31:
      out["dependentRequired"] = {{one_of(kNames), names()}};
      return;
    case 32:
      out["dependencies"] = {{one_of(kNames), schema(depth - 1)}};
      return;
    case 33:
      out["allOf"] = schemas(depth - 1);
      return;
    case 34:
      out["anyOf"] = schemas(depth - 1);
      return;
    case 35:
      out["oneOf"] = schemas(depth - 1);
      return;
    case 36:
      out["not"] = schema(depth - 1);
      return;
    default:
      out["if"] = schema(depth - 1);
      out["then"] = schema(depth - 1);
      if (random_.chance(0.5)) out["else"] = schema(depth - 1);
  }
}

class Deadline {
 public:
  explicit Deadline(uint64_t count) : count_(count) {
    if (const char* text = std::getenv("WINDROW_FUZZ_SECONDS")) {
      until_ = clock_.now() + std::chrono::seconds(std::atoi(text));
      count_ = UINT64_MAX;
    }
  }
  bool over(uint64_t done) const { return done >= count_ || (until_ && clock_.now() >= *until_); }

 private:
  SystemClock clock_;
  uint64_t count_;
  std::optional<TimePoint> until_;
};

// The schema with the definitions that its references mean.
Result<Validator> compiled(json::value schema, const json::object& definitions,
                           bool closed = false) {
  if (json::object* object = schema.if_object()) (*object)["$defs"] = definitions;
  return Validator::compile(schema, {.closed_by_default = closed});
}

TEST(SchemaFuzz, LogicHolds) {
  const Deadline deadline(1500);
  int judged = 0;
  for (uint64_t seed = 1; !deadline.over(seed); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Maker maker(seed);
    const json::object definitions = maker.definitions();
    const json::value s = maker.schema(3);
    const json::value t = maker.schema(3);
    const auto made = [&](json::value schema) { return compiled(std::move(schema), definitions); };
    const Result<Validator> vs = made(s);
    const Result<Validator> vt = made(t);
    if (!vs || !vt) continue;
    const Result<Validator> all = made({{"allOf", {s, t}}});
    const Result<Validator> any = made({{"anyOf", {s, t}}});
    const Result<Validator> one = made({{"oneOf", {s, t}}});
    const Result<Validator> no = made({{"not", s}});
    const Result<Validator> chosen = made({{"if", s}, {"then", t}, {"else", false}});
    const Result<Validator> list = made({{"prefixItems", {s}}, {"items", t}});
    const Result<Validator> member = made({{"properties", {{"k", s}}}, {"required", {"k"}}});
    ASSERT_TRUE(all && any && one && no && chosen && list && member) << json::serialize(s);
    for (int i = 0; i < 8; ++i) {
      const std::string text = json::serialize(maker.value(3));
      const bool fits_s = !vs.value().check(text);
      const bool fits_t = !vt.value().check(text);
      const auto fits = [&](const Result<Validator>& validator, std::string_view answer) {
        const auto violation = validator.value().check(answer);
        EXPECT_TRUE(!violation || violation->kind == Violation::Kind::kSchema);
        return !violation;
      };
      const std::string about =
          fmt::format("{} by {} and {}", text, json::serialize(s), json::serialize(t));
      EXPECT_EQ(fits(all, text), fits_s && fits_t) << about;
      EXPECT_EQ(fits(any, text), fits_s || fits_t) << about;
      EXPECT_EQ(fits(one, text), fits_s != fits_t) << about;
      EXPECT_EQ(fits(no, text), !fits_s) << about;
      EXPECT_EQ(fits(chosen, text), fits_s && fits_t) << about;
      EXPECT_EQ(fits(list, fmt::format("[{0},{0}]", text)), fits_s && fits_t) << about;
      EXPECT_EQ(fits(member, fmt::format(R"({{"k":{}}})", text)), fits_s) << about;
      ++judged;
    }
  }
  EXPECT_GT(judged, 500) << "most schemas were refused: the test means little";
}

// What is valid where names are closed is valid by the standard.
TEST(SchemaFuzz, ClosedTakesNoMoreThanOpen) {
  const Deadline deadline(3000);
  int closed_only = 0;
  for (uint64_t seed = 1; !deadline.over(seed); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Maker maker(seed);
    const json::object definitions = maker.definitions();
    const json::value schema = maker.schema(3);
    const std::string text = json::serialize(schema) + json::serialize(definitions);
    const Result<Validator> open = compiled(schema, definitions);
    const Result<Validator> closed = compiled(schema, definitions, true);
    ASSERT_EQ(open.has_value(), closed.has_value());
    if (!open) continue;
    for (int i = 0; i < 8; ++i) {
      const std::string answer = json::serialize(maker.value(3));
      if (!open.value().check(answer)) {
        closed_only += closed.value().check(answer) ? 1 : 0;
      } else {
        EXPECT_TRUE(closed.value().check(answer)) << answer << " by " << text;
      }
    }
  }
  EXPECT_GT(closed_only, 10) << "nothing was closed: the test means little";
}

TEST(SchemaFuzz, NonsenseIsRefusedOrJudged) {
  const Deadline deadline(5000);
  int taken = 0;
  for (uint64_t seed = 1; !deadline.over(seed); ++seed) {
    Maker maker(seed);
    const json::value schema = maker.nonsense(3);
    const Result<Validator> validator =
        Validator::compile(schema, {.closed_by_default = seed % 2 == 0});
    if (!validator) {
      EXPECT_FALSE(validator.error().message.empty());
      continue;
    }
    ++taken;
    std::string answer = json::serialize(maker.value(4));
    // Broken here and there.
    if (maker.random().chance(0.3) && !answer.empty())
      answer[maker.random().below(answer.size())] = static_cast<char>(maker.random().below(256));
    const auto violation = validator.value().check(answer);
    EXPECT_FALSE(violation && violation->message.empty()) << "seed " << seed;
  }
  EXPECT_GT(taken, 50);
}

}  // namespace
}  // namespace windrow::schema
