// Which model answers which row.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::ElementsAre;
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
  EXPECT_EQ(failures["\"nobody\""],
            R"(404 "there is no model \"three\"; the models are one, two")");
  EXPECT_EQ(failures["\"nameless\""], R"(400 "the body has no model; the models are one, two")");
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

TEST(Models, AnAbsurdHeaderIsRefusedByItsKeyAndEndsNoProcess) {
  JobFolder whole;
  whole.use_model(model_path("qwen3"));
  const std::string bytes = whole.read("model.gguf");
  JobFolder folder;
  folder.write("requests.jsonl", chat_line("a", "hello"));
  for (const uint32_t layers : {uint32_t{0}, uint32_t{123457}, uint32_t{1} << 31}) {
    SCOPED_TRACE(layers);
    folder.write("model.gguf", with_header_value(bytes, "qwen3.block_count", layers));
    for (const Words& words :
         {Words{"inspect", "model.gguf"}, exact_run("requests.jsonl", "results.jsonl"),
          Words{"serve", "--listen", "127.0.0.1:0", "--model", "model.gguf"}}) {
      const Ended ended = folder.windrow(words);
      EXPECT_EQ(ended.code, 2) << ended;
      EXPECT_THAT(ended.errors,
                  HasSubstr(fmt::format("windrow: model.gguf: the header says qwen3.block_count = "
                                        "{}, and libllama takes 1 to 512 layers",
                                        layers)));
      EXPECT_THAT(ended.errors, HasSubstr("get it again, or convert it again"));
    }
    EXPECT_FALSE(folder.has("results.jsonl"));
  }
}

// One row for the wrong endpoint costs one row.
TEST(Models, AnEncoderEmbedsAndRefusesTheRowsItCannotAnswer) {
  JobFolder folder;
  folder.use_model(model_path("bert"));
  folder.write("requests.jsonl", chat_line("chat", "the") + embedding_line("embedding", "the"));
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(custom_ids(read_log(folder, "results.jsonl")), ElementsAre("embedding"));
  const std::vector<LogLine> errors = read_log(folder, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(member(errors[0].json, "error.message"),
              HasSubstr("model.gguf is an encoder: it answers /v1/embeddings and /v1/rerank"));
}

TEST(Models, AChatTemplateOfItsOwnIsUsed) {
  JobFolder folder;
  folder.use_model(inst_model_path());
  folder.write("requests.jsonl", chat_line("chat", "the", {{"max_tokens", 5}, {"temperature", 0}}) +
                                     completion_line("same", "<|endoftext|>[INST] the [/INST]",
                                                     {{"max_tokens", 5}, {"temperature", 0}}));
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 0) << ended;
  std::map<std::string, std::string> said;
  std::map<std::string, std::string> usage;
  for (const LogLine& line : read_log(folder, "results.jsonl")) {
    const std::string id = member(line.json, "custom_id");
    const boost::json::object& choice =
        line.json.at("response").at("body").at("choices").at(0).as_object();
    said[id] = id == "\"chat\"" ? member(choice, "message.content") : member(choice, "text");
    usage[id] = member(line.json, "response.body.usage.prompt_tokens");
  }
  EXPECT_EQ(said["\"chat\""], said["\"same\""]);
  EXPECT_EQ(usage["\"chat\""], usage["\"same\""]);
}

TEST(Models, AnotherChatTemplateMayBeNamed) {
  JobFolder folder;
  folder.use_model(inst_model_path());
  folder.write("own.jinja", "{{ messages[0].content }}");
  folder.write("chat.jsonl", chat_line("a", "the house", {{"max_tokens", 5}}));
  folder.write("plain.jsonl", completion_line("a", "the house", {{"max_tokens", 5}}));
  EXPECT_EQ(
      folder.windrow(exact_run("chat.jsonl", "1.jsonl", {"--chat-template", "own.jinja"})).code, 0);
  EXPECT_EQ(folder.windrow(exact_run("plain.jsonl", "2.jsonl")).code, 0);
  EXPECT_EQ(member(read_log(folder, "1.jsonl").at(0).json, "response.body.usage"),
            member(read_log(folder, "2.jsonl").at(0).json, "response.body.usage"));

  // It is an option of the job, contents and all.
  folder.write("own.jinja", "{{ messages[0].content }}!");
  const Ended changed =
      folder.windrow(exact_run("chat.jsonl", "1.jsonl", {"--chat-template", "own.jinja"}));
  EXPECT_EQ(changed.code, 2) << changed;
  EXPECT_THAT(changed.errors, HasSubstr("model options"));

  folder.write("broken.jinja", "{% if %}");
  const Ended broken =
      folder.windrow(exact_run("chat.jsonl", "3.jsonl", {"--chat-template", "broken.jinja"}));
  EXPECT_EQ(broken.code, 2) << broken;
  EXPECT_THAT(broken.errors, HasSubstr("--chat-template broken.jinja: "));
  const Ended missing =
      folder.windrow(exact_run("chat.jsonl", "3.jsonl", {"--chat-template", "no.jinja"}));
  EXPECT_EQ(missing.code, 2) << missing;
  EXPECT_THAT(missing.errors, HasSubstr("--chat-template no.jinja: there is no such file"));
}

TEST(Models, AJobThatGoesOnAnotherDaySaysTheDayItBegan) {
  JobFolder folder;
  folder.use_model(model_path("qwen3"));
  // As many tokens as years since 2000.
  folder.write("dated.jinja",
               "{{ messages[0].content }}{{ ' a' * (strftime_now('%Y') | int - 2000) }}");
  folder.write("chat.jsonl", chat_line("a", "the house", {{"max_tokens", 1}}) +
                                 chat_line("b", "the house", {{"max_tokens", 1}}));
  const auto run = [&](const Words& more) {
    Words flags = {"--chat-template", "dated.jinja"};
    flags.insert(flags.end(), more.begin(), more.end());
    const Ended ended = folder.windrow(exact_run("chat.jsonl", "results.jsonl", flags));
    EXPECT_EQ(ended.code, 0) << ended;
  };
  run({"--limit", "1"});
  // The job began in September 2001.
  std::string record = folder.read("results.job.json");
  const size_t began = record.find("\"began_unix_s\": ");
  ASSERT_NE(began, std::string::npos) << record;
  record.replace(began, record.find(',', began) - began, "\"began_unix_s\": 1000000000");
  folder.write("results.job.json", record);
  run({});
  const std::vector<LogLine> lines = read_log(folder, "results.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  const auto prompt_tokens = [&](size_t line) {
    return std::stoi(member(lines[line].json, "response.body.usage.prompt_tokens"));
  };
  EXPECT_GE(prompt_tokens(0) - prompt_tokens(1), 24);
}

TEST(Models, AChatTemplateMayComeFromAPipe) {
  JobFolder folder;
  folder.use_model(inst_model_path());
  folder.write("chat.jsonl", chat_line("a", "the house", {{"max_tokens", 5}}));
  const auto run = [&](const std::string& text) {
    Command command =
        folder.command(exact_run("chat.jsonl", "1.jsonl", {"--chat-template", "/dev/stdin"}));
    command.input = text;
    return end_to_end::run(command);
  };
  const Ended first = run("{{ messages[0].content }}");
  EXPECT_EQ(first.code, 0) << first;
  EXPECT_EQ(run("{{ messages[0].content }}").code, 0) << "the same job";
  EXPECT_EQ(run("{{ messages[0].content }}!").code, 2) << "another one";
}

TEST(Models, AnAdapterThatIsNoneIsRefused) {
  JobFolder folder;
  folder.use_model(model_path("qwen3"));
  folder.write("requests.jsonl", some_requests(1));
  const Ended missing =
      folder.windrow(exact_run("requests.jsonl", "results.jsonl", {"--lora", "no.gguf"}));
  EXPECT_EQ(missing.code, 2) << missing;
  EXPECT_THAT(missing.errors, HasSubstr("--lora no.gguf: the file cannot be read"));
  const Ended model =
      folder.windrow(exact_run("requests.jsonl", "results.jsonl", {"--lora", "model.gguf=0.5"}));
  EXPECT_EQ(model.code, 2) << model;
  EXPECT_THAT(model.errors, HasSubstr("model.gguf: libllama cannot use it as a LoRA adapter"));
  EXPECT_FALSE(folder.has("results.jsonl"));
}

}  // namespace
}  // namespace windrow::end_to_end
