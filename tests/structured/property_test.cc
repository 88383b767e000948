// Properties of grammars made from random schemas, judged within this process; what ajv says of the
// same is in check_answers.py.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "base/testing/rounds.h"
#include "grammar/matcher.h"
#include "schema/validator.h"
#include "structured/instance.h"
#include "structured/schema_json.h"
#include "structured/shape_maker.h"
#include "structured/trial.h"
#include "structured/walk.h"

namespace windrow::structured {
namespace {

namespace json = boost::json;

constexpr uint64_t kSeed = 4711;

const TrialVocabulary& vocabulary() {
  static const TrialVocabulary made(random_vocabulary(kSeed, 2000));
  return made;
}

bool parses(const std::string& text) {
  boost::system::error_code error;
  json::parse(text, error);
  return !error;
}

// The properties of every trial, for some seeds.
void check(int level, uint64_t schemas, const TrialOptions& options) {
  for (uint64_t seed = kSeed; seed < kSeed + schemas; ++seed) {
    const Trial trial = run_trial(level, seed, vocabulary(), options);
    SCOPED_TRACE(trial.schema.name);
    const json::object written = written_schema(trial.schema);
    SCOPED_TRACE(json::serialize(written));
    if (trial.refusal.find("states") != std::string::npos) continue;  // a pattern beyond the limit
    ASSERT_EQ(trial.refusal, "");
    const auto validator = schema::Validator::compile(written, {.closed_by_default = true});
    ASSERT_TRUE(validator) << validator.error().message;
    for (const TrialText& text : trial.texts) {
      SCOPED_TRACE(text.text);
      // A walk that closes strings as soon as it can writes undeclared members named "" for ever
      // while required ones are missing; only their order keeps it from that.
      if (options.property_order == grammar::PropertyOrder::kAny &&
          text.fault.value_or("").starts_with("it has no end"))
        continue;
      EXPECT_EQ(text.fault.value_or(""), "");
      if (text.kind == TrialText::Kind::kInstance) {
        EXPECT_TRUE(text.accepted);
      }
      if (!text.accepted) continue;
      EXPECT_TRUE(parses(text.text));
      const auto violation = validator.value().check(text.text);
      EXPECT_FALSE(violation) << violation->message;
    }
  }
}

class Levels : public ::testing::TestWithParam<int> {};

TEST_P(Levels, CompactAnswersAreValidAndValidOnesAreAccepted) {
  check(GetParam(), windrow::testing::rounds(4U, 10U), {});
}

TEST_P(Levels, AnswersWithFreeWhitespaceAreToo) {
  TrialOptions options;
  options.whitespace = grammar::Whitespace::kFlexible;
  check(GetParam(), windrow::testing::rounds(1U, 3U), options);
}

TEST_P(Levels, AnswersInAnyOrderAreToo) {
  TrialOptions options;
  options.property_order = grammar::PropertyOrder::kAny;
  check(GetParam(), windrow::testing::rounds(2U, 6U), options);
}

INSTANTIATE_TEST_SUITE_P(All, Levels, ::testing::Range(1, kLevels + 1));

TEST(Generator, GivesTheSameForTheSameSeed) {
  for (int level = 1; level <= kLevels; ++level) {
    const SchemaCase one = make_schema(level, 5);
    const SchemaCase other = make_schema(level, 5);
    EXPECT_EQ(written_schema(one), written_schema(other));
    Random random(9);
    Random same(9);
    EXPECT_EQ(compact(make_instance(one, random)), compact(make_instance(other, same)));
    EXPECT_NE(written_schema(one), written_schema(make_schema(level, 6)));
  }
}

// The random schemas have every keyword that is documented as enforced.
TEST(Generator, HasEveryKeyword) {
  std::string all;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (int level = 1; level <= kLevels; ++level)
      all += json::serialize(written_schema(make_schema(level, seed)));
  }
  for (const std::string_view keyword : {"type",
                                         "properties",
                                         "required",
                                         "additionalProperties",
                                         "patternProperties",
                                         "items",
                                         "prefixItems",
                                         "minItems",
                                         "maxItems",
                                         "minLength",
                                         "maxLength",
                                         "pattern",
                                         "format",
                                         "enum",
                                         "const",
                                         "minimum",
                                         "maximum",
                                         "exclusiveMinimum",
                                         "exclusiveMaximum",
                                         "multipleOf",
                                         "anyOf",
                                         "oneOf",
                                         "allOf",
                                         "$ref",
                                         "$defs",
                                         "definitions",
                                         "nullable",
                                         "additionalItems"}) {
    EXPECT_NE(all.find(fmt::format("\"{}\":", keyword)), std::string::npos) << keyword;
  }
  for (const std::string_view format : {"date", "time", "date-time", "email", "uuid", "ipv4",
                                        "ipv6", "uri", "hostname", "duration"}) {
    EXPECT_NE(all.find(fmt::format("\"format\":\"{}\"", format)), std::string::npos) << format;
  }
}

// A byte changed anywhere: what is no UTF-8 or no JSON any more is not accepted.
TEST(BrokenBytes, AreNotAccepted) {
  int broken = 0;
  for (uint64_t seed = kSeed; seed < kSeed + windrow::testing::rounds(16U, 40U); ++seed) {
    const int level = 1 + static_cast<int>(seed % kLevels);
    const SchemaCase schema = make_schema(level, seed);
    const auto grammar = grammar::schema_grammar(written_schema(schema), {});
    if (!grammar) {
      EXPECT_THAT(grammar.error().message, ::testing::HasSubstr("states")) << schema.name;
      continue;
    }
    const grammar::Matcher start(
        std::make_shared<grammar::CompiledGrammar>(grammar.value(), vocabulary().tables));
    Random random(seed);
    for (int i = 0; i < 30; ++i) {
      std::string text = compact(make_instance(schema, random));
      const auto byte = static_cast<char>(random.below(256));
      if (random.chance(0.5)) {
        text[random.below(text.size())] = byte;
      } else {
        text.insert(random.below(text.size() + 1), 1, byte);
      }
      if (parses(text)) continue;
      ++broken;
      EXPECT_FALSE(accepted(start, vocabulary().vocabulary, text, random))
          << schema.name << ": " << text;
    }
  }
  EXPECT_GT(broken, windrow::testing::rounds(40, 200));
}

// A fork and a place that was gone back to allow what the place itself allows.
TEST(Places, AreTheSameByEveryWay) {
  for (uint64_t seed = kSeed; seed < kSeed + windrow::testing::rounds(8U, 24U); ++seed) {
    const SchemaCase schema = make_schema(1 + static_cast<int>(seed % kLevels), seed);
    const auto grammar = grammar::schema_grammar(written_schema(schema), {});
    if (!grammar) {
      EXPECT_THAT(grammar.error().message, ::testing::HasSubstr("states")) << schema.name;
      continue;
    }
    const auto compiled =
        std::make_shared<grammar::CompiledGrammar>(grammar.value(), vocabulary().tables);
    Random random(seed);
    const std::string text = compact(make_instance(schema, random));
    grammar::Matcher matcher(compiled);
    for (size_t at = 0; at < text.size();) {
      const grammar::Matcher fork = matcher;
      const auto mask = matcher.mask();
      // Away and back.
      size_t steps = 0;
      for (size_t away = at; away < text.size() && steps < 1 + random.below(4); ++away) {
        ASSERT_TRUE(matcher.accept(static_cast<unsigned char>(text[away])));
        ++steps;
      }
      matcher.rollback(steps);
      EXPECT_EQ(*matcher.mask(), *mask) << schema.name << " behind " << text.substr(0, at);
      grammar::Matcher other = fork;
      EXPECT_EQ(*other.mask(), *mask);
      // By bytes of a piece at once, as forced runs are taken.
      const size_t piece = std::min(text.size() - at, 1 + random.below(5));
      ASSERT_TRUE(other.accept_bytes(text.substr(at, piece)));
      for (size_t i = 0; i < piece; ++i)
        ASSERT_TRUE(matcher.accept(static_cast<unsigned char>(text[at + i])));
      at += piece;
      EXPECT_EQ(*matcher.mask(), *other.mask());
      EXPECT_EQ(matcher.can_end(), other.can_end());
      // The text goes on with the bytes that are said to be forced.
      const std::string forced = matcher.forced_bytes(64);
      EXPECT_EQ(text.substr(at, forced.size()), forced) << schema.name;
    }
    EXPECT_TRUE(matcher.can_end()) << schema.name;
  }
}

}  // namespace
}  // namespace windrow::structured
