#!/usr/bin/env python3
"""Makes the manual page and the shell completions of what the program says in --help.

usage: generate.py WINDROW           writes windrow.1, windrow.bash and _windrow beside this file
       generate.py WINDROW --check   exits 1 when they are not up to date
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = [
    ("run", "answer a JSONL file of requests"),
    ("exec", "run a program for each row of a file, or once"),
    ("retry", "run the rows that failed once more"),
    ("export", "the answers of a job as a table"),
    ("serve", "answer the API of OpenAI over HTTP"),
    ("status", "how a job stands"),
    ("compare", "two results, row by row"),
    ("inspect", "what a model file holds"),
    ("doctor", "what of this machine does not work, and what to do"),
    ("tokenize", "the tokens of a text or a chat"),
    ("memory", "a memory bank in a file, without a server"),
    ("sessions", "the sessions of a running server; show or export one"),
    ("config", "every setting, its value and where that comes from"),
    ("keys", "API keys of a server"),
    ("probe", "find the best concurrency for a server"),
    ("sim-upstream", "a simulated server for rehearsals, with faults on demand"),
    ("rpc-worker", "lend the devices of this machine to another one"),
]


# Flags of `run` that make no sense for rows that ran already; `retry` takes all others.
NOT_OF_RETRY = {"--fresh", "--retry-failed", "--dry-run", "--sample", "--preview", "--no-resume",
                "--format"}
# Flags of `run` that are about a job; `serve` takes all others.
NOT_OF_SERVE = {"--limit", "--strict", "--retry-failed", "--fresh", "--dry-run", "--max-cost",
                "--prices", "--self-check", "--reply-memory-mb", "--keep-truncated", "--cache",
                "--ordered", "--report", "--no-summary", "--sample", "--preview", "--no-resume",
                "--format", "--id", "--prompt", "--prompt-file", "--system", "--embed", "--schema",
                "--delimiter", "--max-tokens", "--temperature"}


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


FLAG = re.compile(r"  (?:-o, )?(--[a-z][a-z-]*)(?: (\S+))?(?:\s{2,}(.*))?")
CHOICES = re.compile(r": ([a-z0-9_-]+(?:, [a-z0-9_-]+)+)(?= \(default|$)")


def flags_in(help_text):
    """[(group, flag, value, text)] of a command's help. `value` is "a,b" where it is one of these,
    and FILE for paths; `text` has no default."""
    flags = []
    group = ""
    lines = help_text.splitlines()
    for line, following in zip(lines, lines[1:] + [""]):
        match = FLAG.fullmatch(line)
        if match:
            flags.append([group, match[1], match[2] or "", match[3] or ""])
        elif flags and line.startswith(" " * 20):
            flags[-1][3] = f"{flags[-1][3]} {line.strip()}".strip()
        elif line and not line.startswith(" ") and FLAG.fullmatch(following):
            group = line
    return [(group, flag, *value_and_text(value, text)) for group, flag, value, text in flags
            if flag not in ("--help", "--output")]


def value_and_text(value, text):
    listed = CHOICES.search(text)
    text = re.sub(r" \(default:.*\)$", "", text)
    if listed and value:
        return listed[1].replace(", ", ","), CHOICES.sub("", text)
    return "FILE" if re.search("FILE|PATH|FOLDER", value) else value, text


def read_flags(program):
    """{command: its own flags}; those that `retry` and `serve` share with `run` are under run."""
    commands = {}
    for command in ("run", "exec", "serve", "retry", "export", "status", "compare", "doctor",
                    "tokenize", "memory", "sessions", "keys", "probe", "sim-upstream",
                    "rpc-worker"):
        said = subprocess.run([program, command, "--help"], capture_output=True, text=True,
                              check=True).stdout
        commands[command] = flags_in(said)
        if not commands[command]:
            sys.exit(f"generate.py: the help of windrow {command} names no flags")
    shared = {flag for _, flag, _, _ in commands["run"]}
    left_out = shared - {flag for _, flag, _, _ in commands["serve"]}
    if left_out != NOT_OF_SERVE:
        sys.exit(f"generate.py: NOT_OF_SERVE should be {sorted(left_out)}")
    for command in ("serve", "retry"):
        commands[command] = [flag for flag in commands[command] if flag[1] not in shared]
    return commands


def choices(value):
    return value.split(",") if re.fullmatch(r"[a-z0-9_-]+(,[a-z0-9_-]+)+", value) else []


def flags_of(commands, command):
    """All that a command takes: `retry` and `serve` have flags of their own and most of those of
    `run`."""
    left_out = {"retry": NOT_OF_RETRY, "serve": NOT_OF_SERVE}.get(command)
    shared = [flag for flag in commands["run"] if left_out is not None and flag[1] not in left_out]
    return commands[command] + shared


# --- manual page ------------------------------------------------------------------------------

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def manual_flags(flags):
    parts = []
    group = None
    for flag_group, flag, value, text in flags:
        if flag_group != group:
            group = flag_group
            if group:
                parts.append(f".SS {group}")
        shown = f" \\fI{roff('WORD' if choices(value) else value)}\\fR" if value else ""
        if choices(value):
            text += ": " + ", ".join(choices(value))
        parts.append(f".TP\n\\fB{roff(flag)}\\fR{shown}\n{roff(text)}")
    return "\n".join(parts)


def manual(commands):
    version = read("../VERSION").strip()
    page = read("windrow.1.in").replace("@VERSION@", version)
    page = page.replace("@SIM_FLAGS@", manual_flags(commands["sim-upstream"]))
    page = page.replace("@RPC_WORKER_FLAGS@", manual_flags(commands["rpc-worker"]))
    page = page.replace("@SERVE_FLAGS@", manual_flags(commands["serve"]))
    page = page.replace("@NOT_OF_SERVE@", ", ".join(f"\\fB{roff(flag)}\\fR"
                                                    for flag in sorted(NOT_OF_SERVE)))
    page = page.replace("@TOKENIZE_FLAGS@", manual_flags(commands["tokenize"]))
    of_run = {flag for _, flag, _, _ in commands["run"]}
    # Some have the name of another flag of `run`.
    meant = {(flag, text) for _, flag, _, text in commands["run"]}
    page = page.replace("@MEMORY_FLAGS@", manual_flags(
        [flag for flag in commands["memory"] if (flag[1], flag[3]) not in meant]))
    of_exec = {flag for _, flag, _, _ in commands["exec"]}
    page = page.replace("@EXEC_FLAGS@", manual_flags(
        [flag for flag in commands["exec"] if flag[1] not in of_run]))
    page = page.replace("@NOT_OF_EXEC@", ", ".join(f"\\fB{roff(flag)}\\fR"
                                                   for flag in sorted(of_run - of_exec)))
    page = page.replace("@SESSIONS_FLAGS@", manual_flags(commands["sessions"]))
    page = page.replace("@KEYS_FLAGS@", manual_flags(commands["keys"]))
    page = page.replace("@PROBE_FLAGS@", manual_flags(commands["probe"]))
    return page.replace("@FLAGS@", manual_flags(commands["run"]))


# --- bash -------------------------------------------------------------------------------------

def unlike(flags):
    """One of each name: commands may share a flag, and then it takes the same kind of value."""
    return list({flag[1]: flag for flag in reversed(flags)}.values())[::-1]


def bash(commands):
    cases = []
    flags = [flag for flags in commands.values() for flag in flags]
    for _, flag, value, _ in unlike(flags):
        if choices(value):
            cases.append(f"    {flag}) mapfile -t COMPREPLY < "
                         f"<(compgen -W '{' '.join(choices(value))}' -- \"$word\") && return ;;")
    files = "|".join(["-o", "--output"]
                     + [flag for _, flag, value, _ in unlike(flags) if value == "FILE"])
    words = "|".join(flag for _, flag, value, _ in unlike(flags)
                     if value and value != "FILE" and not choices(value))
    run = " ".join(["-o", "--output"] + [flag for _, flag, _, _ in commands["run"]]
                   + ["--no-color", "--help"])
    execute = " ".join(["-o", "--output"] + [flag for _, flag, _, _ in commands["exec"]]
                       + ["--no-color", "--help"])
    retry = " ".join([flag for _, flag, _, _ in flags_of(commands, "retry")]
                     + ["--no-color", "--help"])
    serve = " ".join([flag for _, flag, _, _ in flags_of(commands, "serve")]
                     + ["--no-color", "--help"])
    status = " ".join([flag for _, flag, _, _ in commands["status"]] + ["--help"])
    doctor = " ".join([flag for _, flag, _, _ in commands["doctor"]] + ["--help"])
    compare = " ".join([flag for _, flag, _, _ in commands["compare"]] + ["--help"])
    export = " ".join([flag for _, flag, _, _ in commands["export"]] + ["--help"])
    tokenize = " ".join([flag for _, flag, _, _ in commands["tokenize"]] + ["--help"])
    memory = " ".join([flag for _, flag, _, _ in commands["memory"]]
                      + ["--no-color", "--help"])
    sessions = " ".join(["-o", "--output"] + [flag for _, flag, _, _ in commands["sessions"]]
                        + ["--help"])
    keys = " ".join([flag for _, flag, _, _ in commands["keys"]] + ["--help"])
    probe = " ".join([flag for _, flag, _, _ in commands["probe"]] + ["--help"])
    sim = " ".join([flag for _, flag, _, _ in commands["sim-upstream"]] + ["--help"])
    worker = " ".join([flag for _, flag, _, _ in commands["rpc-worker"]] + ["--help"])
    newline = "\n"
    return f"""# bash completion for windrow. Made of --help by generate.py.

_windrow() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{" ".join(name for name, _ in COMMANDS)} \
--version --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == config ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'show --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == keys ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'add list --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == memory ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'retain recall consolidate show --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == sessions ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'list show export --help' -- "$word")
    return
  fi
  local flags='--json --help'
  case ${{COMP_WORDS[1]}} in
    run | config) flags='{run}' ;;
    exec) flags='{execute}' ;;
    retry) flags='{retry}' ;;
    serve) flags='{serve}' ;;
    status) flags='{status}' ;;
    doctor) flags='{doctor}' ;;
    compare) flags='{compare}' ;;
    export) flags='{export}' ;;
    tokenize) flags='{tokenize}' ;;
    memory) flags='{memory}' ;;
    sessions) flags='{sessions}' ;;
    keys) flags='{keys}' ;;
    probe) flags='{probe}' ;;
    sim-upstream) flags='{sim}' ;;
    rpc-worker) flags='{worker}' ;;
    inspect) flags='--rpc --json --help' ;;
  esac
  case $before in
{newline.join(cases)}
    {files})
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "${{word#*=}}")
      return
      ;;
    {words}) return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}

complete -F _windrow windrow
"""


# --- zsh --------------------------------------------------------------------------------------

def zsh_text(text):
    return text.replace("'", "’").replace("[", "(").replace("]", ")").replace(":", "\\:")


def zsh_flags(flags):
    lines = []
    for _, flag, value, text in flags:
        repeat = "*" if "(repeatable)" in text else ""
        text = zsh_text(text.replace(" (repeatable)", "").replace("`", ""))
        if not value:
            action = ""
        elif value == "FILE":
            action = ":file:_files"
        elif choices(value):
            action = f":value:({' '.join(choices(value))})"
        else:
            action = f":{zsh_text(value.lower())}: "
        lines.append(f"    '{repeat}{flag}[{text}]{action}'")
    return "\n".join(lines)


def zsh(commands):
    names = "\n".join(f"    '{name}:{text}'" for name, text in COMMANDS)
    run = zsh_flags([flag for flag in commands["run"] if flag[1] in NOT_OF_RETRY])
    common = zsh_flags([flag for flag in commands["run"] if flag[1] not in NOT_OF_RETRY])
    execute = zsh_flags(commands["exec"])
    retry = zsh_flags(commands["retry"])
    serve = zsh_flags(flags_of(commands, "serve"))
    status = zsh_flags(commands["status"])
    doctor = zsh_flags(commands["doctor"])
    compare = zsh_flags(commands["compare"])
    export = zsh_flags(commands["export"])
    tokenize = zsh_flags(commands["tokenize"])
    memory = zsh_flags(commands["memory"])
    sessions = zsh_flags(commands["sessions"])
    keys = zsh_flags(commands["keys"])
    probe = zsh_flags(commands["probe"])
    sim = zsh_flags(commands["sim-upstream"])
    worker = zsh_flags(commands["rpc-worker"])
    return f"""#compdef windrow
# zsh completion for windrow. Made of --help by generate.py.

_windrow() {{
  local -a commands flags run_flags retry_flags serve_flags status_flags keys_flags probe_flags
  local -a sim_flags doctor_flags tokenize_flags memory_flags sessions_flags exec_flags
  local -a compare_flags worker_flags export_flags
  commands=(
{names}
  )
  flags=(
{common}
    '--no-color[no colours]'
    '--help[explain the command]'
  )
  run_flags=(
    '(-o --output)'{{-o,--output}}'[where the results go]:file:_files'
{run}
  )
  exec_flags=(
    '(-o --output)'{{-o,--output}}'[where the results go]:file:_files'
{execute}
    '--no-color[no colours]'
    '--help[explain the command]'
  )
  retry_flags=(
{retry}
  )
  serve_flags=(
{serve}
    '--no-color[no colours]'
    '--help[explain the command]'
  )
  doctor_flags=(
{doctor}
    '--help[explain the command]'
  )
  tokenize_flags=(
{tokenize}
    '--help[explain the command]'
  )
  memory_flags=(
{memory}
    '--no-color[no colours]'
    '--help[explain the command]'
  )
  sessions_flags=(
    '(-o --output)'{{-o,--output}}'[where the export goes]:file:_files'
{sessions}
    '--help[explain the command]'
  )
  keys_flags=(
{keys}
    '--help[explain the command]'
  )
  compare_flags=(
{compare}
    '--help[explain the command]'
  )
  export_flags=(
{export}
    '--help[explain the command]'
  )
  status_flags=(
{status}
    '--help[explain the command]'
  )
  probe_flags=(
{probe}
    '--help[explain the command]'
  )
  sim_flags=(
{sim}
    '--help[explain the command]'
  )
  worker_flags=(
{worker}
    '--help[explain the command]'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    run) _arguments $run_flags $flags '1:requests:_files' ;;
    exec) _arguments $exec_flags '1:program:_files' ;;
    retry) _arguments $retry_flags $flags '1:errors:_files' ;;
    serve) _arguments $serve_flags ;;
    keys) _arguments $keys_flags '1:what:(add list)' '2:keys:_files' '3:name: ' ;;
    status) _arguments $status_flags '1:results:_files' ;;
    compare) _arguments $compare_flags '1:results:_files' '2:results:_files' ;;
    export) _arguments $export_flags '1:results:_files' ;;
    inspect) _arguments '*--rpc[devices of this worker]:host\\:port: ' '--json[as JSON]' \\
      '--help[explain the command]' '1:model:_files' ;;
    doctor) _arguments $doctor_flags ;;
    tokenize) _arguments $tokenize_flags '1:text:_files' ;;
    memory) _arguments $memory_flags '1:what:(retain recall consolidate show)' '2:bank:_files' \\
      '3:input or query:_files' ;;
    sessions) _arguments $sessions_flags '1:what:(list show export)' '2:session: ' ;;
    config) _arguments $run_flags $flags '1:what:(show)' ;;
    probe) _arguments $probe_flags ;;
    sim-upstream) _arguments $sim_flags ;;
    rpc-worker) _arguments $worker_flags ;;
  esac
}}

_windrow "$@"
"""


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    commands = read_flags(sys.argv[1])
    made = {"windrow.1": manual(commands), "windrow.bash": bash(commands),
            "_windrow": zsh(commands)}
    if sys.argv[2:] == ["--check"]:
        faults = [name for name, text in made.items() if read(name) != text]
        for name in faults:
            print(f"packaging/{name} is not up to date: run packaging/generate.py")
        return 1 if faults else 0
    for name, text in made.items():
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
