#include "app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "app/help.h"
#include "base/suggest.h"

namespace windrow::app {
namespace {

// What people write who know llama-server, Ollama or vLLM, in our words; empty: nothing is known.
std::string_view flag_of_other_programs(std::string_view word) {
  struct OtherName {
    std::string_view word;
    std::string_view ours;
  };
  constexpr auto kOtherNames = std::to_array<OtherName>({
      {"--port", "--listen HOST:PORT, as in --listen 127.0.0.1:8080"},
      {"--host", "--listen HOST:PORT, as in --listen 0.0.0.0:8080"},
      {"-m", "--model FILE"},
      {"-c", "--ctx TOKENS"},
      {"--ctx-size", "--ctx TOKENS"},
      {"--max-model-len", "--ctx TOKENS"},
      {"-ngl", "--gpu-layers N"},
      {"--n-gpu-layers", "--gpu-layers N"},
      {"-t", "--threads N"},
      {"-np", "--rows-max N"},
      {"--parallel", "--rows-max N"},
      {"--max-num-seqs", "--rows-max N"},
      {"-b", "--batch-tokens TOKENS"},
      {"--max-num-batched-tokens", "--batch-tokens TOKENS"},
      {"-fa", "--flash-attn WHEN"},
      {"--api-key", "--api-keys FILE (windrow keys add makes it)"},
      {"--served-model-name", "--model NAME=FILE"},
      {"-i", "the input file as the first word"},
      {"--input-file", "the input file as the first word"},
      {"--output-file", "-o FILE"},
  });
  const auto* found = std::ranges::find(kOtherNames, word, &OtherName::word);
  return found == kOtherNames.end() ? std::string_view() : found->ours;
}

// The flags of one command: CLI11 splits the words, the rest is ours.
class FlagSet {
 public:
  FlagSet(CLI::App& app, std::string command) : app_(app), command_(std::move(command)) {
    app.set_help_flag();
    // What is not known is reported by us, with the nearest word.
    app.allow_extras();
    add_switch("-h,--help", help_);
  }

  void add_switch(const std::string& names, bool& target) {
    app_.add_flag(names, target)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    remember(names);
  }

  void add_text(const std::string& names, std::string& target) {
    app_.add_option(names, target)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    remember(names);
  }

  // One word each time it is given, so that it does not swallow what stands behind.
  void add_words(const std::string& names, std::vector<std::string>& target) {
    app_.add_option(names, target)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1)
        ->allow_extra_args(false);
    remember(names);
  }

  void add_positional(const std::string& name, std::string& target) {
    app_.add_option(name, target);
  }

  void add_setting(const SettingRow& row) {
    const std::string flag = fmt::format("--{}", row.name);
    std::string names = flag;
    if (is_flag(row)) names += fmt::format(",!--no-{}", row.name);
    CLI::Option* option = is_flag(row) ? app_.add_flag(names)
                                       : app_.add_option(names, CLI::callback_t(accept), "", false);
    option->multi_option_policy(is_list(row) ? CLI::MultiOptionPolicy::TakeAll
                                             : CLI::MultiOptionPolicy::TakeLast);
    // One word each time it is given, so that a list does not swallow the input's name.
    if (!is_flag(row)) option->expected(1)->allow_extra_args(false);
    settings_.emplace_back(&row, option);
    known_.push_back(flag);
    if (is_flag(row)) known_.push_back(fmt::format("--no-{}", row.name));
  }

  // Another word for one value of a setting.
  void add_no_color() { add_switch("--no-color", no_color_); }

  bool help() const { return help_; }

  // Every setting that was given, in the order of the table, and then the other words.
  std::vector<GivenFlag> given() const {
    std::vector<GivenFlag> flags;
    for (const auto& [row, option] : settings_) {
      const std::vector<std::string>& texts = option->results();
      if (texts.empty()) continue;
      const size_t first = is_list(*row) ? 0 : texts.size() - 1;
      for (size_t i = first; i < texts.size(); ++i) {
        const bool negated = is_flag(*row) && texts[i] == "false";
        flags.push_back(GivenFlag{.row = row,
                                  .written = fmt::format("--{}{}", negated ? "no-" : "", row->name),
                                  .text = texts[i]});
      }
    }
    if (no_color_) {
      flags.push_back(
          GivenFlag{.row = find_setting("color"), .written = "--no-color", .text = "never"});
    }
    return flags;
  }

  // Fails when a word is left that nothing took.
  Result<void> check_nothing_left() const {
    const std::vector<std::string> left = app_.remaining();
    const auto flag = std::ranges::find_if(
        left, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
    if (flag != left.end()) {
      const std::string word = flag->substr(0, flag->find('='));
      if (const std::string other = other_command_with(word); !other.empty()) {
        return Error{ErrorKind::kInvalid,
                     fmt::format("{} is a flag of windrow {} and means nothing to {}; leave it out "
                                 "(`{} --help` lists what there is)",
                                 word, other, command_, command_)};
      }
      if (const std::string_view ours = flag_of_other_programs(word); !ours.empty()) {
        return Error{ErrorKind::kInvalid,
                     fmt::format("{} is not a flag of {}; write {}", word, command_, ours)};
      }
      const std::vector<std::string_view> known(known_.begin(), known_.end());
      return Error{ErrorKind::kInvalid,
                   fmt::format("{} is not a flag of {}{}", word, command_,
                               did_you_mean(word, known,
                                            fmt::format("; `{} --help` lists them", command_)))};
    }
    if (!left.empty()) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("\"{}\" is an argument too many; `{} --help` shows the usage",
                               left.front(), command_)};
    }
    return {};
  }

 private:
  // "run" or "serve", where a setting of this name is the other one's.
  std::string other_command_with(std::string_view word) const {
    const bool run = command_ == "windrow run" || command_ == "windrow retry";
    if (!run && command_ != "windrow serve") return "";
    word.remove_prefix(std::min<size_t>(2, word.size()));
    const SettingRow* row = find_setting(word);
    if (row == nullptr && word.starts_with("no-")) row = find_setting(word.substr(3));
    if (row == nullptr || takes(run ? SettingsOf::kRun : SettingsOf::kServe, *row)) return "";
    return run ? "serve" : "run";
  }

  static bool accept(const std::vector<std::string>&) { return true; }

  void remember(const std::string& names) {
    for (const std::string& name : CLI::detail::split(names, ',')) {
      // One letter is near to every other: only words are worth suggesting.
      if (name.starts_with("--")) known_.push_back(name);
    }
  }

  CLI::App& app_;
  std::string command_;
  std::vector<std::pair<const SettingRow*, CLI::Option*>> settings_;
  std::vector<std::string> known_;
  bool help_ = false;
  bool no_color_ = false;
};

// CLI11 throws for what it cannot read; its texts begin with the name of the flag.
Result<void> parse(CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
    return {};
  } catch (const CLI::ArgumentMismatch& mismatch) {
    const std::string_view text = mismatch.what();
    const std::string_view flag = text.substr(0, text.find(':'));
    return Error{ErrorKind::kInvalid, fmt::format("{} needs a value after it", flag)};
  } catch (const CLI::ParseError& error) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}; windrow --help shows the form", error.what())};
  }
}

// The words of one command into what its flags are bound to. The help, if that was asked for:
// then nothing else counts.
Result<std::optional<HelpCommand>> read_words(CLI::App& app, const FlagSet& flags,
                                              std::span<const std::string> arguments,
                                              std::string (*help_text)()) {
  if (const Result<void> parsed = parse(app, arguments); !parsed) return parsed.error();
  if (flags.help()) return std::optional(HelpCommand{help_text()});
  if (const Result<void> known = flags.check_nothing_left(); !known) return known.error();
  return std::optional<HelpCommand>();
}

Result<Command> parse_run(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow run");
  RunCommand command;
  flags.add_positional("input", command.input);
  flags.add_text("-o,--output", command.output);
  for (const SettingRow& row : setting_rows()) {
    if (takes(SettingsOf::kRun, row)) flags.add_setting(row);
  }
  flags.add_no_color();

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, run_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  command.flags = flags.given();
  if (command.input.empty()) {
    return Error{ErrorKind::kInvalid,
                 "no input was named; write windrow run INPUT.jsonl -o OUTPUT.jsonl, or - for "
                 "standard input"};
  }
  const auto dry = std::ranges::find_if(
      command.flags, [](const GivenFlag& given) { return given.row->name == "dry-run"; });
  const bool writes = dry == command.flags.end() || dry->text == "false";
  if (command.output.empty() && writes) {
    return Error{ErrorKind::kInvalid, "no output was named; add -o results.jsonl"};
  }
  return Command(std::move(command));
}

// What makes no sense for rows that ran already.
bool is_of_retry(const SettingRow& row) {
  return takes(SettingsOf::kRun, row) && row.name != "fresh" && row.name != "retry-failed" &&
         row.name != "dry-run";
}

Result<Command> parse_retry(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow retry");
  RetryCommand command;
  flags.add_positional("errors", command.errors);
  flags.add_text("--input", command.input);
  flags.add_text("--only", command.only);
  for (const SettingRow& row : setting_rows()) {
    if (is_of_retry(row)) flags.add_setting(row);
  }
  flags.add_no_color();

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, retry_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  command.flags = flags.given();
  if (command.errors.empty()) {
    return Error{ErrorKind::kInvalid, "no job was named; write windrow retry RESULTS.errors.jsonl"};
  }
  return Command(std::move(command));
}

Result<Command> parse_serve(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow serve");
  ServeCommand command;
  for (const SettingRow& row : setting_rows()) {
    if (takes(SettingsOf::kServe, row)) flags.add_setting(row);
  }
  flags.add_no_color();

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, serve_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  command.flags = flags.given();
  return Command(std::move(command));
}

Result<Command> parse_status(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow status");
  StatusCommand command;
  bool histogram = false;
  bool no_histogram = false;
  flags.add_positional("job", command.job);
  flags.add_text("--prices", command.prices);
  flags.add_switch("--json", command.json);
  flags.add_switch("--histogram", histogram);
  flags.add_switch("--no-histogram", no_histogram);

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, status_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  if (command.job.empty()) {
    return Error{ErrorKind::kInvalid, "no job was named; write windrow status RESULTS.jsonl"};
  }
  if (histogram && no_histogram) {
    return Error{ErrorKind::kInvalid, "--histogram and --no-histogram exclude each other"};
  }
  if (histogram || no_histogram) command.histogram = histogram;
  return Command(std::move(command));
}

Result<Command> parse_inspect(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow inspect");
  InspectCommand command;
  flags.add_positional("model", command.model);
  flags.add_switch("--json", command.json);

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, inspect_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  if (command.model.empty()) {
    return Error{ErrorKind::kInvalid, "no model was named; write windrow inspect MODEL.gguf"};
  }
  return Command(std::move(command));
}

Result<Command> parse_config_show(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow config show");
  ConfigShowCommand command;
  flags.add_switch("--json", command.json);
  flags.add_no_color();
  for (const SettingRow& row : setting_rows()) {
    if (row.name != "json") flags.add_setting(row);
  }

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, config_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  command.flags = flags.given();
  return Command(std::move(command));
}

// A command whose flags are a table of their own, each row with a function that sets it.
template <class CommandOfTable, class Flag>
Result<Command> parse_table(std::span<const std::string> arguments, const std::string& name,
                            std::span<const Flag> table, std::string (*help_text)(),
                            Result<void> (*check)(const CommandOfTable&)) {
  CLI::App app;
  FlagSet flags(app, name);
  struct Given {
    std::vector<std::string> words;
    bool on = false;
  };
  std::vector<Given> given(table.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string flag = fmt::format("--{}", table[i].name);
    if (table[i].value_name.empty()) {
      flags.add_switch(flag, given[i].on);
    } else {
      flags.add_words(flag, given[i].words);
    }
  }

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  CommandOfTable command;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].on) given[i].words.emplace_back();
    for (const std::string& word : given[i].words) {
      if (const Result<void> set = table[i].set(word, command); !set)
        return set.error().in(fmt::format("--{}", table[i].name));
    }
  }
  if (const Result<void> together = check(command); !together) return together.error();
  return Command(std::move(command));
}

Result<Command> parse_sim_upstream(std::span<const std::string> arguments) {
  return parse_table(arguments, "windrow sim-upstream", sim_flags(), sim_upstream_help_text,
                     check_sim_upstream);
}

Result<Command> parse_probe(std::span<const std::string> arguments) {
  return parse_table(arguments, "windrow probe", probe_flags(), probe_help_text, check_probe);
}

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h";
}

Result<Command> parse_config(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    return Error{ErrorKind::kInvalid,
                 "windrow config needs a word after it; did you mean "
                 "windrow config show?"};
  }
  const std::string& word = arguments.front();
  if (word == "show") return parse_config_show(arguments.subspan(1));
  if (word == "flags") return Command(ConfigFlagsCommand{});
  if (asks_for_help(word)) return Command(HelpCommand{config_help_text()});
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is not something windrow config does; did you mean windrow config "
                           "show?",
                           word)};
}

// What a key may be limited to stands in the file as NAME=VALUE.
Result<Command> parse_keys_add(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow keys add");
  KeysAddCommand command;
  flags.add_positional("file", command.file);
  flags.add_positional("name", command.name);
  constexpr std::array<std::string_view, 5> kLimits = {"rpm", "tpm", "in-flight", "priority",
                                                       "weight"};
  std::array<std::string, kLimits.size()> limits;
  for (size_t i = 0; i < kLimits.size(); ++i)
    flags.add_text(fmt::format("--{}", kLimits[i]), limits[i]);
  bool admin = false;
  flags.add_switch("--admin", admin);
  flags.add_switch("--json", command.json);

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, keys_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  if (command.file.empty() || command.name.empty()) {
    return Error{ErrorKind::kInvalid,
                 "a file and a name are needed: windrow keys add keys.txt NAME"};
  }
  for (size_t i = 0; i < kLimits.size(); ++i) {
    if (limits[i].empty()) continue;
    command.limits +=
        fmt::format("{}{}={}", command.limits.empty() ? "" : " ", kLimits[i], limits[i]);
  }
  if (admin) command.limits += command.limits.empty() ? "admin" : " admin";
  return Command(std::move(command));
}

Result<Command> parse_keys_list(std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, "windrow keys list");
  KeysListCommand command;
  flags.add_positional("file", command.file);
  flags.add_switch("--json", command.json);

  Result<std::optional<HelpCommand>> help = read_words(app, flags, arguments, keys_help_text);
  if (!help) return help.error();
  if (*help) return Command(**std::move(help));
  if (command.file.empty()) {
    return Error{ErrorKind::kInvalid, "no file was named; write windrow keys list keys.txt"};
  }
  return Command(std::move(command));
}

Result<Command> parse_keys(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    return Error{ErrorKind::kInvalid,
                 "windrow keys needs a word after it: windrow keys add FILE NAME, or windrow keys "
                 "list FILE"};
  }
  const std::string& word = arguments.front();
  if (word == "add") return parse_keys_add(arguments.subspan(1));
  if (word == "list") return parse_keys_list(arguments.subspan(1));
  if (asks_for_help(word)) return Command(HelpCommand{keys_help_text()});
  return Error{
      ErrorKind::kInvalid,
      fmt::format("\"{}\" is not a subcommand of windrow keys; there are add and list", word)};
}

}  // namespace

Result<Command> parse_command_line(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    return Error{ErrorKind::kInvalid, "no command was given; windrow --help lists them"};
  }
  const std::string& word = arguments.front();
  const std::span<const std::string> rest = arguments.subspan(1);
  if (word == "run") return parse_run(rest);
  if (word == "retry") return parse_retry(rest);
  if (word == "serve") return parse_serve(rest);
  if (word == "status") return parse_status(rest);
  if (word == "inspect") return parse_inspect(rest);
  if (word == "config") return parse_config(rest);
  if (word == "keys") return parse_keys(rest);
  if (word == "probe") return parse_probe(rest);
  if (word == "sim-upstream") return parse_sim_upstream(rest);
  if (asks_for_help(word) || word == "help") return Command(HelpCommand{help_text()});
  if (word == "--version" || word == "-V" || word == "version") return Command(VersionCommand{});

  constexpr auto kWords =
      std::to_array<std::string_view>({"run", "retry", "serve", "status", "inspect", "config",
                                       "keys", "probe", "sim-upstream", "--version", "--help"});
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is not a command{}", word,
                           did_you_mean(word, kWords, "; windrow --help lists them"))};
}

}  // namespace windrow::app
