#include "memory/bank/bank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::memory {
namespace {

using ::testing::HasSubstr;

Result<BankConfig> read(std::string_view overrides) {
  return with_overrides(BankConfig(), boost::json::parse(overrides).as_object());
}

std::string fault(std::string_view overrides) {
  const Result<BankConfig> config = read(overrides);
  return config ? "" : config.error().message;
}

TEST(BankId, IsAnyShortText) {
  EXPECT_EQ(bank_id_from("team 1/ü").value().text, "team 1/ü");
  EXPECT_TRUE(bank_id_from(std::string(kBankIdBytesMax, 'x')).has_value());
}

TEST(BankId, OtherTextIsRefusedWithWhy) {
  EXPECT_THAT(bank_id_from("").error().message, HasSubstr("is empty"));
  EXPECT_THAT(bank_id_from(std::string(kBankIdBytesMax + 1, 'x')).error().message,
              HasSubstr("has 193 bytes; use 1 to 192 bytes"));
  EXPECT_THAT(bank_id_from("a\nb").error().message, HasSubstr("has a control character"));
  EXPECT_THAT(bank_id_from("\xC3").error().message, HasSubstr("is not UTF-8"));
}

TEST(BankConfig, IsWrittenAndReadAgain) {
  const std::string_view text = R"({
      "enable_observations": false, "prompt_profile": "hindsight",
      "consolidation_llm_batch_size": 3, "consolidation_max_completion_tokens": 900,
      "consolidation_dedup_threshold": 0.5,
      "consolidation_extra_body": {"chat_template_kwargs": {"enable_thinking": false}},
      "observations_mission": "trips", "max_observations_per_scope": 7,
      "observation_scope_limits": [{"scope": ["run_*", "shared"], "limit": 2}],
      "retain_extraction_mode": "chunks", "retain_chunk_size": 500, "chat_model": "m"})";
  const BankConfig config = read(text).value();
  EXPECT_FALSE(config.enable_observations);
  EXPECT_EQ(config.prompt_profile, PromptProfile::kHindsight);
  EXPECT_EQ(config.consolidation_llm_batch_size, 3);
  EXPECT_EQ(config.consolidation_max_completion_tokens, 900);
  EXPECT_EQ(config.observation_scope_limits.at(0).observations_max, 2);
  EXPECT_EQ(config.retain_chunk_size, 500);

  const boost::json::object all = to_json(config);
  EXPECT_EQ(to_json(with_overrides(BankConfig(), all).value()), all);
  const boost::json::value written = boost::json::parse(text);
  for (const auto& [name, value] : written.as_object())
    EXPECT_EQ(all.at(name), value) << name;
}

TEST(BankConfig, MembersThatAreNotSetKeepTheDefaults) {
  EXPECT_EQ(to_json(read("{}").value()), to_json(BankConfig()));
  EXPECT_EQ(read(R"({"retain_chunk_size": null})").value().retain_chunk_size, 3000);
  EXPECT_EQ(to_json(BankConfig()).at("consolidation_max_completion_tokens"), nullptr);
}

TEST(BankConfig, AWrongValueIsNamedWithWhatItMustBe) {
  EXPECT_EQ(fault(R"({"consolidation_llm_batch_size": 0})"),
            "consolidation_llm_batch_size must be a whole number from 1 to 1000, not 0");
  EXPECT_EQ(fault(R"({"consolidation_llm_batch_size": 1.5})"),
            "consolidation_llm_batch_size must be a whole number from 1 to 1000, not 1.5");
  EXPECT_EQ(fault(R"({"enable_observations": "yes"})"),
            "enable_observations must be true or false, not \"yes\"");
  EXPECT_EQ(fault(R"({"observations_mission": {"a": 1}})"),
            "observations_mission must be a string, not an object");
  EXPECT_EQ(fault(R"({"prompt_profile": "short"})"),
            "prompt_profile must be one of compact, demo, hindsight, not \"short\"");
  EXPECT_EQ(fault(R"({"retain_extraction_mode": "all"})"),
            "retain_extraction_mode must be one of auto, concise, verbose, verbatim, chunks, not "
            "\"all\"");
  EXPECT_EQ(fault(R"({"consolidation_dedup_threshold": 2})"),
            "consolidation_dedup_threshold must be a number from 0 to 1, not 2");
  EXPECT_EQ(fault(R"({"observation_scope_limits": [{"scope": ["a"], "limit": true}]})"),
            "observation_scope_limits[0].limit must be a whole number from -1 to 1000000000, not "
            "true");
  EXPECT_THAT(fault(R"({"observation_scope_limits": [{"limit": 1}]})"),
              HasSubstr("observation_scope_limits[0].scope must be an array"));
  EXPECT_THAT(fault(R"({"max_observations_per_scope": 18446744073709551615})"),
              HasSubstr("not 18446744073709551615"));
}

TEST(BankConfig, AnUnknownMemberIsNamedWithTheNearestOne) {
  EXPECT_EQ(fault(R"({"consolidation_llm_batchsize": 3})"),
            "\"consolidation_llm_batchsize\" is no member of a bank's configuration; did you mean "
            "consolidation_llm_batch_size?");
  EXPECT_THAT(fault(R"({"colour": 3})"), HasSubstr("there are enable_observations, "));
}

TEST(ObservationsMax, IsThatOfTheFirstLimitThatCoversTheScope) {
  const BankConfig config = read(R"({
      "max_observations_per_scope": 9,
      "observation_scope_limits": [
        {"scope": ["shared"], "limit": 1},
        {"scope": ["run_*", "shared"], "limit": 2},
        {"scope": ["?"], "limit": 3},
        {"scope": ["run_*"], "limit": -1}]})")
                                .value();
  EXPECT_EQ(observations_max_of(config, Scope({"shared"})), 1);
  EXPECT_EQ(observations_max_of(config, Scope({"run_1", "shared"})), 2);
  EXPECT_EQ(observations_max_of(config, Scope({"x"})), 3);
  EXPECT_EQ(observations_max_of(config, Scope({"run_1", "run_2"})), -1);
  EXPECT_EQ(observations_max_of(config, Scope({"shared", "other"})), 9);
  EXPECT_EQ(observations_max_of(config, Scope({"Shared"})), 9);
  EXPECT_EQ(observations_max_of(config, Scope()), -1);
}

}  // namespace
}  // namespace windrow::memory
