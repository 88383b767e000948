#!/bin/bash
# usage: tree.sh CMAKE BUILD VERSION
# Installs, moves the tree elsewhere, and runs the program from there in an empty environment: with
# nothing but the libraries it carries.
set -euo pipefail
cmake=$1 build=$2 version=$3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

"$cmake" --install "$build" --prefix "$folder/here" >/dev/null
mkdir "$folder/a folder"
mv "$folder/here" "$folder/a folder/moved"
tree="$folder/a folder/moved"

for file in bin/windrow share/man/man1/windrow.1 share/bash-completion/completions/windrow \
  share/zsh/site-functions/_windrow share/fish/vendor_completions.d/windrow.fish \
  share/doc/windrow/LICENSE share/doc/windrow/README.md share/doc/windrow/docs/api.md \
  share/doc/windrow/docs/operating.md share/doc/windrow/docs/formats.md \
  share/windrow/systemd/windrow.service share/windrow/systemd/windrow.toml; do
  [[ -s $tree/$file ]] || fail "$file is not installed"
done

run() { (cd / && env -i "$@"); }

said=$(run "$tree/bin/windrow" --version) || fail "windrow --version failed: $said"
[[ $said == *"$version"* ]] || fail "windrow --version says '$said', not $version"

ln -s "$tree/bin/windrow" "$folder/linked"
[[ $(run "$folder/linked" --version) == "$said" ]] || fail "a link to bin/windrow does not start it"
[[ $(run PATH="$tree/bin:/usr/bin:/bin" windrow --version) == "$said" ]] ||
  fail "windrow does not start by way of PATH"

# Its process is called windrow, whatever started it.
coproc { cd / && exec env -i "$tree/bin/windrow" sim-upstream --instant --port 0; }
pid=$COPROC_PID
read -r _ <&"${COPROC[0]}" || fail "windrow sim-upstream does not start"
name=$(<"/proc/$pid/comm")
kill "$pid"
wait "$pid" || true
[[ $name == windrow ]] || fail "the process is called $name"

found=$(run "$tree/bin/windrow" doctor --listen 127.0.0.1:0 --json) || fail "doctor finds: $found"
[[ ! -d $tree/lib/windrow || $found == *"$tree/lib/windrow/libllama"* ]] ||
  fail "doctor did not find the libllama of the tree: $found"

outcome=0
run "$tree/bin/windrow" no-such-command >/dev/null 2>&1 || outcome=$?
((outcome == 2)) || fail "the exit code of windrow was lost: $outcome"

if [[ -d $tree/lib/windrow ]]; then
  loader=$(compgen -G "$tree/lib/windrow/ld-linux*")
  for binary in "$tree/libexec/windrow/windrow" "$tree"/lib/windrow/backends/*.so; do
    listed=$("$loader" --library-path "$tree/lib/windrow" --list "$binary")
    # The loader of Vulkan is the machine's own, because it finds the machine's drivers.
    outside=$(grep '=>' <<<"$listed" | grep -vF "=> $tree/lib/windrow/" |
      grep -v 'libvulkan\.so\.1 =>' || true)
    [[ -z $outside ]] || fail "${binary##*/} takes libraries from outside the tree: $outside"
  done
  compgen -G "$tree/share/doc/windrow/third_party/libllama0.copyright" >/dev/null ||
    fail "the licences of the libraries are not installed"
fi
echo "installed, moved and started: $said"
