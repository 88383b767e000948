#!/bin/sh
# usage: flags.sh WINDROW SOURCES
# The manual page and the completions are up to date and name the flags that the program has.
set -eu
help=$(mktemp -d)
trap 'rm -rf "$help"' EXIT
"$1" run --help >"$help/run"
"$1" sim-upstream --help >"$help/sim"
python3 -I "$2/packaging/generate.py" --check "$help/run" "$help/sim"
bash -n "$2/packaging/windrow.bash"
