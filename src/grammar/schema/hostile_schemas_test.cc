// Schemas that are made to take long or much memory: each ends, with a grammar or with an error
// that names a place, within the time that a compilation is given, and holds little memory. What
// they took is printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cctype>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/testing/live_bytes.h"
#include "grammar/schema/schema_grammar.h"
#include "grammar/schema/testing/schema_language.h"

namespace windrow::grammar {
namespace {

namespace json = boost::json;
using windrow::testing::live_bytes;

constexpr size_t kHeldBytesMax = 64u << 20;
constexpr std::chrono::seconds kDeadline(3);  // a server gives 10
constexpr std::chrono::milliseconds kLookEvery(1);

// Text `count` times, with "@" as 0, 1, 2, ... and "%" as the next number.
std::string repeated(int count, std::string_view text, std::string_view between = ",") {
  std::string all;
  for (int i = 0; i < count; ++i) {
    if (i > 0) all += between;
    for (const char c : text) {
      if (c == '@') {
        all += std::to_string(i);
      } else if (c == '%') {
        all += std::to_string(i + 1);
      } else {
        all += c;
      }
    }
  }
  return all;
}

// {"$ref": first}, with so many definitions and a last one.
std::string web(int count, std::string_view definition, std::string_view last) {
  return fmt::format(R"({{"$ref":"#/$defs/d0","$defs":{{{},"d{}":{}}}}})",
                     repeated(count, definition), count, last);
}

std::string tower(int count, std::string_view open, std::string_view inner,
                  std::string_view close) {
  return repeated(count, open, "") + std::string(inner) + repeated(count, close, "");
}

struct Hostile {
  std::string name;
  std::function<std::string()> schema;  // some are of 5 MB
};

void PrintTo(const Hostile& hostile, std::ostream* stream) {
  *stream << hostile.name;
}

std::vector<Hostile> hostile_schemas() {
  std::vector<Hostile> all;
  const auto add = [&](std::string name, std::function<std::string()> schema) {
    all.push_back({std::move(name), std::move(schema)});
  };
  // --- references whose paths double from one to the next
  for (const char* choice : {"allOf", "anyOf", "oneOf"}) {
    add(fmt::format("web of {}", choice), [choice] {
      return web(
          60,
          fmt::format(R"("d@":{{"{}":[{{"$ref":"#/$defs/d%"}},{{"$ref":"#/$defs/d%"}}]}})", choice),
          R"({"type":"integer"})");
    });
    add(fmt::format("web of {} with different members", choice), [choice] {
      return web(40,
                 fmt::format(R"("d@":{{"{}":[{{"$ref":"#/$defs/d%","required":["a@"]}},)"
                             R"({{"$ref":"#/$defs/d%","required":["b@"]}}]}})",
                             choice),
                 R"({"type":"object"})");
    });
  }
  add("web of not", [] {
    return web(60,
               R"("d@":{"not":{"allOf":[{"$ref":"#/$defs/d%"},)"
               R"({"required":["a@"]}]}})",
               R"({"type":"object","properties":{"a":{"type":"null"}}})");
  });
  add("web of conditions", [] {
    return web(40,
               R"("d@":{"if":{"$ref":"#/$defs/d%"},"then":{"required":["t@"]},)"
               R"("else":{"$ref":"#/$defs/d%"}})",
               R"({"type":"object","properties":{"a":{"type":"null"}}})");
  });
  add("web of members", [] {
    return web(60,
               R"("d@":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%"},)"
               R"("b":{"$ref":"#/$defs/d%"}},"required":["a","b"]})",
               R"({"type":"integer"})");
  });
  add("reference to itself below not",
      [] { return std::string(R"({"type":"object","not":{"$ref":"#"}})"); });
  add("recursion through not", [] {
    return std::string(
        R"({"type":"object","properties":{"a":{"not":{"$ref":"#"}},"b":{"$ref":"#"}}})");
  });
  add("recursion through oneOf", [] {
    return std::string(R"({"oneOf":[{"type":"array","items":{"$ref":"#"}},{"type":"array",)"
                       R"("items":{"not":{"$ref":"#"}}},
          {"type":"object","additionalProperties":{"$ref":"#"}},{"type":"integer"}]})");
  });
  // --- towers
  add("tower of not, even", [] { return tower(500, R"({"not":)", R"({"type":"string"})", "}"); });
  add("tower of not, odd", [] { return tower(501, R"({"not":)", R"({"type":"string"})", "}"); });
  add("tower of not with rules",
      [] { return tower(60, R"({"required":["a@"],"not":)", R"({"type":"string"})", "}"); });
  add("tower of oneOf",
      [] { return tower(40, R"({"oneOf":[{"required":["a@"]},)", R"({"type":"object"})", "]}"); });
  add("tower of conditions", [] {
    return tower(60, R"({"if":{"required":["a@"]},"then":{"required":["b@"]},"else":)", "{}", "}");
  });
  add("nested 10,000 deep", [] { return tower(10'000, R"({"items":)", "{}", "}"); });
  add("nested 10,000 deep by not", [] { return tower(10'000, R"({"not":)", "{}", "}"); });
  add("nested 3,000 deep by members", [] {
    return tower(3'000, R"({"type":"object","required":["a"],"properties":{"a":)", "{}", "}}");
  });
  // --- many
  add("oneOf of 100 that overlap", [] {
    return fmt::format(
        R"({{"oneOf":[{}]}})",
        repeated(100, R"({"type":"object","properties":{"a@":{"type":"integer"}}})"));
  });
  add("oneOf of 100 ranges that overlap", [] {
    return fmt::format(R"({{"oneOf":[{}]}})",
                       repeated(100, R"({"type":"integer","minimum":@,"maximum":1@})"));
  });
  add("oneOf of 100 patterns", [] {
    return fmt::format(R"({{"type":"string","oneOf":[{}]}})",
                       repeated(100, R"({"pattern":"a@.*b%"})"));
  });
  add("oneOf of 100 required", [] {
    return fmt::format(R"({{"type":"object","oneOf":[{}]}})",
                       repeated(100, R"({"required":["a@"]})"));
  });
  add("anyOf of 100 required below not", [] {
    return fmt::format(R"({{"type":"object","not":{{"allOf":[{}]}}}})",
                       repeated(100, R"({"anyOf":[{"required":["a@"]},{"required":["b@"]}]})"));
  });
  for (const char* keyword : {"dependencies", "dependentRequired"}) {
    add(fmt::format("{} of 60 names", keyword), [keyword] {
      return fmt::format(R"({{"type":"object","{}":{{{}}}}})", keyword,
                         repeated(60, R"("a@":["a%","b@"])"));
    });
  }
  add("dependentSchemas of 60 names", [] {
    return fmt::format(
        R"({{"type":"object","dependentSchemas":{{{}}}}})",
        repeated(60, R"("a@":{"properties":{"b@":{"type":"integer"}},"required":["a%"]})"));
  });
  add("60 conditions", [] {
    return fmt::format(
        R"({{"type":"object","allOf":[{}]}})",
        repeated(60, R"({"if":{"properties":{"k":{"const":"v@"}}},"then":{"required":["a@"]}})"));
  });
  add("patternProperties of 60", [] {
    return fmt::format(R"({{"patternProperties":{{{}}}}})",
                       repeated(60, R"("a@|b.*%":{"minimum":@})"));
  });
  add("propertyNames of 60 patterns", [] {
    return fmt::format(R"({{"propertyNames":{{"allOf":[{}]}}}})",
                       repeated(60, R"({"pattern":"a@|b.*%"})"));
  });
  add("60 contains", [] {
    return fmt::format(
        R"({{"type":"array","allOf":[{}]}})",
        repeated(60, R"({"contains":{"type":"integer","minimum":@},"maxContains":2})"));
  });
  // --- counts
  add("contains of a million", [] {
    return std::string(R"({"type":"array","contains":{"type":"integer"},"minContains":1000000,)"
                       R"("maxContains":2000000})");
  });
  add("contains of at most a million", [] {
    return std::string(
        R"({"type":"array","contains":{"const":1},"minContains":0,"maxContains":1000000,)"
        R"("maxItems":4000000000})");
  });
  add("minProperties of a million",
      [] { return std::string(R"({"type":"object","minProperties":1000000})"); });
  add("maxProperties of a million",
      [] { return std::string(R"({"type":"object","maxProperties":1000000})"); });
  add("1,000 declared, any 500 of them", [] {
    return fmt::format(
        R"({{"type":"object","properties":{{{}}},"minProperties":500,"maxProperties":600}})",
        repeated(1'000, R"("a@":{"type":"integer"})"));
  });
  add("unique items of a million",
      [] { return std::string(R"({"type":"array","uniqueItems":true,"minItems":1000000})"); });
  add("unique items of few values", [] {
    return std::string(
        R"({"type":"array","uniqueItems":true,"items":{"enum":[1,2,3]},"minItems":4})");
  });
  add("items within items within items, unique", [] {
    return std::string(
        R"({"type":"array","uniqueItems":true,"items":{"type":"array","uniqueItems":true,)"
        R"("items":{"type":"array","uniqueItems":true}}})");
  });
  add("lengths of 4 billion", [] {
    return std::string(R"({"type":"string","minLength":4000000000,"pattern":"^(ab|c)*$",)"
                       R"("not":{"maxLength":4000000001}})");
  });
  // --- patterns
  for (const char* pattern :
       {"^(a|aa)*(a|aa)*(a|aa)*b{0,1000}$", "(.*a.{0,300}b){3}", "^(?:\\\\S+\\\\s+){0,99}\\\\S+$",
        "^((a{0,100}){0,100}){0,100}$", "a.{1000}b", "(x+x+)+y", "^[^a]*(a[^b]{0,60}b){0,60}$"}) {
    add(fmt::format("pattern {}", pattern),
        [pattern] { return fmt::format(R"({{"pattern":"{}"}})", pattern); });
    add(fmt::format("not pattern {}", pattern), [pattern] {
      return fmt::format(R"({{"type":"string","not":{{"pattern":"{}"}}}})", pattern);
    });
    add(fmt::format("pattern {} with lengths", pattern), [pattern] {
      return fmt::format(R"({{"pattern":"{}","minLength":10,"maxLength":5000}})", pattern);
    });
  }
  add("13 conditions", [] {
    return fmt::format(
        R"({{"type":"object","allOf":[{}]}})",
        repeated(13, R"({"if":{"required":["a@"]},"then":{"required":["b@"]},"else":{}})"));
  });
  add("20,000 excluded names", [] {
    return fmt::format(R"({{"type":"object","allOf":[{}]}})",
                       repeated(20'000, R"({"not":{"required":["name @ of many"]}})"));
  });
  // Numbers whose digits have many remainders.
  for (const char* choice : {"anyOf", "oneOf"}) {
    add(fmt::format("multiples of {}", choice), [choice] {
      return fmt::format(
          R"({{"type":"number","allOf":[{{"{0}":[{{"multipleOf":33}},{{"multipleOf":12}},)"
          R"({{"multipleOf":77}}]}},{{"{0}":[{{"allOf":[{{"not":{{"multipleOf":6}}}},)"
          R"({{"not":{{"multipleOf":7}}}}]}},{{"multipleOf":44}}]}},)"
          R"({{"{0}":[{{"not":{{"multipleOf":11}}}},{{"multipleOf":13}}]}},)"
          R"({{"not":{{"multipleOf":8}}}}]}})",
          choice);
    });
  }
  add("multiples with many digits", [] {
    return std::string(R"({"type":"integer","multipleOf":9973,"maximum":999999999999999,)"
                       R"("not":{"multipleOf":8}})");
  });
  add("10 patterns at once", [] {
    return fmt::format(R"({{"type":"string","allOf":[{}]}})",
                       repeated(10, R"({"pattern":"a@.{10}b"},{"not":{"pattern":"c@.{8}d"}})"));
  });
  // --- 5 MB
  add("5 MB of members", [] {
    return fmt::format(R"({{"type":"object","properties":{{{}}}}})",
                       repeated(120'000, R"("member @":{"type":"integer","minimum":@})"));
  });
  add("5 MB of members, counted", [] {
    return fmt::format(R"({{"type":"object","minProperties":2,"properties":{{{}}}}})",
                       repeated(120'000, R"("member @":{"type":"integer","minimum":@})"));
  });
  add("5 MB of enum",
      [] { return fmt::format(R"({{"enum":[{}]}})", repeated(300'000, R"("value @")")); });
  add("5 MB of words that differ", [] {
    std::string words;
    for (uint64_t i = 1; i <= 250'000; ++i)
      words += fmt::format("{}\"{:x}\"", i > 1 ? "," : "", i * 0x9E3779B97F4A7C15U);
    return fmt::format(R"({{"enum":[{}]}})", words);
  });
  add("5 MB of branches in several lists", [] {
    return fmt::format(
        R"({{"allOf":[{}]}})",
        repeated(6, fmt::format(R"({{"anyOf":[{}]}})",
                                repeated(15'000, R"({"type":"object","required":["a@"]})"))));
  });
  add("5 MB of unknown keywords", [] {
    return fmt::format(R"({{"type":"object",{}}})", repeated(250'000, R"("unknown@":"a text")"));
  });
  add("5 MB of enum below not", [] {
    return fmt::format(R"({{"type":"string","not":{{"enum":[{}]}}}})",
                       repeated(300'000, R"("value @")"));
  });
  add("5 MB of numbers below not", [] {
    return fmt::format(R"({{"type":"integer","not":{{"enum":[{}]}}}})", repeated(600'000, "1@"));
  });
  add("5 MB of anyOf", [] {
    return fmt::format(R"({{"anyOf":[{}]}})",
                       repeated(90'000, R"({"type":"object","required":["a@"]})"));
  });
  add("5 MB of oneOf", [] {
    return fmt::format(R"({{"oneOf":[{}]}})",
                       repeated(90'000, R"({"type":"object","required":["a@"]})"));
  });
  add("5 MB of definitions", [] {
    return web(60'000, R"("d@":{"type":"object","properties":{"n":{"$ref":"#/$defs/d%"}}})",
               R"({"type":"null"})");
  });
  add("5 MB of required", [] {
    return fmt::format(R"({{"type":"object","required":[{}]}})", repeated(400'000, R"("name @")"));
  });
  add("5 MB of dependencies", [] {
    return fmt::format(R"({{"type":"object","dependentRequired":{{{}}}}})",
                       repeated(150'000, R"("name @":["name %"])"));
  });
  add("a pattern of 5 MB",
      [] { return fmt::format(R"({{"pattern":"{}"}})", std::string(5'000'000, 'a')); });
  return all;
}

class HostileSchemas : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileSchemas, EndsInTimeWithLittleMemory) {
  const json::value schema = json::parse(GetParam().schema(), {}, {.max_depth = 40'000});
  const SystemClock clock;
  const TimePoint begin = clock.now();
  const size_t before = live_bytes();
  size_t held_max = 0;
  int64_t questions = 0;
  TimePoint asked = begin;
  TimePoint looked = begin;
  auto longest = TimePoint::duration::zero();  // between two questions
  const auto note_held = [&] {
    held_max = std::max(held_max, std::max(live_bytes(), before) - before);
  };
  const auto late = [&] {
    const TimePoint now = clock.now();
    longest = std::max(longest, now - std::exchange(asked, now));
    ++questions;
    if (now - looked > kLookEvery) {
      note_held();
      looked = asked = clock.now();
    }
    return now - begin > kDeadline;
  };
  const auto grammar = schema_grammar(schema, {}, late);
  note_held();
  late();
  const auto ms = [](TimePoint::duration time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  if (!grammar) {
    EXPECT_FALSE(grammar.error().message.empty());
    if (grammar.error().kind == ErrorKind::kInvalid) {
      EXPECT_NE(grammar.error().message.find('#'), std::string::npos) << grammar.error().message;
    }
  }
  EXPECT_LT(held_max, kHeldBytesMax);
  const std::string report = fmt::format(
      "{} ms, {} at once, {} MB, {} questions: {}\n", ms(clock.now() - begin), ms(longest),
      held_max >> 20, questions, grammar ? "made" : grammar.error().message.substr(0, 150));
  std::cout << report;  // tidy-allow print: what each took is to be seen
}

INSTANTIATE_TEST_SUITE_P(All, HostileSchemas, ::testing::ValuesIn(hostile_schemas()),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : test.param.name)
                             name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return fmt::format("{}_{}", test.index, name);
                         });

}  // namespace
}  // namespace windrow::grammar
