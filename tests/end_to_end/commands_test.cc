// The commands besides `run`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Commands, VersionNamesBothVersions) {
  JobFolder folder;
  for (const char* word : {"--version", "-V", "version"}) {
    const Ended ended = folder.windrow({word});
    EXPECT_EQ(ended.code, 0) << ended;
    EXPECT_THAT(ended.output, StartsWith("windrow " WINDROW_VERSION));
    EXPECT_THAT(ended.output, HasSubstr("libllama"));
    EXPECT_EQ(ended.errors, "");
  }
}

TEST(Commands, HelpGoesToStandardOutput) {
  JobFolder folder;
  const Words helps[] = {{"--help"},       {"-h"},
                         {"help"},         {"run", "--help"},
                         {"run", "-h"},    {"inspect", "--help"},
                         {"config", "-h"}, {"config", "show", "--help"},
                         {"retry", "-h"},  {"status", "--help"}};
  for (const Words& words : helps) {
    const Ended ended = folder.windrow(words);
    EXPECT_EQ(ended.code, 0) << ended;
    EXPECT_THAT(ended.output, HasSubstr("windrow "));
    EXPECT_EQ(ended.errors, "");
  }
}

TEST(Commands, InspectSaysWhatAModelIs) {
  JobFolder folder;
  folder.use_model(model_path("qwen3", "q8_0"));
  const Ended ended = folder.windrow({"inspect", "model.gguf"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.errors, "");
  EXPECT_THAT(ended.output, HasSubstr("model.gguf"));
  EXPECT_THAT(ended.output, HasSubstr("4,096 tokens"));
  EXPECT_THAT(ended.output, HasSubstr("/v1/chat/completions  yes\n"));
  EXPECT_THAT(ended.output, HasSubstr("CPU"));
}

TEST(Commands, TokenizeAndBack) {
  JobFolder folder;
  folder.use_model(model_path("qwen3", "q8_0"));
  folder.write("text.txt", "the house,\nZo\xC3\xAB");
  const Ended ids = folder.windrow({"tokenize", "--model", "model.gguf", "text.txt"});
  EXPECT_EQ(ids.code, 0) << ids;
  EXPECT_EQ(ids.errors, "");
  folder.write("ids.txt", ids.output);
  const Ended text = folder.windrow({"tokenize", "--model", "model.gguf", "--decode", "ids.txt"});
  EXPECT_EQ(text.output, "the house,\nZo\xC3\xAB") << text;
  folder.write("chat.json", R"([{"role":"user","content":"hi"}])");
  const Ended chat =
      folder.windrow({"tokenize", "--model", "sim:", "--messages", "--json", "chat.json"});
  EXPECT_EQ(chat.code, 0) << chat;
  EXPECT_GT(json::parse(chat.output).at("count").as_int64(), 5);
  const Ended wrong = folder.windrow({"tokenize", "--model", "model.gguf", "--decode", "text.txt"});
  EXPECT_EQ(wrong.code, 2) << wrong;
  EXPECT_THAT(wrong.errors, HasSubstr("is not a token id of this model"));
}

TEST(Commands, InspectAsJson) {
  JobFolder folder;
  struct Expected {
    const char* family;
    const char* architecture;
    bool hybrid;
    bool encoder;
    int window;
    const char* sharing;
  };
  const Expected all[] = {{"llama", "llama", false, false, 0, "any range"},
                          {"qwen3", "qwen3", false, false, 0, "any range"},
                          {"moe", "qwen3moe", false, false, 0, "any range"},
                          {"hybrid", "lfm2", true, false, 0, "exact end only"},
                          {"swa", "olmo2", false, false, 32, "exact end only"},
                          {"bert", "bert", false, true, 0, "nothing"}};
  for (const Expected& expected : all) {
    const Ended ended = folder.windrow({"inspect", "--json", model_path(expected.family)});
    ASSERT_EQ(ended.code, 0) << ended;
    EXPECT_EQ(ended.errors, "");
    const json::object facts = json::parse(ended.output).as_object();
    EXPECT_EQ(facts.at("architecture").as_string(), expected.architecture);
    EXPECT_EQ(facts.at("hybrid").as_bool(), expected.hybrid);
    EXPECT_EQ(facts.at("encoder_only").as_bool(), expected.encoder);
    EXPECT_EQ(facts.at("sliding_window").as_int64(), expected.window);
    EXPECT_EQ(facts.at("sharing").as_string(), expected.sharing);
    EXPECT_EQ(facts.at("chat_supported").as_bool(), !expected.encoder);
    EXPECT_EQ(facts.at("vocabulary_size").as_int64(), 512);
    EXPECT_EQ(facts.at("context_trained").as_int64(), expected.encoder ? 512 : 4096);
    EXPECT_FALSE(facts.at("devices").as_array().empty());
  }
}

TEST(Commands, InspectRefusesWhatIsNoModel) {
  JobFolder folder;
  folder.write("notes.gguf", "my notes\n");
  const Ended none = folder.windrow({"inspect", "none.gguf"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.errors, "windrow: none.gguf: there is no such model file\n");
  const Ended notes = folder.windrow({"inspect", "notes.gguf"});
  EXPECT_EQ(notes.code, 2);
  EXPECT_EQ(notes.errors,
            "windrow: notes.gguf: this is not a GGUF file (it does not start with \"GGUF\"); other "
            "formats must be converted first\n");
}

TEST(Commands, ConfigShowSaysWhereEachValueComesFrom) {
  JobFolder folder;
  std::filesystem::create_directories(folder.path("config/windrow"));
  folder.write("config/windrow/config.toml", "rows-max = 3\nkv-type = \"q8_0\"\nctx = 100\n");
  folder.write("windrow.toml", "ctx = 200\n\n[set]\ntemperature = 0.5\n");
  Command command = folder.command({"config", "show", "--json", "--step-ms", "77"});
  command.variables["XDG_CONFIG_HOME"] = folder.path("config");
  command.variables["WINDROW_KV_TYPE"] = "f32";
  const Ended ended = run(command);
  ASSERT_EQ(ended.code, 0) << ended;
  const json::object shown = json::parse(ended.output).as_object();
  const auto of = [&](std::string_view name, std::string_view what) {
    return member(shown.at(name).as_object(), what);
  };
  EXPECT_EQ(of("step-ms", "value"), "77");
  EXPECT_EQ(of("step-ms", "source"), "\"flag --step-ms\"");
  EXPECT_EQ(of("kv-type", "value"), "\"f32\"");
  EXPECT_EQ(of("kv-type", "source"), "\"WINDROW_KV_TYPE\"");
  EXPECT_EQ(of("ctx", "value"), "200");
  EXPECT_EQ(of("ctx", "source"), "\"windrow.toml:1\"");
  EXPECT_EQ(of("rows-max", "value"), "3");
  EXPECT_THAT(of("rows-max", "source"), HasSubstr("config/windrow/config.toml:1"));
  EXPECT_EQ(of("batch-tokens", "source"), "\"default\"");

  command.words = folder.command({"config", "show", "--step-ms", "77"}).words;
  const Ended text = run(command);
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_EQ(text.errors, "");
  EXPECT_THAT(text.output, HasSubstr("flag --step-ms"));
  EXPECT_THAT(text.output, HasSubstr("windrow.toml:1"));
  EXPECT_THAT(text.output, HasSubstr("set.temperature"));
}

TEST(Commands, ANamedFileOfSettingsIsTheOnlyOneAndChangesAreShown) {
  JobFolder folder;
  folder.write("windrow.toml", "ctx = 200\n");
  folder.write("night.toml", "rows-max = 7\nmax-failures = 20\nkv-type = \"f16\"\n");
  Command command = folder.command({"config", "show", "--changed", "--config", "night.toml"});
  command.variables.erase("WINDROW_THREADS");
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.output,
            "max-failures  \"20\"          night.toml:2\n"
            "rows-max      7             night.toml:1\n"
            "config        \"night.toml\"  flag --config\n");
  const Ended missing = folder.windrow({"config", "show", "--config", "day.toml"});
  EXPECT_EQ(missing.code, 2) << missing;
  EXPECT_THAT(missing.errors, HasSubstr("--config day.toml: there is no such file"));
  std::filesystem::remove(folder.path("windrow.toml"));
  command.words = folder.command({"config", "show", "--changed"}).words;
  const Ended usual = run(command);
  EXPECT_EQ(usual.output, "");
  EXPECT_EQ(usual.errors, "windrow: every setting has its default value\n");
}

}  // namespace
}  // namespace windrow::end_to_end
