#!/bin/sh
# usage: format.sh [--fix]     Checks the form of every C++ file (.clang-format), or puts it right.
set -eu
cd "$(dirname "$0")/../.."
if [ "${1:-}" = --fix ]; then
  set -- -i
else
  set -- --dry-run -Werror
fi
find src tools tests bench -name '*.h' -o -name '*.cc' | sort |
  xargs clang-format-19 --style=file --ferror-limit=3 "$@"
