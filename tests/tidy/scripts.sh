#!/bin/sh
# Checks the shell scripts of the project with shellcheck.
set -eu
cd "$(dirname "$0")/../.."
for script in setup demo test .ci/run packaging/build-deb packaging/debian/windrow.p* \
  tests/*/*.sh tools/*.sh tools/*/*.sh examples/memory/run bench/*.sh packaging/*.sh; do
  if [ -f "$script" ]; then
    echo "$script"
  fi
done | xargs shellcheck -x
