#!/bin/sh
# usage: flags.sh WINDROW SOURCES
# The manual page and the completions are up to date and name the flags that the program has.
set -eu
help=$(mktemp -d)
trap 'rm -rf "$help"' EXIT
for command in run retry serve status keys probe sim-upstream; do
  "$1" "$command" --help >"$help/$command"
done
python3 -I "$2/packaging/generate.py" --check "$help"
bash -n "$2/packaging/windrow.bash"
