#!/bin/bash
# usage: form.sh BUILD VERSION
# Packs a finished build and looks at the packages: what they say of themselves, whose files they
# hold, that the program in them starts in a folder of its own, and that packing it again gives the
# same bytes. lintian looks too, where it is installed, and the build is one that somebody may get.
set -euo pipefail
build=$1 version=$2
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly build version sources

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
arch=$(dpkg --print-architecture)

fail() {
  echo "$*" >&2
  exit 1
}

pack() { # FOLDER
  SOURCE_DATE_EPOCH=1700000000 "$sources/packaging/build-deb" --build-dir "$build" \
    --output "$1" --fast "${@:2}" >/dev/null
}

tarball=()
if grep -q '^WINDROW_RUNTIME:PATH=.' "$build/CMakeCache.txt"; then tarball=(--tarball); fi
pack "$folder/one" "${tarball[@]}"
(umask 077 && pack "$folder/two" "${tarball[@]}")
diff -r "$folder/one" "$folder/two" || fail "packing the same build twice gave other bytes"

package=$folder/one/windrow_${version}_$arch.deb
[[ $(dpkg-deb -f "$package" Package Version Architecture) == *"$version"* ]] ||
  fail "the package has another version than $version"
depends=$(dpkg-deb -f "$package" Depends)
[[ $depends == *adduser* ]] || fail "the package makes a user and does not depend on adduser"

root=$folder/root
mkdir "$root"
for file in "$folder"/one/*.deb; do
  # Everything belongs to root, is readable by all, and is as old as it was said to be.
  odd=$(TZ=UTC dpkg-deb -c "$file" |
    grep -vE '^(d|-)rw.r-.r-. root/root +[0-9]+ 2023-11-14 ' || true)
  [[ -z $odd ]] || fail "${file##*/} holds files with other owners, modes or times: $odd"
  dpkg-deb -x "$file" "$root"
  mkdir "$folder/control"
  dpkg-deb -e "$file" "$folder/control"
  (cd "$root" && md5sum --quiet -c "$folder/control/md5sums") || fail "md5sums are wrong"
  rm -r "$folder/control"
done

for file in usr/bin/windrow usr/lib/systemd/system/windrow.service etc/windrow/windrow.toml \
  usr/share/man/man1/windrow.1.gz usr/share/bash-completion/completions/windrow \
  usr/share/zsh/vendor-completions/_windrow usr/share/doc/windrow/copyright; do
  [[ -s $root/$file ]] || fail "/$file is in no package"
done
grep -qx 'ExecStart=/usr/bin/windrow serve' "$root/usr/lib/systemd/system/windrow.service" ||
  fail "the unit starts another program"

if [[ -d $root/usr/lib/windrow ]]; then
  [[ $depends == *"windrow-runtime (= $version)"* ]] ||
    fail "the package does not depend on the runtime of its version"
  program=$root/usr/bin/windrow
  loader=$(patchelf --print-interpreter "$program")
  [[ -x $root$loader && $loader == /usr/lib/windrow/* ]] || fail "its loader is not in: $loader"
  [[ $(patchelf --print-rpath "$program") == /usr/lib/windrow ]] || fail "it has another run path"
  # Nothing of the machine that built it: neither its loader nor a library.
  listed=$("$root$loader" --library-path "$root/usr/lib/windrow" --list "$program")
  outside=$(grep '=>' <<<"$listed" | grep -vF "=> $root/usr/lib/windrow/" || true)
  [[ -z $outside ]] || fail "it takes libraries from outside the packages: $outside"
fi

if command -v lintian >/dev/null &&
  ! grep -q '^WINDROW_SANITIZE:[^=]*=.' "$build/CMakeCache.txt"; then
  lintian --fail-on error,warning --allow-root --tag-display-limit 0 "$folder"/one/*.deb ||
    fail "lintian does not accept the packages"
fi
