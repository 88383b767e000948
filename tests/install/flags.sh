#!/bin/sh
# usage: flags.sh WINDROW SOURCES
# The manual page and the completions are up to date and name the flags that the program has.
set -eu
help=$(mktemp)
trap 'rm -f "$help"' EXIT
"$1" run --help >"$help"
python3 -I "$2/packaging/generate.py" --check "$help"
bash -n "$2/packaging/windrow.bash"
