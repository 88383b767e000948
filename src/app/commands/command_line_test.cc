#include "app/commands/command_line.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/commands/command_flags.h"

namespace windrow::app {
namespace {

// Words are separated by blanks.
Result<Command> parse(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return parse_command_line(words);
}

std::string message_of(const std::string& line) {
  const Result<Command> command = parse(line);
  return command ? "accepted" : command.error().message;
}

std::vector<std::string> flags_of(const std::string& line) {
  const Result<Command> command = parse(line);
  if (!command) return {command.error().message};
  const auto* run = std::get_if<RunCommand>(&*command);
  if (run == nullptr) return {"not a run"};
  std::vector<std::string> flags;
  for (const GivenFlag& flag : run->flags) {
    flags.push_back(std::string(flag.row->name) + "=" + flag.text);
  }
  return flags;
}

TEST(CommandLine, RunTakesAnInputAnOutputAndFlags) {
  const Result<Command> command = parse("run in.jsonl -o out.jsonl --model m.gguf");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const auto& run = std::get<RunCommand>(*command);
  EXPECT_EQ(run.input, "in.jsonl");
  EXPECT_EQ(run.output, "out.jsonl");
  EXPECT_EQ(flags_of("run in.jsonl -o out.jsonl --model m.gguf"),
            std::vector<std::string>{"model=m.gguf"});
}

TEST(CommandLine, RetryTakesTheErrorsAndTheFlagsOfRun) {
  const Result<Command> command =
      parse("retry r.errors.jsonl --only 429,engine_error --input in.jsonl --model m.gguf --json");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const auto& retry = std::get<RetryCommand>(*command);
  EXPECT_EQ(retry.errors, "r.errors.jsonl");
  EXPECT_EQ(retry.only, "429,engine_error");
  EXPECT_EQ(retry.input, "in.jsonl");
  EXPECT_EQ(retry.flags.size(), 2U);
  EXPECT_EQ(message_of("retry"), "no job was named; write windrow retry RESULTS.errors.jsonl");
  for (const char* flag : {"--fresh", "--retry-failed", "--dry-run"}) {
    EXPECT_TRUE(message_of(std::string("retry e ") + flag).starts_with(flag)) << flag;
  }
}

TEST(CommandLine, StatusTakesAJob) {
  const Result<Command> command = parse("status r.jsonl --prices p.toml --no-histogram");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const auto& status = std::get<StatusCommand>(*command);
  EXPECT_EQ(status.job, "r.jsonl");
  EXPECT_EQ(status.prices, "p.toml");
  EXPECT_EQ(status.histogram, std::optional(false));
  EXPECT_FALSE(status.json);
  EXPECT_EQ(std::get<StatusCommand>(*parse("status r")).histogram, std::nullopt);
  EXPECT_EQ(message_of("status"), "no job was named; write windrow status RESULTS.jsonl");
  EXPECT_EQ(message_of("status r --histogram --no-histogram"),
            "--histogram and --no-histogram exclude each other");
}

TEST(CommandLine, SessionsAreListedShownAndExported) {
  const auto sessions = [](const std::string& line) {
    return std::get<SessionsCommand>(*parse("sessions " + line));
  };
  EXPECT_EQ(sessions("list").url, "http://127.0.0.1:8080");
  EXPECT_TRUE(sessions("list --json --url http://gpu:9 --api-key-env KEY").json);
  EXPECT_EQ(sessions("list --api-key-env KEY").api_key_env, "KEY");
  EXPECT_EQ(sessions("show 0a").verb, SessionsVerb::kShow);
  EXPECT_EQ(sessions("show 0a").id, "0a");
  const SessionsCommand samples = sessions("export 0a -o s.safetensors --max-seq-len 4096");
  EXPECT_EQ(samples.verb, SessionsVerb::kExport);
  EXPECT_EQ(samples.output, "s.safetensors");
  EXPECT_EQ(samples.max_seq_len, 4096);
  EXPECT_TRUE(sessions("export 0a -o r.json --records").records);
}

TEST(CommandLine, SessionsSayWhatIsMissingOrTooMuch) {
  EXPECT_EQ(message_of("sessions"),
            "windrow sessions needs a word after it: list, show ID, or export ID -o FILE");
  EXPECT_EQ(message_of("sessions lst"),
            "\"lst\" is not a subcommand of windrow sessions; did you mean list?");
  EXPECT_EQ(message_of("sessions delete"),
            "\"delete\" is not a subcommand of windrow sessions; there are list, show and export");
  EXPECT_EQ(message_of("sessions show"),
            "no session was named; write windrow sessions show ID (windrow sessions list has the "
            "ids)");
  EXPECT_EQ(message_of("sessions export -o f"),
            "no session was named; write windrow sessions export ID -o FILE (windrow sessions list "
            "has the ids)");
  EXPECT_EQ(message_of("sessions export 0a"), "no file was named; add -o samples.safetensors");
  EXPECT_EQ(message_of("sessions show ../x"),
            "\"../x\" is not the id of a session; windrow sessions list has the ids");
  EXPECT_EQ(message_of("sessions export 0a -o f --json"),
            "export writes a file and takes no --json; --records writes JSON");
  EXPECT_EQ(message_of("sessions export 0a -o f --records --max-seq-len 3"),
            "--max-seq-len and --records exclude each other");
  EXPECT_EQ(message_of("sessions list -o f"),
            "-o, --records and --max-seq-len are for windrow sessions export; list prints to "
            "standard output");
  EXPECT_EQ(message_of("sessions list 0a"),
            "\"0a\" is an argument too many; `windrow sessions list --help` shows the usage");
  EXPECT_TRUE(message_of("sessions export 0a -o f --max-seq-len 0")
                  .starts_with("--max-seq-len: \"0\" is not a whole number from 1 to "));
}

TEST(CommandLine, FlagsMayStandAnywhereAndInEveryForm) {
  EXPECT_EQ(flags_of("run --model a=a.gguf in --model=b=b.gguf --output=out"),
            (std::vector<std::string>{"model=a=a.gguf", "model=b=b.gguf"}));
  EXPECT_EQ(flags_of("run -oout --set temperature=0 in --set stop=[]"),
            (std::vector<std::string>{"set=temperature=0", "set=stop=[]"}));
  EXPECT_EQ(flags_of("run - -o out --gpu-layers -1 --ctx 1 --ctx 2"),
            (std::vector<std::string>{"ctx=2", "gpu-layers=-1"}));
  EXPECT_EQ(flags_of("run in -o out --ordered --no-summary --no-strict"),
            (std::vector<std::string>{"strict=false", "ordered=true", "summary=false"}));
  EXPECT_EQ(flags_of("run in -o out --ordered --no-ordered"),
            std::vector<std::string>{"ordered=false"});
  EXPECT_EQ(flags_of("run in -o out --no-color"), std::vector<std::string>{"color=never"});
}

TEST(CommandLine, StandardInputIsADash) {
  const Result<Command> command = parse("run - -o out");
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(std::get<RunCommand>(*command).input, "-");
}

TEST(CommandLine, OtherCommands) {
  EXPECT_TRUE(std::get<InspectCommand>(*parse("inspect m.gguf --json")).json);
  EXPECT_EQ(std::get<InspectCommand>(*parse("inspect m.gguf")).model, "m.gguf");
  EXPECT_EQ(std::get<TokenizeCommand>(*parse("tokenize --model m.gguf a.txt")).input, "a.txt");
  EXPECT_TRUE(std::get<TokenizeCommand>(*parse("tokenize --model m.gguf --decode -")).decode);
  EXPECT_TRUE(std::get<ConfigShowCommand>(*parse("config show --json --ctx 4")).json);
  EXPECT_EQ(std::get<ConfigShowCommand>(*parse("config show --ctx 4")).flags.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<ConfigFlagsCommand>(*parse("config flags")));
  EXPECT_TRUE(std::holds_alternative<VersionCommand>(*parse("--version")));
  EXPECT_EQ(std::get<HelpCommand>(*parse("--help")).text, help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("run --help")).text, run_help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("run -h --rows-max 4")).text, run_help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("inspect --help")).text, inspect_help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("tokenize --help")).text, tokenize_help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("config --help")).text, config_help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("sim-upstream --help")).text, sim_upstream_help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("rpc-worker --help")).text, rpc_worker_help_text);
  EXPECT_EQ(std::get<HelpCommand>(*parse("config show --help")).text, config_help_text);
}

TEST(CommandLine, MistakesAreExplained) {
  EXPECT_EQ(message_of(""), "no command was given; windrow --help lists them");
  EXPECT_EQ(message_of("rum"), "rum is not a command; did you mean run?");
  EXPECT_EQ(message_of("--verison"), "--verison is not a command; did you mean --version?");
  EXPECT_EQ(message_of("kyes"), "kyes is not a command; did you mean keys?");
  EXPECT_EQ(message_of("download"), "download is not a command; windrow --help lists them");
  EXPECT_EQ(message_of("run"),
            "no input was named; write windrow run INPUT.jsonl -o OUTPUT.jsonl, or - for standard "
            "input");
  EXPECT_EQ(message_of("run in"), "no output was named; add -o results.jsonl");
  EXPECT_EQ(message_of("run in -o out --rows-mx 4"),
            "--rows-mx is not a flag of windrow run; did you mean --rows-max?");
  EXPECT_EQ(message_of("run --rows_max=4 in -o out"),
            "--rows_max is not a flag of windrow run; did you mean --rows-max?");
  EXPECT_EQ(message_of("run in -o out --retry-faild"),
            "--retry-faild is not a flag of windrow run; did you mean --retry-failed?");
  EXPECT_EQ(message_of("serve --model x --port 80"),
            "--port is not a flag of windrow serve; write --listen HOST:PORT, as in --listen "
            "127.0.0.1:8080");
  // `run` has no --listen, so it is not what was meant.
  EXPECT_EQ(message_of("run in -o out --port 5").find("--listen"), std::string::npos);
  EXPECT_EQ(message_of("run in -o out --api-key x").find("write --api-keys"), std::string::npos);
  EXPECT_EQ(message_of("serve -i requests.jsonl"),
            "-i is not a flag of windrow serve; `windrow serve --help` lists them");
  EXPECT_EQ(message_of("run in -o out -ngl 4"),
            "-ngl is not a flag of windrow run; write --gpu-layers N");
  EXPECT_EQ(message_of("run in -o out --frobnicate"),
            "--frobnicate is not a flag of windrow run; `windrow run --help` lists them");
  EXPECT_EQ(message_of("run in -o out -x"),
            "-x is not a flag of windrow run; `windrow run --help` lists them");
  EXPECT_EQ(message_of("run in more -o out"),
            "\"more\" is an argument too many; `windrow run --help` shows the usage");
  EXPECT_EQ(message_of("run in -o"), "--output needs a value after it");
  EXPECT_EQ(message_of("run in -o out --ctx"), "--ctx needs a value after it");
  EXPECT_EQ(message_of("inspect"), "no model was named; write windrow inspect MODEL.gguf");
  EXPECT_EQ(message_of("tokenize a.txt"),
            "no model was named; write windrow tokenize --model MODEL.gguf FILE");
  EXPECT_EQ(message_of("tokenize --model m.gguf --decode --json"),
            "--decode prints a text and takes no other flag than --model");
  EXPECT_EQ(message_of("tokenize --model m.gguf --count --json"),
            "--count and --json exclude each other");
  EXPECT_EQ(message_of("config"),
            "windrow config needs a word after it; did you mean windrow config show?");
  EXPECT_EQ(message_of("config shwo"),
            "shwo is not something windrow config does; did you mean windrow config show?");
}

TEST(CommandLine, ServeTakesItsSettingsAndThoseItSharesWithRun) {
  const Result<Command> command = parse("serve --model sim: --listen [::1]:0 --rows-max 4");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  EXPECT_EQ(std::get<ServeCommand>(*command).flags.size(), 3U);
  EXPECT_EQ(std::get<HelpCommand>(*parse("serve --help")).text, serve_help_text);
  EXPECT_EQ(message_of("serve --model sim: --limit 3"),
            "--limit is a flag of windrow run and means nothing to windrow serve; leave it out "
            "(`windrow serve --help` lists what there is)");
  EXPECT_EQ(message_of("run in -o out --listen [::1]:0"),
            "--listen is a flag of windrow serve and means nothing to windrow run; leave it out "
            "(`windrow run --help` lists what there is)");
  EXPECT_EQ(message_of("serve --no-strict"),
            "--no-strict is a flag of windrow run and means nothing to windrow serve; leave it out "
            "(`windrow serve --help` lists what there is)");
  EXPECT_EQ(message_of("serve --lisen x"),
            "--lisen is not a flag of windrow serve; did you mean --listen?");
  EXPECT_EQ(message_of("serve requests.jsonl"),
            "\"requests.jsonl\" is an argument too many; `windrow serve --help` shows the usage");
}

TEST(CommandLine, ADryRunNeedsNoOutput) {
  const auto dry = parse("run in.jsonl --dry-run --model x");
  ASSERT_TRUE(dry.has_value()) << dry.error().message;
  EXPECT_EQ(std::get<RunCommand>(*dry).output, "");
  EXPECT_EQ(message_of("run in.jsonl --no-dry-run --model x"),
            "no output was named; add -o results.jsonl");
}

TEST(CommandLine, ResultsThatArePrintedHaveStandardOutputForThemselves) {
  EXPECT_EQ(message_of("run in --no-resume -o - --model x --no-json"), "accepted");
  for (const std::string printed : {"--preview 2", "--no-resume -o -"}) {
    EXPECT_THAT(message_of("run in --model x --json " + printed), ::testing::HasSubstr("mix"));
    EXPECT_THAT(message_of("run in --model x --report r.html " + printed),
                ::testing::HasSubstr("--report is about a job that is kept"));
  }
}

TEST(CommandLine, AProgramRunsForRowsOrOnce) {
  const auto rows = parse("exec sort.lua --input in.jsonl -o out.jsonl --model x --trace t.json");
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  const auto& command = std::get<ExecCommand>(*rows);
  EXPECT_EQ(command.program, "sort.lua");
  EXPECT_EQ(command.input, "in.jsonl");
  EXPECT_EQ(command.output, "out.jsonl");
  EXPECT_EQ(command.trace, "t.json");
  EXPECT_EQ(command.flags.size(), 1U);
  EXPECT_EQ(std::get<ExecCommand>(*parse("exec sort.lua --arg [1,2] --quiet")).argument, "[1,2]");

  EXPECT_THAT(message_of("exec"), ::testing::HasSubstr("no program was named"));
  EXPECT_EQ(message_of("exec sort.lua --input in.jsonl"),
            "no output was named; add -o results.jsonl");
  EXPECT_THAT(message_of("exec sort.lua -o out.jsonl"), ::testing::HasSubstr("rows of --input"));
  EXPECT_EQ(message_of("exec sort.lua --input in.jsonl -o out.jsonl --arg 1"),
            "--input and --arg exclude each other");
  for (const std::string flag : {"--fresh", "--limit 3", "--ordered", "--report r.html"}) {
    EXPECT_THAT(message_of("exec sort.lua " + flag), ::testing::HasSubstr("rows of --input"))
        << flag;
  }
}

TEST(CommandLine, ProgramsAndRequestsTakeDifferentFlags) {
  EXPECT_THAT(message_of("exec sort.lua --input in.jsonl -o out.jsonl --dry-run"),
              ::testing::HasSubstr("--dry-run is a flag of windrow run"));
  EXPECT_THAT(message_of("exec sort.lua --input in.jsonl -o out.jsonl --set temperature=0"),
              ::testing::HasSubstr("--set is a flag of windrow run"));
  EXPECT_THAT(message_of("run in.jsonl -o out.jsonl --program-tokens 5"),
              ::testing::HasSubstr("--program-tokens is a flag of windrow exec"));
  EXPECT_THAT(message_of("exec sort.lua --listen 8080"),
              ::testing::HasSubstr("--listen is a flag of windrow serve"));
}

TEST(CommandLine, TwoResultsAreCompared) {
  const auto command = parse("compare a.jsonl b.jsonl --key k.jsonl --examples 2 --json");
  ASSERT_TRUE(command.has_value()) << command.error().message;
  const auto& compare = std::get<CompareCommand>(*command);
  EXPECT_EQ(compare.first, "a.jsonl");
  EXPECT_EQ(compare.second, "b.jsonl");
  EXPECT_EQ(compare.key, "k.jsonl");
  EXPECT_EQ(compare.examples, 2U);
  EXPECT_TRUE(compare.json);
  EXPECT_EQ(message_of("compare a.jsonl"),
            "two results are needed: windrow compare a.jsonl b.jsonl");
}

TEST(CommandLine, KeysAreAddedAndListed) {
  const auto add = parse("keys add keys.txt alice --rpm 600 --priority batch --admin");
  ASSERT_TRUE(add.has_value()) << add.error().message;
  const auto& command = std::get<KeysAddCommand>(*add);
  EXPECT_EQ(command.file, "keys.txt");
  EXPECT_EQ(command.name, "alice");
  EXPECT_EQ(command.limits, "rpm=600 priority=batch admin");
  EXPECT_FALSE(command.json);
  EXPECT_TRUE(std::get<KeysAddCommand>(*parse("keys add keys.txt bob --json")).json);
  EXPECT_EQ(std::get<KeysListCommand>(*parse("keys list keys.txt")).file, "keys.txt");
  EXPECT_EQ(message_of("keys add keys.txt"),
            "a file and a name are needed: windrow keys add keys.txt NAME");
  EXPECT_EQ(message_of("keys add keys.txt bob --rpm 1 --rpm 2 --admin --tpm 3"), "accepted");
  EXPECT_EQ(
      std::get<KeysAddCommand>(*parse("keys add k bob --rpm 1 --rpm 2 --admin --tpm 3")).limits,
      "rpm=2 tpm=3 admin");
  EXPECT_EQ(message_of("keys remove"),
            "\"remove\" is not a subcommand of windrow keys; there are add and list");
  EXPECT_EQ(message_of("keys lst"),
            "\"lst\" is not a subcommand of windrow keys; did you mean list?");
}

TEST(CommandLine, HelpNamesEverySettingAndFitsATerminal) {
  for (const SettingsOf of : {SettingsOf::kRun, SettingsOf::kServe, SettingsOf::kExec}) {
    const std::string text = of == SettingsOf::kRun     ? run_help_text()
                             : of == SettingsOf::kServe ? serve_help_text()
                                                        : exec_help_text();
    for (const SettingRow& row : setting_rows()) {
      const bool named = text.find(fmt::format("  --{} ", row.name)) != std::string::npos ||
                         text.find(fmt::format("  --{}\n", row.name)) != std::string::npos ||
                         text.find(fmt::format("  --no-{} ", row.name)) != std::string::npos;
      EXPECT_EQ(named, takes(of, row)) << row.name;
    }
  }
  std::istringstream stream(
      run_help_text() + exec_help_text() + serve_help_text() + keys_help_text() + help_text() +
      inspect_help_text() + tokenize_help_text() + config_help_text() + sim_upstream_help_text() +
      ps_help_text() + chat_help_text() + memory_help_text() + sessions_help_text() +
      retry_help_text() + rpc_worker_help_text() + export_help_text() + compare_help_text() +
      doctor_help_text() + status_help_text() + probe_help_text());
  for (std::string line; std::getline(stream, line);) {
    // Commands are not wrapped.
    EXPECT_LE(line.size(), line.find("windrow ") != std::string::npos ? 100U : kHelpWidth) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(CommandLine, HelpBeginsWithExamplesAndTheFlagsThatMostUsersWant) {
  const std::string text = run_help_text();
  const auto at = [&](std::string_view part) { return text.find(part); };
  EXPECT_LT(at("\nExamples\n"), at("\nCommon flags\n"));
  EXPECT_LT(at("  -o, --output FILE"), at("  --model "));
  EXPECT_LT(at("  --model "), at("\nModel\n"));
  EXPECT_LT(at("  --upstream "), at("\nUpstream servers\n"));
  EXPECT_GT(at("  --kv-type "), at("\nModel\n"));
  EXPECT_EQ(text.find("  --model ", at("  --model ") + 1), std::string::npos) << "each flag once";
}

TEST(CommandLine, PsAndChatTakeAServer) {
  EXPECT_EQ(std::get<PsCommand>(*parse("ps")).url, "http://127.0.0.1:8080");
  EXPECT_TRUE(std::get<PsCommand>(*parse("ps --json --url http://gpu:9")).json);
  const Result<Command> chat =
      parse("chat --url http://gpu:9 --api-key-env K --model m --set seed=1");
  ASSERT_TRUE(chat.has_value()) << chat.error().message;
  EXPECT_EQ(std::get<ChatCommand>(*chat).url, "http://gpu:9");
  EXPECT_EQ(std::get<ChatCommand>(*chat).flags.size(), 2U);
  EXPECT_EQ(message_of("chat --api-key-env K"),
            "--api-key-env is for a server; add --url URL, or leave it out");
  EXPECT_TRUE(std::get<ConfigShowCommand>(*parse("config show --changed")).changed);
}

}  // namespace
}  // namespace windrow::app
