#include "app/commands/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "app/commands/command_checks.h"
#include "app/commands/command_flags.h"
#include "app/commands/foreign_flags.h"
#include "base/suggest.h"

namespace windrow::app {
namespace {

// The flags of one command: CLI11 splits the words, the rest is ours.
class FlagSet {
 public:
  FlagSet(CLI::App& app, std::string command) : app_(app), command_(std::move(command)) {
    app.set_help_flag();
    // What is not known is reported by us, with the nearest word.
    app.allow_extras();
    add_switch("-h,--help", help_);
  }

  // How often a flag was given, and with what.
  struct Given {
    std::vector<std::string> words;
    bool on = false;  // of a switch

    bool was_given() const { return on || !words.empty(); }
    std::vector<std::string> texts() const { return on ? std::vector<std::string>(1) : words; }
  };

  template <class Target>
  void add_flag(const Flag<Target>& flag, Given& given) {
    const std::string names =
        fmt::format("{}{}--{}", flag.short_name, flag.short_name.empty() ? "" : ",", flag.name);
    if (flag.value_name.empty()) return add_switch(names, given.on);
    // One word each time it is given, so that it does not swallow what stands behind.
    app_.add_option(names, given.words)
        ->multi_option_policy(flag.repeatable ? CLI::MultiOptionPolicy::TakeAll
                                              : CLI::MultiOptionPolicy::TakeLast)
        ->expected(1)
        ->allow_extra_args(false);
    remember(names);
  }

  void add_positional(const std::string& name, std::string& target) {
    app_.add_option(name, target);
    takes_words_ = true;
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
      if (const std::string_view ours = text_for_foreign(word); !ours.empty()) {
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
  // "run", "serve" or "exec", where a setting of this name is of that one and not of this.
  std::string other_command_with(std::string_view word) const {
    constexpr auto kCommands = std::to_array<std::pair<std::string_view, SettingsOf>>(
        {{"run", SettingsOf::kRun}, {"serve", SettingsOf::kServe}, {"exec", SettingsOf::kExec}});
    std::string_view own = std::string_view(command_).substr(std::string_view("windrow ").size());
    if (own == "retry") own = "run";
    const auto* ours =
        std::ranges::find(kCommands, own, &std::pair<std::string_view, SettingsOf>::first);
    if (ours == kCommands.end()) return "";
    word.remove_prefix(std::min<size_t>(2, word.size()));
    const SettingRow* row = find_setting(word);
    if (row == nullptr && word.starts_with("no-")) row = find_setting(word.substr(3));
    if (row == nullptr || takes(ours->second, *row)) return "";
    const auto* other = std::ranges::find_if(
        kCommands, [&](const auto& command) { return takes(command.second, *row); });
    return std::string(other->first);
  }

  // What to write here instead of another program's flag; empty: nothing is known, or this command
  // has no such flag.
  std::string_view text_for_foreign(std::string_view word) const {
    const auto* found = std::ranges::find(kForeignFlags, word, &ForeignFlag::word);
    if (found == kForeignFlags.end()) return {};
    const bool has =
        found->flag.empty() ? takes_words_ : std::ranges::find(known_, found->flag) != known_.end();
    return has ? found->text : std::string_view();
  }

  void add_switch(const std::string& names, bool& target) {
    app_.add_flag(names, target)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    remember(names);
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
  bool takes_words_ = false;
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

// What a command takes, beside --help.
template <class Target>
struct CommandForm {
  std::string name;  // "windrow run"
  std::string (*help)(size_t width);
  std::span<const Flag<Target>> flags;
  std::vector<std::pair<std::string, std::string Target::*>> words = {};  // without a flag
  bool (*takes_setting)(const SettingRow&) = nullptr;                     // into Target::flags

  // Whether all words together are a command: kInvalid when not.
  Result<void> (*check)(const Target&) = nullptr;
};

// The words of one command. The help, if that was asked for: then nothing else counts.
template <class Target>
Result<Command> parse_form(const CommandForm<Target>& form,
                           std::span<const std::string> arguments) {
  CLI::App app;
  FlagSet flags(app, form.name);
  Target command;
  for (const auto& [name, field] : form.words)
    flags.add_positional(name, command.*field);
  std::vector<FlagSet::Given> given(form.flags.size());
  for (size_t i = 0; i < given.size(); ++i)
    flags.add_flag(form.flags[i], given[i]);
  if (form.takes_setting != nullptr) {
    for (const SettingRow& row : setting_rows()) {
      if (form.takes_setting(row)) flags.add_setting(row);
    }
    flags.add_no_color();
  }

  if (const Result<void> parsed = parse(app, arguments); !parsed) return parsed.error();
  if (flags.help()) return Command(HelpCommand{form.help});
  if (const Result<void> known = flags.check_nothing_left(); !known) return known.error();
  for (size_t i = 0; i < given.size(); ++i) {
    const Flag<Target>& flag = form.flags[i];
    if (!given[i].was_given()) continue;
    for (size_t other = 0; other < given.size() && !flag.excludes.empty(); ++other) {
      if (form.flags[other].name == flag.excludes && given[other].was_given()) {
        return Error{ErrorKind::kInvalid,
                     fmt::format("--{} and --{} exclude each other", flag.excludes, flag.name)};
      }
    }
    for (const std::string& word : given[i].texts()) {
      if (const Result<void> set = flag.set(word, command); !set)
        return set.error().in(fmt::format("--{}", flag.name));
    }
  }
  if constexpr (requires { command.flags; }) command.flags = flags.given();
  if (form.check != nullptr) {
    if (const Result<void> checked = form.check(command); !checked) return checked.error();
  }
  return Command(std::move(command));
}

bool is_of_run(const SettingRow& row) {
  return takes(SettingsOf::kRun, row);
}

// What makes no sense for rows that ran already is left out.
bool is_of_retry(const SettingRow& row) {
  return is_of_run(row) && row.name != "fresh" && row.name != "retry-failed" &&
         row.name != "dry-run";
}

bool is_of_exec(const SettingRow& row) {
  return takes(SettingsOf::kExec, row);
}

bool is_of_serve(const SettingRow& row) {
  return takes(SettingsOf::kServe, row);
}

bool is_of_config_show(const SettingRow& row) {
  return row.name != "json";
}

Result<Command> parse_run(std::span<const std::string> arguments) {
  return parse_form<RunCommand>({.name = "windrow run",
                                 .help = run_help_text,
                                 .flags = run_flags(),
                                 .words = {{"input", &RunCommand::input}},
                                 .takes_setting = is_of_run,
                                 .check = check_run},
                                arguments);
}

Result<Command> parse_exec(std::span<const std::string> arguments) {
  return parse_form<ExecCommand>({.name = "windrow exec",
                                  .help = exec_help_text,
                                  .flags = exec_flags(),
                                  .words = {{"program", &ExecCommand::program}},
                                  .takes_setting = is_of_exec,
                                  .check = check_exec},
                                 arguments);
}

Result<Command> parse_retry(std::span<const std::string> arguments) {
  return parse_form<RetryCommand>({.name = "windrow retry",
                                   .help = retry_help_text,
                                   .flags = retry_flags(),
                                   .words = {{"errors", &RetryCommand::errors}},
                                   .takes_setting = is_of_retry,
                                   .check = check_retry},
                                  arguments);
}

Result<Command> parse_export(std::span<const std::string> arguments) {
  return parse_form<ExportCommand>({.name = "windrow export",
                                    .help = export_help_text,
                                    .flags = export_flags(),
                                    .words = {{"job", &ExportCommand::job}},
                                    .check = check_export},
                                   arguments);
}

Result<Command> parse_serve(std::span<const std::string> arguments) {
  return parse_form<ServeCommand>(
      {.name = "windrow serve", .help = serve_help_text, .flags = {}, .takes_setting = is_of_serve},
      arguments);
}

Result<Command> parse_status(std::span<const std::string> arguments) {
  return parse_form<StatusCommand>({.name = "windrow status",
                                    .help = status_help_text,
                                    .flags = status_flags(),
                                    .words = {{"job", &StatusCommand::job}},
                                    .check = check_status},
                                   arguments);
}

Result<Command> parse_compare(std::span<const std::string> arguments) {
  return parse_form<CompareCommand>(
      {.name = "windrow compare",
       .help = compare_help_text,
       .flags = compare_flags(),
       .words = {{"first", &CompareCommand::first}, {"second", &CompareCommand::second}},
       .check = check_compare},
      arguments);
}

Result<Command> parse_inspect(std::span<const std::string> arguments) {
  return parse_form<InspectCommand>({.name = "windrow inspect",
                                     .help = inspect_help_text,
                                     .flags = inspect_flags(),
                                     .words = {{"model", &InspectCommand::model}},
                                     .check = check_inspect},
                                    arguments);
}

Result<Command> parse_doctor(std::span<const std::string> arguments) {
  return parse_form<DoctorCommand>({.name = "windrow doctor",
                                    .help = doctor_help_text,
                                    .flags = {},
                                    .takes_setting = is_of_doctor},
                                   arguments);
}

Result<Command> parse_tokenize(std::span<const std::string> arguments) {
  return parse_form<TokenizeCommand>({.name = "windrow tokenize",
                                      .help = tokenize_help_text,
                                      .flags = tokenize_flags(),
                                      .words = {{"input", &TokenizeCommand::input}},
                                      .check = check_tokenize},
                                     arguments);
}

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h";
}

Result<Command> parse_memory(std::span<const std::string> arguments) {
  constexpr auto kVerbs = std::to_array<std::pair<std::string_view, MemoryVerb>>(
      {{"retain", MemoryVerb::kRetain},
       {"recall", MemoryVerb::kRecall},
       {"consolidate", MemoryVerb::kConsolidate},
       {"show", MemoryVerb::kShow}});
  if (arguments.empty()) {
    return needed(
        "windrow memory needs a word after it: retain, recall, consolidate or show, and then the "
        "path of a bank's file");
  }
  const std::string& word = arguments.front();
  if (asks_for_help(word)) return Command(HelpCommand{memory_help_text});
  const auto* verb =
      std::ranges::find(kVerbs, word, &std::pair<std::string_view, MemoryVerb>::first);
  if (verb == kVerbs.end()) {
    constexpr auto kWords =
        std::to_array<std::string_view>({"retain", "recall", "consolidate", "show"});
    return Error{ErrorKind::kInvalid,
                 fmt::format("\"{}\" is not a subcommand of windrow memory{}", word,
                             did_you_mean(word, kWords,
                                          "; there are retain, recall, consolidate and show"))};
  }
  CommandForm<MemoryCommand> form{.name = fmt::format("windrow memory {}", word),
                                  .help = memory_help_text,
                                  .flags = memory_flags(),
                                  .words = {{"bank", &MemoryCommand::bank}},
                                  .takes_setting = is_of_memory,
                                  .check = check_memory};
  if (verb->second == MemoryVerb::kRetain || verb->second == MemoryVerb::kRecall)
    form.words.emplace_back("argument", &MemoryCommand::argument);
  Result<Command> parsed = parse_form(form, arguments.subspan(1));
  if (!parsed) return parsed.error();
  if (auto* command = std::get_if<MemoryCommand>(&*parsed)) {
    command->verb = verb->second;
    if (command->verb == MemoryVerb::kRecall && command->argument.empty()) {
      return needed("no query was given; write windrow memory recall BANK \"what is to be found\"");
    }
  }
  return parsed;
}

Result<Command> parse_sessions(std::span<const std::string> arguments) {
  constexpr auto kVerbs =
      std::to_array<std::pair<std::string_view, SessionsVerb>>({{"list", SessionsVerb::kList},
                                                                {"show", SessionsVerb::kShow},
                                                                {"export", SessionsVerb::kExport}});
  if (arguments.empty()) {
    return needed("windrow sessions needs a word after it: list, show ID, or export ID -o FILE");
  }
  const std::string& word = arguments.front();
  if (asks_for_help(word)) return Command(HelpCommand{sessions_help_text});
  const auto* verb =
      std::ranges::find(kVerbs, word, &std::pair<std::string_view, SessionsVerb>::first);
  if (verb == kVerbs.end()) {
    constexpr auto kWords = std::to_array<std::string_view>({"list", "show", "export"});
    return Error{ErrorKind::kInvalid,
                 fmt::format("\"{}\" is not a subcommand of windrow sessions{}", word,
                             did_you_mean(word, kWords, "; there are list, show and export"))};
  }
  CommandForm<SessionsCommand> form{.name = fmt::format("windrow sessions {}", word),
                                    .help = sessions_help_text,
                                    .flags = sessions_flags()};
  if (verb->second != SessionsVerb::kList) form.words.emplace_back("id", &SessionsCommand::id);
  Result<Command> parsed = parse_form(form, arguments.subspan(1));
  if (!parsed) return parsed.error();
  if (auto* command = std::get_if<SessionsCommand>(&*parsed)) {
    command->verb = verb->second;
    if (const Result<void> checked = check_sessions(*command); !checked) return checked.error();
  }
  return parsed;
}

Result<Command> parse_ps(std::span<const std::string> arguments) {
  return parse_form<PsCommand>({.name = "windrow ps", .help = ps_help_text, .flags = ps_flags()},
                               arguments);
}

Result<Command> parse_chat(std::span<const std::string> arguments) {
  return parse_form<ChatCommand>({.name = "windrow chat",
                                  .help = chat_help_text,
                                  .flags = chat_flags(),
                                  .takes_setting = is_of_chat,
                                  .check = check_chat},
                                 arguments);
}

Result<Command> parse_config_show(std::span<const std::string> arguments) {
  return parse_form<ConfigShowCommand>({.name = "windrow config show",
                                        .help = config_help_text,
                                        .flags = config_show_flags(),
                                        .takes_setting = is_of_config_show},
                                       arguments);
}

Result<Command> parse_keys_add(std::span<const std::string> arguments) {
  return parse_form<KeysAddCommand>(
      {.name = "windrow keys add",
       .help = keys_help_text,
       .flags = keys_add_flags(),
       .words = {{"file", &KeysAddCommand::file}, {"name", &KeysAddCommand::name}},
       .check = check_keys_add},
      arguments);
}

Result<Command> parse_keys_list(std::span<const std::string> arguments) {
  return parse_form<KeysListCommand>({.name = "windrow keys list",
                                      .help = keys_help_text,
                                      .flags = keys_list_flags(),
                                      .words = {{"file", &KeysListCommand::file}},
                                      .check = check_keys_list},
                                     arguments);
}

Result<Command> parse_sim_upstream(std::span<const std::string> arguments) {
  return parse_form<SimUpstreamCommand>({.name = "windrow sim-upstream",
                                         .help = sim_upstream_help_text,
                                         .flags = sim_flags(),
                                         .check = check_sim_upstream},
                                        arguments);
}

Result<Command> parse_rpc_worker(std::span<const std::string> arguments) {
  return parse_form<RpcWorkerCommand>({.name = "windrow rpc-worker",
                                       .help = rpc_worker_help_text,
                                       .flags = rpc_worker_flags(),
                                       .check = check_rpc_worker},
                                      arguments);
}

Result<Command> parse_probe(std::span<const std::string> arguments) {
  return parse_form<ProbeCommand>({.name = "windrow probe",
                                   .help = probe_help_text,
                                   .flags = probe_flags(),
                                   .check = check_probe},
                                  arguments);
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
  if (asks_for_help(word)) return Command(HelpCommand{config_help_text});
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is not something windrow config does; did you mean windrow config "
                           "show?",
                           word)};
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
  if (asks_for_help(word)) return Command(HelpCommand{keys_help_text});
  constexpr auto kSubcommands = std::to_array<std::string_view>({"add", "list"});
  return Error{ErrorKind::kInvalid,
               fmt::format("\"{}\" is not a subcommand of windrow keys{}", word,
                           did_you_mean(word, kSubcommands, "; there are add and list"))};
}

}  // namespace

Result<Command> parse_command_line(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    return Error{ErrorKind::kInvalid, "no command was given; windrow --help lists them"};
  }
  const std::string& word = arguments.front();
  const std::span<const std::string> rest = arguments.subspan(1);
  if (word == "run") return parse_run(rest);
  if (word == "exec") return parse_exec(rest);
  if (word == "retry") return parse_retry(rest);
  if (word == "export") return parse_export(rest);
  if (word == "serve") return parse_serve(rest);
  if (word == "status") return parse_status(rest);
  if (word == "compare") return parse_compare(rest);
  if (word == "inspect") return parse_inspect(rest);
  if (word == "doctor") return parse_doctor(rest);
  if (word == "tokenize") return parse_tokenize(rest);
  if (word == "memory") return parse_memory(rest);
  if (word == "sessions") return parse_sessions(rest);
  if (word == "ps") return parse_ps(rest);
  if (word == "chat") return parse_chat(rest);
  if (word == "config") return parse_config(rest);
  if (word == "keys") return parse_keys(rest);
  if (word == "probe") return parse_probe(rest);
  if (word == "sim-upstream") return parse_sim_upstream(rest);
  if (word == "rpc-worker") return parse_rpc_worker(rest);
  if (asks_for_help(word) || word == "help") return Command(HelpCommand{help_text});
  if (word == "--version" || word == "-V" || word == "version") return Command(VersionCommand{});

  constexpr auto kWords = std::to_array<std::string_view>(
      {"run",     "exec",   "retry",    "export",       "serve",      "status",    "compare",
       "inspect", "doctor", "tokenize", "memory",       "sessions",   "ps",        "chat",
       "config",  "keys",   "probe",    "sim-upstream", "rpc-worker", "--version", "--help"});
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is not a command{}", word,
                           did_you_mean(word, kWords, "; windrow --help lists them"))};
}

}  // namespace windrow::app
