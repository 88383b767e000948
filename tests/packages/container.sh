#!/bin/bash
# usage: container.sh BUILD
# Builds packaging/container/Containerfile with buildah and asks a server in the image. Its first
# stage, which compiles, is replaced by the finished BUILD; the second is as it stands. The images
# it begins with are made by mmdebstrap, so no registry is asked. Needs root and Debian's packages.
#
# WINDROW_CLEAN_ROOT: as for clean_root.sh, which makes such a file.
set -euo pipefail
build=$1
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly build sources

if [[ -z ${WINDROW_CLEAN_DEBIAN:-} ]] || ((EUID != 0)) || ! command -v mmdebstrap >/dev/null ||
  ! command -v buildah >/dev/null; then
  echo "skipped: this needs WINDROW_CLEAN_DEBIAN=1 (./test --full), root, buildah and mmdebstrap"
  exit 77 # what CTest takes for skipped
fi
if ! unshare --mount --pid --fork true 2>/dev/null; then
  echo "skipped: this machine lets nobody make namespaces, as most containers do"
  exit 77
fi
if grep -q '^WINDROW_SANITIZE:[^=]*=.' "$build/CMakeCache.txt"; then
  echo "skipped: nobody gets packages with sanitizers"
  exit 77
fi

folder=$(mktemp -d)
export BUILDAH_ISOLATION=chroot
images() {
  buildah --root "$folder/images" --runroot "$folder/run" --storage-driver vfs "$@"
}
clean_up() {
  images umount --all >/dev/null 2>&1 || true
  rm -rf --one-file-system "$folder"
}
trap clean_up EXIT

fail() {
  echo "failed: $*" >&2
  exit 1
}

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
tar=${WINDROW_CLEAN_ROOT:-$folder/clean.tar}
if [[ ! -s $tar ]]; then
  mmdebstrap --quiet --format=tar --variant=minbase "$suite" "$tar" \
    /etc/apt/sources.list.d/debian.sources
fi
base=$(images from scratch)
tar -C "$(images mount "$base")" -xpf "$tar"
images umount "$base" >/dev/null
# The names that the file begins with; what is there is not looked for elsewhere.
for name in 12 12-slim; do
  images commit -q "$base" "docker.io/library/debian:$name" >/dev/null
done

mkdir "$folder/context"
cmake --install "$build" --prefix "$folder/context/tree" >/dev/null
file=$sources/packaging/container/Containerfile
sed -e '/^COPY \. /,/^ && cmake --install/d' \
  -e 's,^\(FROM .* AS build\)$,\1\nCOPY tree /opt/windrow,' "$file" >"$folder/Containerfile"
grep -q setup "$folder/Containerfile" && fail "the first stage has other steps than this test knows"
images build -q --pull-never --format docker -f "$folder/Containerfile" -t windrow \
  "$folder/context" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "it cannot be built"; }

[[ $(images inspect --type image --format '{{.OCIv1.Config.User}}' windrow) == windrow ]] ||
  fail "the image runs as another user"
container=$(images from --pull-never windrow)
inside() { images run --user windrow "$container" -- "$@"; }
[[ $(inside id -u) == 10001 ]] || fail "the user has another number"
[[ $(inside windrow --version) == "windrow "* ]] || fail "the program does not start"
inside windrow doctor || fail "doctor finds faults"
# The entry point with a model, and the health check, which asks whether it is ready.
check=$(grep -oP '(?<=\["bash", "-c", ").*(?="\])' "$file" | sed 's/\\\\/\\/g')
# shellcheck disable=SC2016 # the shell in the container expands it
inside bash -c '
  coproc windrow serve --listen 0.0.0.0:8080 --data-dir /data --model sim: --insecure-no-keys --json
  while read -r line <&"${COPROC[0]}" && [[ $line != *\"ready\"* ]]; do :; done
  eval "$1" && kill "$COPROC_PID" && wait "$COPROC_PID"' bash "$check" ||
  fail "the server in the image is not healthy"
echo "built, and healthy"
