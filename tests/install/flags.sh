#!/bin/sh
# usage: flags.sh WINDROW SOURCES
# The manual page and the completions say what the program says in --help.
set -eu
python3 -I "$2/packaging/generate.py" "$1" --check
bash -n "$2/packaging/windrow.bash"
