// An error in a command, a setting or a file is one line: what is wrong, where, and what to do.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

class Usage : public ::testing::Test {
 protected:
  Usage() {
    folder_.use_model(model_path("llama"));
    folder_.write("in.jsonl", some_requests(1));
    std::filesystem::create_directory(folder_.path("folder"));
  }

  // A refusal: exit code 2, one text, nothing on standard output, no file made.
  void expect_refused(const Words& words, const std::string& message) {
    expect_command_refused(folder_.command(words), message);
  }

  void expect_command_refused(const Command& command, const std::string& message) {
    const std::vector<std::string> before = folder_.names();
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 2) << ended;
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(ended.errors, "windrow: " + message + "\n");
    EXPECT_EQ(folder_.names(), before) << message;
  }

  static Words run_with(const Words& more) {
    Words words = {"run", "in.jsonl", "-o", "out.jsonl", "--model", "model.gguf"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  JobFolder folder_;
};

TEST_F(Usage, MistypedCommandsAndFlags) {
  expect_refused(Words{}, "no command was given; windrow --help lists them");
  expect_refused({"rnu"}, "rnu is not a command; did you mean run?");
  expect_refused({"run"},
                 "no input was named; write windrow run INPUT.jsonl -o OUTPUT.jsonl, or - for "
                 "standard input");
  expect_refused({"run", "in.jsonl"}, "no output was named; add -o results.jsonl");
  expect_refused(run_with({"--rows-mx", "4"}),
                 "--rows-mx is not a flag of windrow run; did you mean --rows-max?");
  expect_refused(run_with({"more.jsonl"}),
                 "\"more.jsonl\" is an argument too many; `windrow run --help` shows the usage");
  expect_refused(run_with({"--rows-max", "many"}),
                 "--rows-max takes a whole number from 1 to 256, not \"many\"");
  expect_refused(run_with({"--limit", "0"}),
                 "--limit takes a whole number from 1 up, not 0; leave it out for all rows");
  expect_refused(
      run_with({"--set", "temprature=0"}),
      "--set temprature: no request has a field of this name; did you mean temperature?");
  expect_refused(run_with({"--set", "temperature=9"}),
                 "--set temperature: temperature is 9; it must be from 0 to 2");
}

TEST_F(Usage, ADefaultIsForTheRowsWhoseEndpointHasTheField) {
  folder_.write("in.jsonl", chat_line("chat", "the", {{"max_tokens", 3}}) +
                                completion_line("completion", "the", {{"ignore_eos", true}}));
  const Ended ended = folder_.windrow(run_with(
      {"--set", "metadata={}", "--set", "echo=false", "--set", "max_tokens=2", "--quiet"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.errors, "");
  for (const LogLine& line : read_log(folder_, "out.jsonl")) {
    if (member(line.json, "custom_id") != "\"completion\"") continue;
    EXPECT_EQ(member(line.json, "response.body.usage.completion_tokens"), "2");
  }
  EXPECT_EQ(read_log(folder_, "out.jsonl").size(), 2U);
}

TEST_F(Usage, SettingsInFilesAndVariables) {
  Command command = folder_.command(run_with({}));
  command.variables["WINDROW_KV_TYPE"] = "f64";
  expect_command_refused(
      command,
      "WINDROW_KV_TYPE takes one of f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, not "
      "\"f64\"");
  folder_.write("windrow.toml", "# mine\nrows_max = 4\n");
  expect_refused(run_with({}), "windrow.toml:2: rows_max is not a setting; did you mean rows-max?");
  folder_.write("windrow.toml", "rows-max = \"4\"\n");
  expect_refused(run_with({}),
                 "windrow.toml:1: rows-max takes a whole number from 1 to 256, not \"4\"");
  expect_refused({"config", "show"},
                 "windrow.toml:1: rows-max takes a whole number from 1 to 256, not \"4\"");
}

TEST_F(Usage, ModelsThatCannotBe) {
  const Words job = {"run", "in.jsonl", "-o", "out.jsonl"};
  const auto with = [&](const Words& models) {
    Words words = job;
    for (const std::string& model : models)
      words.insert(words.end(), {"--model", model});
    return words;
  };
  expect_refused(job,
                 "no model was named; add --model PATH of a .gguf file, or --upstream URL "
                 "of a server");
  expect_refused(with({"none.gguf"}), "none.gguf: there is no such model file");
  expect_refused(with({"folder"}),
                 "folder: this is a folder without .gguf files; name a model's file");
  expect_refused(with({"in.jsonl"}),
                 "in.jsonl: this is not a GGUF file (it does not start with \"GGUF\"); other "
                 "formats must be converted first");
  expect_refused(with({"a=model.gguf", "a=model.gguf"}),
                 "--model names a twice; give each model a name of its own");
}

TEST_F(Usage, InputsAndOutputsThatCannotBe) {
  expect_refused({"run", "none.jsonl", "-o", "out.jsonl", "--model", "model.gguf"},
                 "cannot read the input none.jsonl: No such file or directory");
  expect_refused({"run", "folder", "-o", "out.jsonl", "--model", "model.gguf"},
                 "the input folder is a folder; give a file of requests");
  expect_refused({"run", "in.jsonl", "-o", "in.jsonl", "--model", "model.gguf"},
                 "in.jsonl is the input and would be written to; name another output");
  expect_refused({"run", "in.jsonl", "-o", "folder", "--model", "model.gguf"},
                 "the output folder is a folder; name a file in it");
  expect_refused({"run", "in.jsonl", "-o", "none/out.jsonl", "--model", "model.gguf"},
                 "the folder of the output none/out.jsonl does not exist; make it first");
  expect_refused(
      {"run", "in.jsonl", "-o", "in.jsonl/out.jsonl", "--model", "model.gguf"},
      "nothing can be written beside the output in.jsonl/out.jsonl: cannot lock "
      "in.jsonl/out.lock: Not a directory; name an output in a folder that you may write "
      "to");
  expect_refused(
      {"run", "in.jsonl", "-o", "-", "--model", "model.gguf"},
      "the output must be a file, as a job continues from what it finds there; name one "
      "with -o results.jsonl, or print the results and keep nothing with --no-resume -o -");
  expect_refused(run_with({"--report", "none/report.html"}),
                 "the folder of --report none/report.html does not exist; make it first");
}

TEST_F(Usage, OutputsThatKeepNothing) {
  const std::string advice =
      ", which keeps nothing; name a file, and delete it when it is not wanted";
  expect_refused({"run", "in.jsonl", "-o", "/dev/null", "--model", "model.gguf"},
                 "the output /dev/null is a device" + advice);
  EXPECT_FALSE(std::filesystem::exists("/dev/null.lock"));
  // The test reads the program's output through a pipe.
  expect_refused({"run", "in.jsonl", "-o", "/dev/stdout", "--model", "model.gguf"},
                 "the output /dev/stdout is a pipe" + advice);
  expect_refused(run_with({"--report", "/dev/null"}), "--report /dev/null is a device" + advice);
}

TEST_F(Usage, AnOutputFolderThatMayNotBeWrittenTo) {
  std::filesystem::permissions(folder_.path("folder"), std::filesystem::perms::owner_read |
                                                           std::filesystem::perms::owner_exec);
  Command command =
      folder_.command({"run", "in.jsonl", "-o", "folder/out.jsonl", "--model", "model.gguf"});
  command.obeys_permissions = true;
  expect_command_refused(command,
                         "nothing can be written beside the output folder/out.jsonl: cannot lock "
                         "folder/out.lock: Permission denied; name an output in a folder that you "
                         "may write to");
}

TEST_F(Usage, AVariableThatIsNearlyASettingIsMentioned) {
  Command command = folder_.command(run_with({"--quiet"}));
  command.variables["WINDROW_ROW_MAX"] = "4";
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.errors,
            "windrow: warning: the variable WINDROW_ROW_MAX is no setting and has no effect; "
            "WINDROW_ROWS_MAX is one\n");
}

}  // namespace
}  // namespace windrow::end_to_end
