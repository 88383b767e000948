#include "app/model_options.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

std::vector<fleet::ModelChoice> with(const Settings& settings) {
  std::vector<fleet::ModelChoice> choices = {{.name = "chat", .path = "c.gguf"},
                                             {.name = "embed", .path = "e.gguf"}};
  const Result<void> added = add_model_options(choices, settings);
  EXPECT_TRUE(added) << added.error().message;
  return choices;
}

std::string refusal(const Settings& settings) {
  std::vector<fleet::ModelChoice> choices = {{.name = "chat", .path = "c.gguf"}};
  const Result<void> added = add_model_options(choices, settings);
  return added ? "accepted" : added.error().message;
}

TEST(ModelOptions, AValueIsForAllModelsOrForTheOneItNames) {
  const auto all = with({.chat_templates = {"chatml"}, .poolings = {"last"}});
  EXPECT_EQ(all[0].chat_template, "chatml");
  EXPECT_EQ(all[1].chat_template, "chatml");
  EXPECT_EQ(all[0].pooling, engine::Pooling::kLast);

  const auto one = with({.chat_templates = {"chat=own.jinja"}, .poolings = {"mean", "embed=cls"}});
  EXPECT_EQ(one[0].chat_template, "own.jinja");
  EXPECT_EQ(one[1].chat_template, "");
  EXPECT_EQ(one[0].pooling, engine::Pooling::kMean);
  EXPECT_EQ(one[1].pooling, engine::Pooling::kCls) << "what names a model wins";
}

TEST(ModelOptions, WhatNamesAModelWinsWhereverItStands) {
  const auto choices = with({.chat_templates = {"chat=a.jinja", "b.jinja"},
                             .poolings = {"embed=cls", "embed=last", "mean"}});
  EXPECT_EQ(choices[0].chat_template, "a.jinja");
  EXPECT_EQ(choices[1].chat_template, "b.jinja");
  EXPECT_EQ(choices[0].pooling, engine::Pooling::kMean);
  EXPECT_EQ(choices[1].pooling, engine::Pooling::kLast);
}

TEST(ModelOptions, AnEqualsSignBehindNoModelsNameBelongsToTheValue) {
  EXPECT_EQ(with({.chat_templates = {"other=own.jinja"}})[0].chat_template, "other=own.jinja");
}

TEST(ModelOptions, AdaptersAddUpAndMayHaveAScale) {
  const auto choices = with({.adapters = {"a.gguf", "b.gguf=0.5", "chat=c.gguf=-2", "d=e.gguf"}});
  const std::vector<engine::AdapterChoice> expected = {{.path = "a.gguf"},
                                                       {.path = "b.gguf", .scale = 0.5F},
                                                       {.path = "c.gguf", .scale = -2.0F},
                                                       {.path = "d=e.gguf"}};
  EXPECT_EQ(choices[0].adapters, expected);
  EXPECT_EQ(choices[1].adapters.size(), 3U);
}

TEST(ModelOptions, AScaleIsANumberThatCanBeUsed) {
  EXPECT_EQ(with({.adapters = {"a.gguf=+0.5"}})[0].adapters[0],
            (engine::AdapterChoice{.path = "a.gguf", .scale = 0.5F}));
  EXPECT_EQ(with({.adapters = {"a=1x"}})[0].adapters[0].path, "a=1x");
  for (const std::string scale : {"nan", "inf", "-inf", "1e999", "-1e999"}) {
    EXPECT_EQ(
        refusal({.adapters = {"a.gguf=" + scale}}),
        "--lora a.gguf=" + scale + ": " + scale + " is no scale; it must be a number such as 0.5");
  }
}

TEST(ModelOptions, WhatMeansNothingIsRefused) {
  EXPECT_EQ(refusal({.poolings = {"max"}}), "--pooling max: it must be mean, cls, last or rank");
  EXPECT_EQ(refusal({.adapters = {"=0.5"}}), "--lora =0.5 names no file; write FILE or FILE=SCALE");
}

}  // namespace
}  // namespace windrow::app
