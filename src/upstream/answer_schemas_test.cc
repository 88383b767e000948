#include "upstream/answer_schemas.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace windrow::upstream {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(AnswerSchemas, OneTextIsCompiledOnce) {
  AnswerSchemas schemas(nullptr);
  const auto first = schemas.of(R"({"type":"integer"})");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(schemas.of(R"({"type":"integer"})"), first);
  EXPECT_NE(schemas.of(R"({"type":"string"})"), first);
  EXPECT_FALSE(first->check("1"));
  EXPECT_TRUE(first->check("1.5"));
}

TEST(AnswerSchemas, TheStandardsMeaningCounts) {
  AnswerSchemas schemas(nullptr);
  EXPECT_FALSE(schemas.of(R"({"properties":{"a":true}})")->check(R"({"b":1})"));
}

TEST(AnswerSchemas, TheOldestIsForgotten) {
  AnswerSchemas schemas(nullptr, 2);
  const auto one = schemas.of(R"({"const":1})");
  const auto two = schemas.of(R"({"const":2})");
  EXPECT_EQ(schemas.of(R"({"const":1})"), one);
  schemas.of(R"({"const":3})");
  EXPECT_EQ(schemas.of(R"({"const":1})"), one) << "it was used after the second";
  EXPECT_NE(schemas.of(R"({"const":2})"), two);
  EXPECT_TRUE(two->check("3")) << "who has it may go on using it";
}

TEST(AnswerSchemas, WhatCannotBeJudgedIsSaidOnceOfEachAndNotForEver) {
  std::vector<std::string> told;
  AnswerSchemas schemas([&](const std::string& why) { told.push_back(why); }, 1);
  EXPECT_EQ(schemas.of(R"({"type":"colour"})"), nullptr);
  EXPECT_NE(schemas.of("{}"), nullptr);
  EXPECT_EQ(schemas.of(R"({"type":"colour"})"), nullptr) << "compiled again, said no more";
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("only by being JSON: at #/type: must be null, boolean"));
  EXPECT_EQ(schemas.of("{\"type\":"), nullptr);
  EXPECT_THAT(told.back(), HasSubstr("it is no JSON"));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(schemas.of(fmt::format(R"({{"type":"f{}"}})", i)), nullptr);
  ASSERT_EQ(told.size(), 10U);
  EXPECT_THAT(told[8], Not(HasSubstr("not said any more")));
  EXPECT_THAT(told[9], HasSubstr("of other schemas this is not said any more"));
}

TEST(AnswerSchemas, ThreadsMayAskAtOnce) {
  std::atomic<int> told = 0;
  AnswerSchemas schemas([&](const std::string&) { ++told; }, 3);
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        const auto validator = schemas.of(fmt::format(R"({{"const":{}}})", k % 5));
        EXPECT_FALSE(validator->check(std::to_string(k % 5)));
        EXPECT_EQ(schemas.of("[]"), nullptr);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace windrow::upstream
