#!/usr/bin/env python3
"""usage: completions.py SOURCES
Completes words in bash, zsh and fish with the files of packaging, as a user's keys would."""

import os
import shutil
import subprocess
import sys
import tempfile

# What is typed before Tab, and the only word that it can become.
CASES = [
    ("windrow ser", "serve"),
    ("windrow sim", "sim-upstream"),
    ("windrow run --lim", "--limit"),
    ("windrow run --no-sha", "--no-share"),
    ("windrow run --kv-type q8", "q8_0"),
    ("windrow run in.jsonl -o out.jsonl --retry-f", "--retry-failed"),
    ("windrow retry --onl", "--only"),
    ("windrow retry --max-att", "--max-attempts"),
    ("windrow serve --lis", "--listen"),
    ("windrow exec --tra", "--trace"),
    ("windrow memory cons", "consolidate"),
    ("windrow sessions export --max-s", "--max-seq-len"),
    ("windrow keys add keys.txt alice --prio", "--priority"),
    ("windrow keys add keys.txt alice --priority inter", "interactive"),
    ("windrow config sh", "show"),
    ("windrow config show --chan", "--changed"),
    ("windrow config show --lis", "--listen"),
    ("windrow ps --ur", "--url"),
    ("windrow chat --sys", "--system"),
    ("windrow probe --seconds", "--seconds-each"),
    ("windrow status resu", "results.jsonl"),
    ("windrow run requests.jsonl --report cha", "chart.html"),
]
FILES = ("results.jsonl", "requests.jsonl", "chart.html")

BASH = r"""
compopt() { :; }
source "$1"
while IFS= read -r line; do
  read -ra COMP_WORDS <<<"$line"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _windrow
  echo "${COMPREPLY[*]}"
done
"""

# A shell in a terminal of its own: Tab completes, Ctrl-X prints the line and clears it.
ZSH = r"""
zmodload zsh/zpty || exit 2
zpty shell zsh -f -i
zpty -w shell "PROMPT= RPROMPT= PS2=; setopt no_beep no_always_last_prompt; \
fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; \
show-line() { print -r -- \"<\$BUFFER>\"; zle kill-whole-line }; \
zle -N show-line; bindkey '^X' show-line; bindkey '^I' complete-word; print re''ady"
zpty -r shell said $'*ready\r\n*'
while IFS= read -r line; do
  zpty -n -w shell "$line"$'\t\x18'
  zpty -r shell said $'*<*>*' || exit 2
  said=${said##*<}
  print -r -- "${said%%>*}"
done
"""

FISH = r"""
source $argv[1]
while read line
    echo (complete -C $line | string replace -r '\t.*' '')
end
"""


def typed():
    return "".join(line + "\n" for line, _ in CASES)


def completed(shell, script, argument, folder):
    words = {"bash": ["bash", "--norc", "-c", script, "bash", argument],
             "zsh": ["zsh", "-f", "-c", script, "zsh", argument],
             "fish": ["fish", "--no-config", "-c", script, argument]}[shell]
    # Every shell keeps its own files in the folder, and reads none of the user's.
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb",
                   "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder, "LC_ALL": "C.UTF-8"}
    ended = subprocess.run(words, input=typed(), capture_output=True, text=True, timeout=120,
                           check=False, cwd=folder, env=environment)
    lines = ended.stdout.splitlines()
    if ended.returncode != 0 or len(lines) != len(CASES):
        sys.exit(f"{shell} ended with {ended.returncode} after {len(lines)} of {len(CASES)} lines:"
                 f"\n{ended.stdout}{ended.stderr}")
    return lines


def main():
    packaging = os.path.join(os.path.abspath(sys.argv[1]), "packaging")
    missing = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell) is None]
    if missing:
        sys.exit(f"{' and '.join(missing)}: not installed; ./setup --tests installs them")
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass
        for shell, script, argument in (
                ("bash", BASH, os.path.join(packaging, "windrow.bash")),
                ("zsh", ZSH, packaging),
                ("fish", FISH, os.path.join(packaging, "windrow.fish"))):
            for (line, word), got in zip(CASES, completed(shell, script, argument, folder)):
                # zsh shows the whole line that its user then has.
                got = got.split()[-1:] if shell == "zsh" else got.split()
                if got != [word]:
                    print(f"{shell}: {line!r} becomes {got}, not {word!r}")
                    faults += 1
    print(f"{len(CASES)} completions in bash, zsh and fish, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
