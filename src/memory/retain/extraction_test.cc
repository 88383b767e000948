#include "memory/retain/extraction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "memory/bank/iso_time.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const UnixMs kMonday = unix_ms_from_iso("2024-01-15T10:30:00Z").value();

std::vector<ExtractedFact> read(std::string_view response,
                                PromptProfile profile = PromptProfile::kCompact) {
  Result<std::vector<ExtractedFact>> facts = extracted_facts(response, profile);
  if (facts) return *std::move(facts);
  ADD_FAILURE() << facts.error().message;
  return {};
}

std::string fault(std::string_view response) {
  const auto facts = extracted_facts(response, PromptProfile::kCompact);
  return facts ? "" : facts.error().message;
}

TEST(ExtractionPrompt, OfTheDemoModelHasTheWordsOfItsTraining) {
  const ExtractionPrompt prompt =
      extraction_prompt({.text = "Ada moved to Oslo.", .written = kMonday}, PromptProfile::kDemo);
  EXPECT_EQ(prompt.system,
            "List the facts of the message as JSON: "
            "{\"facts\":[{\"entity\":who,\"fact\":what,\"time\":day}]}. fact: the words of the "
            "message without the time. time: YYYY-MM-DD, counted from the date of the message, "
            "\"\" if not said.");
  EXPECT_EQ(prompt.user, "Message of 2024-01-15:\nAda moved to Oslo.");
  EXPECT_EQ(
      boost::json::serialize(prompt.schema),
      R"({"type":"object","properties":{"facts":{"type":"array","items":{"type":"object",)"
      R"("properties":{"entity":{"type":"string"},"fact":{"type":"string"},)"
      R"("time":{"type":"string"}},"required":["entity","fact","time"],)"
      R"("additionalProperties":false}}},"required":["facts"],"additionalProperties":false})");
}

TEST(ExtractionPrompt, OfTheDemoModelAlwaysHasADate) {
  EXPECT_EQ(extraction_prompt({.text = "Ada moved.", .now = kMonday}, PromptProfile::kDemo).user,
            "Message of 2024-01-15:\nAda moved.");
}

TEST(ExtractionPrompt, HasWhatIsKnownOfTheTextBesideIt) {
  const ExtractionPrompt prompt = extraction_prompt({.text = "I met Ada.",
                                                     .context = "a diary",
                                                     .written = kMonday,
                                                     .mission = "people",
                                                     .verbose = true},
                                                    PromptProfile::kCompact);
  EXPECT_THAT(prompt.user, HasSubstr("What matters here: people\n"));
  EXPECT_THAT(prompt.user, HasSubstr("every detail"));
  EXPECT_THAT(prompt.user, HasSubstr("What the text is: a diary\n"));
  EXPECT_THAT(prompt.user, HasSubstr("Date of the text: 2024-01-15, a Monday\n"));
  EXPECT_THAT(prompt.user, HasSubstr("<text>\nI met Ada.\n</text>"));
}

TEST(ExtractionPrompt, TheSystemTextIsTheSameForEveryText) {
  const ExtractionPrompt one =
      extraction_prompt({.text = "a", .written = kMonday}, PromptProfile::kCompact);
  const ExtractionPrompt other =
      extraction_prompt({.text = "b", .mission = "m", .verbose = true}, PromptProfile::kHindsight);
  EXPECT_EQ(one.system, other.system);
  EXPECT_THAT(other.user, Not(HasSubstr("Date of the text")));
}

TEST(ExtractedFacts, AreReadWithTimesTypesAndEntities) {
  const auto facts = read(R"({"facts":[
      {"what":"Ada moved to Oslo.","when":"15 January 2024","where":"Oslo","who":"Ada",
       "why":"a new job","type":"world","occurred_start":"2024-01-15","occurred_end":"",
       "entities":["Ada","Oslo","Ada"," "]},
      {"what":"The assistant sent the report.","when":"","where":"","who":"","why":"",
       "type":"experience","occurred_start":"2024-01-15T08:00:00",
       "occurred_end":"2024-01-15T09:00:00","entities":[]}]})");
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].text, "Ada moved to Oslo. | When: 15 January 2024 | Why: a new job");
  EXPECT_EQ(facts[0].type, MemoryType::kWorld);
  EXPECT_EQ(facts[0].occurred_start, unix_ms_from_iso("2024-01-15"));
  EXPECT_EQ(facts[0].occurred_end, unix_ms_from_iso("2024-01-15T23:59:59.999"));
  EXPECT_THAT(facts[0].entities, ElementsAre("Ada", "Oslo"));
  EXPECT_EQ(facts[1].type, MemoryType::kExperience);
  EXPECT_EQ(facts[1].occurred_end, unix_ms_from_iso("2024-01-15T09:00"));
}

TEST(ExtractedFacts, WhatIsNoDateCountsAsNotSaid) {
  const auto facts = read(R"({"facts":[
      {"what":"x","occurred_start":"last spring","occurred_end":"2024-02-30"},
      {"what":"y","occurred_start":"2024-03-02","occurred_end":"2024-03-01"}]})");
  EXPECT_EQ(facts.at(0).occurred_start, std::nullopt);
  EXPECT_EQ(facts.at(0).occurred_end, std::nullopt);
  EXPECT_EQ(facts.at(1).occurred_end, unix_ms_from_iso("2024-03-02T23:59:59.999"));
}

TEST(ExtractedFacts, OneWithoutWordsIsLeftOut) {
  EXPECT_THAT(read(R"({"facts":[{"what":" ","when":"now"}]})"), IsEmpty());
  EXPECT_THAT(read(R"({"facts":[]})"), IsEmpty());
}

TEST(ExtractedFacts, WordsAroundTheObjectDoNotCount) {
  EXPECT_EQ(read("Here:\n```json\n{\"facts\":[{\"what\":\"x\"}]}\n```").size(), 1U);
}

TEST(ExtractedFacts, OfTheDemoModelAreSentences) {
  const auto facts = read(
      R"({"facts":[{"entity":"Ada Lund","fact":"moved to Oslo","time":"2024-01-14"},)"
      R"({"entity":"Ben","fact":"caught a cold","time":""},{"entity":"x","fact":"","time":""}]})",
      PromptProfile::kDemo);
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].text, "Ada Lund moved to Oslo.");
  EXPECT_THAT(facts[0].entities, ElementsAre("Ada Lund"));
  EXPECT_EQ(facts[0].occurred_start, unix_ms_from_iso("2024-01-14"));
  EXPECT_EQ(facts[0].occurred_end, unix_ms_from_iso("2024-01-14T23:59:59.999"));
  EXPECT_EQ(facts[1].occurred_start, std::nullopt);
}

TEST(ExtractedFacts, AnUnusableResponseSaysWhy) {
  EXPECT_THAT(fault("I am sorry"), HasSubstr("the response is no JSON"));
  EXPECT_THAT(fault(R"({"facts":[{"what":"x"})"), HasSubstr("the response is no JSON"));
  EXPECT_EQ(fault(R"({"fact":[]})"), "the response has no list \"facts\"");
  EXPECT_EQ(fault(R"({"facts":["x"]})"), "a fact of the response is a string, not an object");
}

}  // namespace
}  // namespace windrow::memory
