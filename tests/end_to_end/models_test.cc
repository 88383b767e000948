// Which model answers which row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::HasSubstr;

std::map<std::string, std::string> texts(const JobFolder& folder, std::string_view log) {
  std::map<std::string, std::string> result;
  for (const LogLine& line : read_log(folder, log))
    result[member(line.json, "custom_id")] = member(line.json, "response.body.choices");
  return result;
}

TEST(Models, OneWithoutANameAnswersWhateverARowNamesAndSaysSoOnce) {
  JobFolder folder;
  folder.use_model(model_path("llama"));
  folder.write("requests.jsonl",
               completion_line("a", "the", {{"max_tokens", 1}, {"model", "gpt-4o"}}) +
                   completion_line("b", "the", {{"max_tokens", 1}, {"model", "qwen"}}) +
                   completion_line("c", "the", {{"max_tokens", 1}, {"model", nullptr}}));
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 0) << ended;
  std::map<std::string, std::string> models;
  for (const LogLine& line : read_log(folder, "results.jsonl"))
    models[member(line.json, "custom_id")] = member(line.json, "response.body.model");
  EXPECT_EQ(models["\"a\""], "\"gpt-4o\"");
  EXPECT_EQ(models["\"b\""], "\"qwen\"");
  EXPECT_EQ(models["\"c\""], "\"model\"");
}

TEST(Models, NamesSendRowsToTheirModel) {
  JobFolder folder;
  folder.use_model(model_path("llama"), "one.gguf");
  folder.use_model(model_path("qwen3"), "two.gguf");
  std::string both;
  std::string first;
  std::string second;
  for (int i = 0; i < 6; ++i) {
    const std::string id = "row-" + std::to_string(i);
    const std::string prompt = "number " + std::to_string(i);
    const std::string line =
        chat_line(id, prompt, {{"max_tokens", 6}, {"model", i % 2 == 0 ? "one" : "two"}});
    both += line;
    (i % 2 == 0 ? first : second) += line;
  }
  folder.write("both.jsonl", both + chat_line("nobody", "the", {{"model", "three"}}) +
                                 chat_line("nameless", "the", {{"model", nullptr}}));
  folder.write("first.jsonl", first);
  folder.write("second.jsonl", second);
  const auto words = [](const Words& files, const Words& models) {
    Words all = {"run", files[0], "-o", files[1], "--kv-type", "f32", "--flash-attn", "off"};
    for (const std::string& model : models)
      all.insert(all.end(), {"--model", model});
    return all;
  };
  const Ended ended =
      folder.windrow(words({"both.jsonl", "results.jsonl"}, {"one=one.gguf", "two=two.gguf"}));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(folder.windrow(words({"first.jsonl", "1.jsonl"}, {"one=one.gguf"})).code, 0);
  EXPECT_EQ(folder.windrow(words({"second.jsonl", "2.jsonl"}, {"two=two.gguf"})).code, 0);
  std::map<std::string, std::string> expected = texts(folder, "1.jsonl");
  expected.merge(texts(folder, "2.jsonl"));
  EXPECT_EQ(texts(folder, "results.jsonl"), expected);
  EXPECT_EQ(expected.size(), 6U);

  std::map<std::string, std::string> failures;
  for (const LogLine& line : read_log(folder, "results.errors.jsonl"))
    failures[member(line.json, "custom_id")] =
        member(line.json, "response.status_code") + " " + member(line.json, "error.message");
  EXPECT_EQ(failures["\"nobody\""], R"(404 "there is no model \"three\"; there is one, two")");
  EXPECT_EQ(failures["\"nameless\""], R"(400 "the body has no model; there is one, two")");
  EXPECT_EQ(failures.size(), 2U);
}

TEST(Models, EveryFamilyAnswers) {
  for (const char* family : {"llama", "qwen3", "moe", "hybrid", "swa"}) {
    for (const char* type : {"f32", "f16", "q8_0"}) {
      JobFolder folder;
      folder.use_model(model_path(family, type));
      folder.write("requests.jsonl", some_requests(5));
      const Ended ended =
          folder.windrow({"run", "requests.jsonl", "-o", "results.jsonl", "--model", "model.gguf"});
      EXPECT_EQ(ended.code, 0) << family << " " << type << "\n" << ended;
      EXPECT_EQ(read_log(folder, "results.jsonl").size(), 5U);
    }
  }
}

// Refused as a model, whatever the rows: nothing is written but what a run begins with.
void expect_unusable(const JobFolder& folder, const std::string& message) {
  folder.write("requests.jsonl", some_requests(3));
  for (const Words& more : {Words{}, Words{"--dry-run"}, Words{"--strict"}}) {
    const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl", more));
    EXPECT_EQ(ended.code, 3) << ended;
    EXPECT_THAT(ended.errors, HasSubstr("windrow: " + message));
    EXPECT_FALSE(folder.has("results.jsonl"));
    EXPECT_FALSE(folder.has("results.summary.json"));
  }
}

TEST(Models, ATruncatedFileIsRefusedWithTheReason) {
  JobFolder whole;
  whole.use_model(model_path("qwen3"));
  const std::string bytes = whole.read("model.gguf");
  for (const size_t kept : {size_t{40}, bytes.size() / 3, bytes.size() - 1}) {
    SCOPED_TRACE(kept);
    JobFolder folder;
    folder.write("model.gguf", bytes.substr(0, kept));
    expect_unusable(folder, "model.gguf: libllama cannot load this model: ");
  }
}

TEST(Models, AnEncoderIsRefusedAsOne) {
  JobFolder folder;
  folder.use_model(model_path("bert"));
  expect_unusable(folder,
                  "model.gguf: bert is an encoder (an embedding model): it cannot generate text");
}

TEST(Models, OneOfAnUnknownTemplateStillCompletes) {
  JobFolder folder;
  folder.use_model(inst_model_path());
  folder.write("requests.jsonl", completion_line("a", "[INST] the [/INST]", {{"max_tokens", 2}}));
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(read_log(folder, "results.jsonl").size(), 1U);
}

TEST(Models, OneOfAnUnknownTemplateRefusesChatsByName) {
  JobFolder folder;
  folder.use_model(inst_model_path());
  folder.write("requests.jsonl", chat_line("a", "the", {{"max_tokens", 2}}));
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors,
              HasSubstr("the model's chat template (Mistral or Llama 2) is not supported by this "
                        "version, which knows plain ChatML; send prompts that are already "
                        "formatted to /v1/completions"));
  EXPECT_TRUE(read_log(folder, "results.jsonl").empty());
  EXPECT_TRUE(read_log(folder, "results.errors.jsonl").empty());
}

}  // namespace
}  // namespace windrow::end_to_end
