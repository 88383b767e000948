#!/bin/bash
# usage: setup.sh SOURCE_DIR
# ./setup --device with the packages that ./setup --tests fetched, in a cache of its own: without
# the flag there is no plug-in, with it there is, again after it was damaged, and it is kept.
set -euo pipefail
source_dir=$1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/windrow

fail() {
  echo "$*" >&2
  exit 1
}

if [[ ! -r $cache/debs/resolved.rpc ]]; then
  # A libllama of the system comes with packages of the system.
  [[ ! -e $cache/runtime/current ]] || fail "./setup --tests has not fetched what this test needs"
  echo "no private runtime, nothing to test"
  exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/windrow/debs"
for list in resolved resolved.rpc; do
  sed "s|$cache/debs/|$folder/windrow/debs/|" "$cache/debs/$list" >"$folder/windrow/debs/$list"
  while read -r _ _ _ file; do ln "$file" "$folder/windrow/debs/" 2>/dev/null ||
    cp "$file" "$folder/windrow/debs/"; done <"$cache/debs/$list"
done
setup() { XDG_CACHE_HOME=$folder "$source_dir/setup" "$@" 2>&1; }
runtime=$folder/windrow/runtime/current
plugin=$runtime/lib/ggml/backends0/libggml-rpc.so

setup >/dev/null || fail "./setup failed"
[[ ! -e $plugin && ! -e $runtime/devices ]] || fail "there is a device that nobody asked for"

said=$(setup --device rpc) || fail "./setup --device rpc failed: $said"
[[ $said == *"devices: rpc)" ]] || fail "./setup --device rpc says: $said"
loader=$(compgen -G "$runtime/lib/ld-linux*")
"$loader" --list "$plugin" | grep -q "libggml-base.so.0 => $folder/" ||
  fail "the plug-in does not find libggml of the runtime"
grep -q '^package libggml0-backend-rpc ' "$runtime/devices/rpc/manifest" || fail "no record"

said=$(setup)
[[ $said == "setup: ready ("*"devices: rpc)" ]] || fail "the device is not kept: $said"

echo damaged >>"$(readlink -f "$plugin")"
said=$(setup)
[[ $said == *"making libggml's plug-in for rpc ready"* ]] || fail "damage is not seen: $said"
if tail -n 1 "$(readlink -f "$plugin")" | grep -qx damaged; then fail "it stays damaged"; fi

outcome=0
said=$(setup --device toaster) || outcome=$?
[[ $outcome == 2 && $said == *"there are vulkan hip blas rpc" ]] || fail "unknown device: $said"
outcome=0
said=$(setup --libllama "$folder") || outcome=$?
[[ $outcome == 2 && $said == *"lacks include/llama.h"* ]] || fail "no libllama there: $said"
