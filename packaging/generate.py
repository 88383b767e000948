#!/usr/bin/env python3
"""Makes the manual page and the shell completions of what the program says in --help.

usage: generate.py WINDROW           writes windrow.1, windrow.bash, _windrow and windrow.fish
                                     beside this file
       generate.py WINDROW --check   exits 1 when they are not up to date

A new command gets a line in COMMANDS, and a paragraph in windrow.1.in.
"""

import os
import re
import subprocess
import sys
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))


class Command(NamedTuple):
    name: str
    says: str
    words: tuple = ()       # that may follow it
    files: bool = True      # whether arguments without a flag are files
    argument: str = "file"  # what the first of those is
    of_run: bool = False    # takes the flags of `run` too, but for NOT_OF_RETRY; its help does not
    settings: bool = False  # takes all settings; its help does not list them
    color: bool = False     # takes --no-color


COMMANDS = [
    Command("run", "answer a JSONL file of requests", argument="requests", color=True),
    Command("exec", "run a program for each row of a file, or once", argument="program",
            color=True),
    Command("retry", "run the rows that failed once more", argument="errors", of_run=True,
            color=True),
    Command("export", "the answers of a job as a table", argument="results"),
    Command("serve", "answer the API of OpenAI over HTTP", files=False, color=True),
    Command("status", "how a job stands", argument="results"),
    Command("compare", "two results: rows, answers, failures, tokens, latency",
            argument="results"),
    Command("ps", "what a running server does", files=False),
    Command("chat", "talk with a model, or with a server", files=False, color=True),
    Command("inspect", "what a model file holds", argument="model"),
    Command("doctor", "what of this machine does not work, and what to do", files=False,
            color=True),
    Command("tokenize", "the tokens of a text or a chat", argument="text"),
    Command("memory", "a memory bank in a file, without a server",
            ("retain", "recall", "consolidate", "show"), argument="bank", color=True),
    Command("sessions", "the sessions of a running server; show or export one",
            ("list", "show", "export"), files=False),
    Command("config", "every setting, its value and where that comes from", ("show",),
            files=False, settings=True, color=True),
    Command("keys", "API keys of a server", ("add", "list"), argument="keys"),
    Command("probe", "find the best concurrency for a server", files=False),
    Command("sim-upstream", "a simulated server for rehearsals, with faults on demand",
            files=False),
    Command("rpc-worker", "lend the devices of this machine to another one", files=False),
]
NAMES = [command.name for command in COMMANDS]

# Flags of `run` that make no sense for rows that ran already; `retry` takes all others.
NOT_OF_RETRY = {"--fresh", "--retry-failed", "--dry-run", "--sample", "--preview", "--no-resume",
                "--format"}


class Flag(NamedTuple):
    group: str
    name: str     # "--model"
    short: str    # "-o", or empty
    value: str    # as the help names it; empty: a switch
    choices: tuple
    text: str     # without choices and default
    default: str  # empty: the help says none
    repeatable: bool

    @property
    def is_file(self):
        return not self.choices and re.search("FILE|PATH|FOLDER", self.value) is not None

    @property
    def spec(self):
        """What completions need of it, beside its name."""
        return (self.name, self.short, self.value, self.choices, self.text, self.repeatable)


HELP = Flag("", "--help", "-h", "", (), "explain the command", "", False)
NO_COLOR = Flag("", "--no-color", "", "", (), "no colours", "", False)


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


FLAG = re.compile(r"  (?:(-[a-zA-Z]), )?(--[a-z][a-z-]*)(?: (\S+))?(?:\s{2,}(.*))?")
CHOICES = re.compile(r": ([a-z0-9_-]+(?:, [a-z0-9_-]+)+)$")
DEFAULT = re.compile(r" \(default: (.*)\)$")


def flags_in(help_text):
    """The flags that a command's help lists, in its order."""
    found = []
    group = ""
    lines = help_text.splitlines()
    for line, following in zip(lines, lines[1:] + [""]):
        match = FLAG.fullmatch(line)
        if match:
            found.append([group, match[2], match[1] or "", match[3] or "", match[4] or ""])
        elif found and line.startswith(" " * 20):
            found[-1][4] = f"{found[-1][4]} {line.strip()}".strip()
        elif line and not line.startswith(" "):
            group = line if FLAG.fullmatch(following) else ""
            if line == "Exit codes":
                break
    return [flag_of(*parts) for parts in found if parts[1] != "--help"]


def flag_of(group, name, short, value, text):
    default = DEFAULT.search(text)
    text = DEFAULT.sub("", text)
    repeatable = text.endswith(" (repeatable)")
    text = text.removesuffix(" (repeatable)")
    listed = CHOICES.search(text) if value else None
    return Flag(group, name, short, value, tuple(listed[1].split(", ")) if listed else (),
                CHOICES.sub("", text) if listed else text, default[1] if default else "",
                repeatable)


def exit_codes_in(help_text):
    """[(code, text)] of the section "Exit codes"."""
    codes = []
    lines = iter(help_text.splitlines())
    for line in lines:
        if line == "Exit codes":
            break
    for line in lines:
        match = re.fullmatch(r"  (\d+) +(.*)", line)
        if match:
            codes.append([match[1], match[2]])
        elif codes and line.startswith(" " * 20):
            codes[-1][1] += " " + line.strip()
        else:
            break
    return codes


class Program:
    """What the program says of itself."""

    def __init__(self, path):
        # Wide enough, and the same everywhere.
        environment = dict(os.environ, COLUMNS="100")
        self.help = {}
        for name in NAMES:
            self.help[name] = subprocess.run([path, name, "--help"], capture_output=True,
                                             text=True, check=True, env=environment).stdout
        said = subprocess.run([path, "--help"], capture_output=True, text=True, check=True,
                              env=environment).stdout
        listed = set(re.findall(r"^  ([a-z][a-z-]*)  ", said, re.M))
        if listed != set(NAMES):
            sys.exit(f"generate.py: COMMANDS and windrow --help differ: "
                     f"{sorted(listed ^ set(NAMES))}")
        self.own = {name: flags_in(text) for name, text in self.help.items()}
        for name, flags in self.own.items():
            if not flags:
                sys.exit(f"generate.py: the help of windrow {name} names no flags")

    def flags(self, command):
        """All that a command takes, without --help."""
        flags = list(self.own[command.name])
        if command.of_run:
            flags += [flag for flag in self.own["run"] if flag.name not in NOT_OF_RETRY | {
                "--output"}]
        if command.settings:
            flags += [flag for name in ("run", "serve", "exec") for flag in self.own[name]
                      if flag.name not in ("--output", "--input", "--arg", "--trace")]
        if command.color:
            flags.append(NO_COLOR)
        return list({flag.name: flag for flag in reversed(flags + [HELP])}.values())[::-1]


# --- manual page ------------------------------------------------------------------------------

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def manual_flags(flags):
    parts = []
    group = None
    for flag in flags:
        if flag.group != group:
            group = flag.group
            if group and group != "Flags":
                parts.append(f".SS {group}")
        shown = f" \\fI{roff('WORD' if flag.choices else flag.value)}\\fR" if flag.value else ""
        short = f"\\fB{roff(flag.short)}\\fR, " if flag.short else ""
        text = flag.text + (": " + ", ".join(flag.choices) if flag.choices else "")
        text += " (repeatable)" if flag.repeatable else ""
        text += f" (default: {flag.default})" if flag.default else ""
        parts.append(f".TP\n{short}\\fB{roff(flag.name)}\\fR{shown}\n{roff(text)}")
    return "\n".join(parts)


def manual_sections(program):
    """The flags of each command; those that are the same as `run`'s stand there."""
    of_run = {flag.name: flag for flag in program.own["run"]}
    parts = []
    for command in COMMANDS:
        flags = program.own[command.name]
        parts.append(f".SH FLAGS OF WINDROW {roff(command.name.upper())}")
        if command.name == "run":
            parts.append(manual_flags(flags))
            parts.append(".PP\n\\fB\\-\\-no\\-\\fR\\fIFLAG\\fR turns off what a configuration file "
                         "turned on.")
            continue
        others = [flag for flag in flags if of_run.get(flag.name, flag).spec != flag.spec
                  or flag.name not in of_run]
        names = {flag.name for flag in flags}
        shared = [name for name in of_run if name in names
                  and name not in {flag.name for flag in others}]
        if command.of_run:
            parts.append("Those of \\fBwindrow run\\fR, but for "
                         + ", ".join(f"\\fB{roff(name)}\\fR" for name in sorted(NOT_OF_RETRY))
                         + "; and:")
        elif command.settings:
            parts.append("Those of \\fBwindrow run\\fR, \\fBserve\\fR and \\fBexec\\fR; and:")
        elif len(shared) > len(of_run) / 2:
            left_out = [name for name in of_run if name not in names]
            parts.append("Those of \\fBwindrow run\\fR, but for "
                         + ", ".join(f"\\fB{roff(name)}\\fR" for name in sorted(left_out))
                         + "; and:")
        elif shared:
            parts.append("As of \\fBwindrow run\\fR: "
                         + ", ".join(f"\\fB{roff(name)}\\fR" for name in shared)
                         + (". And:" if others else "."))
        parts.append(manual_flags(others))
    return "\n".join(parts)


def manual_exit_codes(program):
    parts = []
    for command in COMMANDS:
        codes = exit_codes_in(program.help[command.name])
        if not codes:
            continue
        parts.append(f".SS windrow {roff(command.name)}")
        parts += [f".TP\n.B {code}\n{roff(text)}" for code, text in codes]
    return "\n".join(parts)


def manual(program):
    page = read("windrow.1.in").replace("@VERSION@", read("../VERSION").strip())
    page = page.replace("@FLAGS@", manual_sections(program))
    return page.replace("@EXIT_CODES@", manual_exit_codes(program))


# --- bash -------------------------------------------------------------------------------------

def quoted(words):
    return "'" + " ".join(words) + "'"


BASH = r"""# bash completion for windrow. Made of --help by generate.py.

_windrow() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local words='' flags='--help'
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words=@COMMANDS@
  elif ((COMP_CWORD == 2)); then
    case $before in
@WORDS@
    esac
  fi
  if [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  case ${COMP_WORDS[1]} in
@FLAGS@
  esac
  case $before in
@CHOICES@
    @FILES@)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "${word#*=}")
      return
      ;;
    @VALUES@) return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    return
  fi
  case ${COMP_WORDS[1]} in
    @WITHOUT_FILES@) ;;
    *)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      ;;
  esac
}

complete -F _windrow windrow
"""


def bash(program):
    flags = {command.name: program.flags(command) for command in COMMANDS}
    every = list({flag.spec: flag for some in flags.values() for flag in some}.values())
    choices = {}
    for flag in every:
        if flag.choices:
            choices.setdefault(flag.name, {}).update(dict.fromkeys(flag.choices))
    files = {flag.name for flag in every if flag.is_file} | {"-o"}
    values = {flag.name for flag in every if flag.value} - files - set(choices)
    parts = {
        "COMMANDS": quoted(NAMES + ["--version", "--help"]),
        "WORDS": "\n".join(f"      {command.name}) words={quoted(command.words + ('--help',))} ;;"
                           for command in COMMANDS if command.words),
        "FLAGS": "\n".join(
            f"    {name}) flags="
            + quoted(word for flag in some for word in (flag.short, flag.name)
                     if word and word != "-h") + " ;;" for name, some in flags.items()),
        "CHOICES": "\n".join(
            f"    {name})\n      mapfile -t COMPREPLY < <(compgen -W {quoted(words)} "
            "-- \"$word\")\n      return\n      ;;" for name, words in sorted(choices.items())),
        "FILES": " | ".join(sorted(files)),
        "VALUES": " | ".join(sorted(values)),
        "WITHOUT_FILES": " | ".join(command.name for command in COMMANDS if not command.files),
    }
    return re.sub("@([A-Z_]+)@", lambda match: parts[match[1]], BASH)


# --- zsh --------------------------------------------------------------------------------------

def zsh_text(text):
    return (text.replace("'", "’").replace("[", "(").replace("]", ")").replace(":", "\\:")
            .replace("`", ""))


def zsh_spec(flag):
    if not flag.value:
        action = ""
    elif flag.is_file:
        action = ":file:_files"
    elif flag.choices:
        action = f":value:({' '.join(flag.choices)})"
    else:
        action = f":{zsh_text(flag.value.lower())}: "
    return f"[{zsh_text(flag.text)}]{action}"


def zsh(program):
    lines = ["#compdef windrow", "# zsh completion for windrow. Made of --help by generate.py.", "",
             "_windrow() {", "  local -a commands args", "  local -A spec", "  local name names",
             "  commands=("]
    lines += [f"    '{command.name}:{zsh_text(command.says)}'" for command in COMMANDS]
    lines += ["  )", "  # What each flag does and takes; of a command alone where they differ.",
              "  spec=("]
    named = {}
    usual = {}
    for command in COMMANDS:
        keys = []
        for flag in program.flags(command):
            key = flag.name if usual.setdefault(flag.name, flag.spec) == flag.spec \
                else f"{command.name}/{flag.name}"
            keys.append(key)
            named.setdefault(key, flag)
    for key, flag in named.items():
        repeat = "*" if flag.repeatable else ""
        lines.append(f"    '{key}' '{repeat}{flag.name}{zsh_spec(flag)}'")
        if flag.short:
            lines.append(f"    '{key}:short' '{repeat}{flag.short}{zsh_spec(flag)}'")
    lines += ["  )", "  if ((CURRENT == 2)); then", "    _describe command commands", "    return",
              "  fi", "  local command=$words[2]", "  shift words", "  ((CURRENT--))",
              "  args=()", "  case $command in"]
    for command in COMMANDS:
        names = []
        for flag in program.flags(command):
            key = flag.name if usual[flag.name] == flag.spec else f"{command.name}/{flag.name}"
            names += [key] + ([f"{key}:short"] if flag.short else [])
        places = []
        if command.words:
            places.append(f"'1:what:({' '.join(command.words)})'")
        if command.files:
            places.append(f"'*:{command.argument}:_files'")
        lines += [f"    {command.name})", f"      names={quoted(names)}",
                  f"      args=({' '.join(places)})", "      ;;"]
    lines += ["    *) return 1 ;;", "  esac", "  for name in ${=names}; do",
              "    args+=(\"${spec[$name]}\")", "  done", "  _arguments $args", "}", "",
              "_windrow \"$@\"", ""]
    return "\n".join(lines)


# --- fish -------------------------------------------------------------------------------------

def fish_text(text):
    return "'" + text.replace("`", "").replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(program):
    lines = ["# fish completion for windrow. Made of --help by generate.py.", "",
             "function __windrow_is", "    set -l words (commandline -opc)",
             "    test (count $words) -ge 2; and contains -- $words[2] $argv", "end", "",
             "function __windrow_follows", "    set -l words (commandline -opc)",
             "    test (count $words) -eq 2; and test $words[2] = $argv[1]", "end", "",
             "function __windrow_starts", "    test (count (commandline -opc)) -eq 1", "end", "",
             "complete -c windrow -n __windrow_starts -f -l version -d 'which Windrow'",
             "complete -c windrow -n __windrow_starts -f -s h -l help -d 'list the commands'"]
    for command in COMMANDS:
        lines.append(f"complete -c windrow -n __windrow_starts -f -a {command.name} "
                     f"-d {fish_text(command.says)}")
    for command in COMMANDS:
        if command.words:
            lines.append(f"complete -c windrow -n '__windrow_follows {command.name}' -f "
                         f"-a {quoted(command.words)}")
    without = " ".join(command.name for command in COMMANDS if not command.files)
    lines.append(f"complete -c windrow -n '__windrow_is {without}' -f")
    users = {}
    for command in COMMANDS:
        for flag in program.flags(command):
            users.setdefault(flag.spec, (flag, []))[1].append(command.name)
    for flag, names in users.values():
        kind = ""
        if flag.choices:
            kind = f" -x -a {quoted(flag.choices)}"
        elif flag.is_file:
            kind = " -r -F"
        elif flag.value:
            kind = " -x"
        short = f" -s {flag.short[1:]}" if flag.short else ""
        lines.append(f"complete -c windrow -n '__windrow_is {' '.join(names)}'{short} "
                     f"-l {flag.name[2:]}{kind} -d {fish_text(flag.text)}")
    return "\n".join(lines) + "\n"


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    program = Program(sys.argv[1])
    made = {"windrow.1": manual(program), "windrow.bash": bash(program), "_windrow": zsh(program),
            "windrow.fish": fish(program)}
    if sys.argv[2:] == ["--check"]:
        faults = [name for name, text in made.items()
                  if not os.path.exists(os.path.join(HERE, name)) or read(name) != text]
        for name in faults:
            print(f"packaging/{name} is not up to date: run packaging/generate.py")
        return 1 if faults else 0
    for name, text in made.items():
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
