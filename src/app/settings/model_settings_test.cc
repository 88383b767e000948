#include "app/settings/model_settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace windrow::app {
namespace {

TEST(ModelChoice, ANameStandsBeforeTheFirstEqualsSign) {
  EXPECT_EQ(parse_model_choice("m.gguf"), (fleet::ModelChoice{.name = "", .path = "m.gguf"}));
  EXPECT_EQ(parse_model_choice("a=m.gguf"), (fleet::ModelChoice{.name = "a", .path = "m.gguf"}));
  EXPECT_EQ(parse_model_choice("a=b=c.gguf"),
            (fleet::ModelChoice{.name = "a", .path = "b=c.gguf"}));
  EXPECT_EQ(parse_model_choice("./a=b.gguf"),
            (fleet::ModelChoice{.name = "", .path = "./a=b.gguf"}));
  EXPECT_EQ(parse_model_choice("=m.gguf"), (fleet::ModelChoice{.name = "", .path = "=m.gguf"}));
}

std::string message_of(const std::vector<std::string>& texts) {
  const auto choices = parse_model_choices(texts);
  return choices ? "accepted" : choices.error().message;
}

TEST(ModelChoice, SeveralModelsNeedDifferentNames) {
  EXPECT_EQ(message_of({"m.gguf"}), "accepted");
  EXPECT_EQ(message_of({"a=m.gguf", "b=m.gguf"}), "accepted");
  EXPECT_EQ(message_of({}),
            "no model was named; add --model PATH of a .gguf file, or --upstream URL of a "
            "server");
  EXPECT_EQ(message_of({"a="}), "--model a= names no file; write NAME=PATH");
  EXPECT_EQ(message_of({"a=m.gguf", "n.gguf"}),
            "--model n.gguf has no name, but there is more than one model; write --model "
            "NAME=n.gguf, where rows say NAME as their model");
  EXPECT_EQ(message_of({"a=m.gguf", "a=n.gguf"}),
            "--model names a twice; give each model a name of its own");
}

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

class ModelFileTest : public ::testing::Test {
 protected:
  ModelFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "windrow_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~ModelFileTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  // What is said, without the path.
  static std::string problem(const std::string& path) {
    const Result<void> checked = check_model_file(path);
    if (checked) return "";
    EXPECT_TRUE(checked.error().message.starts_with(path + ": ")) << checked.error().message;
    return checked.error().message.substr(path.size() + 2);
  }

  std::filesystem::path folder_;
};

TEST_F(ModelFileTest, AGgufFileIsTaken) {
  EXPECT_EQ(problem(write("m.gguf", "GGUF\3")), "");
}

TEST_F(ModelFileTest, WhatIsNoModelIsNamed) {
  EXPECT_EQ(problem((folder_ / "none.gguf").string()), "there is no such model file");
  EXPECT_EQ(problem("sim"),
            "there is no such model file; for a simulated model write sim: with a colon");
  EXPECT_EQ(problem(write("notes.gguf", "my notes")),
            "this is not a GGUF file (it does not start with \"GGUF\"); other formats must be "
            "converted first");
  EXPECT_EQ(problem(write("short.gguf", "GG")),
            "this is not a GGUF file (it does not start with \"GGUF\"); other formats must be "
            "converted first");
  EXPECT_EQ(problem(write("empty.gguf", "")), "this file is empty; get the model again");
  EXPECT_EQ(problem(write("lfs.gguf", "version https://git-lfs.example/spec/v1\noid sha256:1\n")),
            "this is a Git LFS pointer, not the model itself; fetch it with git lfs pull");
}

// What tokenizer_choices says against it.
std::string tokenizer_refusal(std::vector<std::string> tokenizers, bool with_upstream = true) {
  Settings settings{.tokenizers = std::move(tokenizers)};
  if (with_upstream) settings.upstreams = {"http://gpu:8000/v1"};
  const auto choices = tokenizer_choices(settings);
  return choices ? "" : choices.error().message;
}

TEST_F(ModelFileTest, ATokenizerIsAFileForAModelOfAServer) {
  const std::string file = write("m.gguf", "GGUF\3");
  const Settings settings{.chat_templates = {"a=own.jinja", "chatml"},
                          .upstreams = {"http://gpu:8000/v1"},
                          .tokenizers = {"a=" + file, "b/c=sim:"}};
  const auto choices = tokenizer_choices(settings);
  ASSERT_TRUE(choices.has_value()) << choices.error().message;
  ASSERT_EQ(choices->size(), 2U);
  EXPECT_EQ(choices->at(0).name, "a");
  EXPECT_EQ(choices->at(0).path, file);
  EXPECT_EQ(choices->at(0).chat_template, "own.jinja");
  EXPECT_EQ(choices->at(1).name, "b/c") << "names of servers may have a slash";
  EXPECT_EQ(choices->at(1).chat_template, "chatml");
}

TEST_F(ModelFileTest, ATokenizerThatCannotBeUsedSaysWhatToDo) {
  EXPECT_EQ(tokenizer_refusal({"a"}),
            "--tokenizer a: write NAME=PATH, the name of the server's model and a GGUF file");
  EXPECT_EQ(tokenizer_refusal({"sim:seed=1"}),
            "--tokenizer sim:seed=1: write NAME=PATH, the name of the server's model and a GGUF "
            "file");
  EXPECT_EQ(tokenizer_refusal({"a=sim:"}, false),
            "--tokenizer a=sim:: it is for models of --upstream servers; a model in this process "
            "has its own tokenizer, so leave it out");
  EXPECT_EQ(tokenizer_refusal({"a=hf:o/r/f.gguf"}),
            "--tokenizer a=hf:o/r/f.gguf: download the file first; `windrow inspect "
            "hf:o/r/f.gguf` does");
  EXPECT_EQ(tokenizer_refusal({"a=sim:", "a=sim:"}), "--tokenizer names a twice; keep one of them");
  EXPECT_EQ(tokenizer_refusal({"a=/no/m.gguf"}),
            "--tokenizer: /no/m.gguf: there is no such model file");
}

TEST_F(ModelFileTest, AFolderNamesTheModelsInIt) {
  EXPECT_EQ(problem(folder_.string()), "this is a folder without .gguf files; name a model's file");
  const std::string b = write("b.gguf", "GGUF");
  const std::string a = write("a.gguf", "GGUF");
  EXPECT_EQ(problem(folder_.string()),
            "this is a folder; name a file in it, such as " + a + " or " + b);
}

}  // namespace
}  // namespace windrow::app
