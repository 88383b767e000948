#!/bin/bash
# usage: clean_root.sh BUILD VERSION
# Installs, uses, upgrades, removes and purges the packages in a clean Debian of the suite of this
# machine, made by mmdebstrap from its apt sources; the service runs under a real systemd where one
# can be started in namespaces. Needs root, mmdebstrap and the network (Debian's packages).
#
# WINDROW_CLEAN_ROOT: a tar file that keeps the clean Debian for the next run.
set -euo pipefail
build=$1 version=$2
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly build version sources

if [[ -z ${WINDROW_CLEAN_DEBIAN:-} ]] || ((EUID != 0)) || ! command -v mmdebstrap >/dev/null; then
  echo "skipped: this needs WINDROW_CLEAN_DEBIAN=1 (./test --full), root and mmdebstrap"
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
systemd=''
clean_up() {
  if [[ -n $systemd ]]; then kill -KILL "$systemd" 2>/dev/null || true; fi
  umount -R -l "$folder/root" 2>/dev/null || true
  umount -R -l "$folder/root/proc" "$folder/root/dev" 2>/dev/null || true
  rm -rf --one-file-system "$folder"
}
trap clean_up EXIT

fail() {
  echo "failed: $*" >&2
  exit 1
}
step() { echo "== $*"; }

# --- the clean root ---------------------------------------------------------------------------

step "a clean Debian"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
readonly root=$folder/root
tar=${WINDROW_CLEAN_ROOT:-$folder/clean.tar}
if [[ ! -s $tar ]]; then
  mmdebstrap --quiet --format=tar --variant=minbase \
    --include=adduser,systemd,systemd-sysv,dbus,procps,curl "$suite" "$tar.part" \
    /etc/apt/sources.list.d/debian.sources
  mv "$tar.part" "$tar"
fi
mkdir "$root"
tar -C "$root" -xpf "$tar"

step "packages of two versions"
newer=$version+1
for one in "$version" "$newer"; do
  "$sources/packaging/build-deb" --build-dir "$build" --output "$root/packages" --version "$one" \
    --fast >/dev/null
done
packages_of() { (cd "$root" && find packages -name "*_$1_*.deb" -printf '/%p\n' | sort -r); }

mount --rbind --make-rslave /dev "$root/dev"
mount -t proc proc "$root/proc"
readonly environment=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root)
inside() { chroot "$root" "${environment[@]}" "$@"; }
as_service() { inside runuser -u windrow -- "$@"; }

# --- without a service manager ----------------------------------------------------------------

step "installed"
# shellcheck disable=SC2046 # one word for each package
inside dpkg -i $(packages_of "$version") >"$folder/dpkg.log" 2>&1 ||
  { cat "$folder/dpkg.log" >&2; fail "the packages cannot be installed"; }
[[ $(inside stat -c '%U:%G %a' /etc/windrow) == "root:windrow 750" ]] || fail "/etc/windrow"
[[ $(inside stat -c '%U:%G %a' /var/lib/windrow) == "windrow:windrow 700" ]] ||
  fail "/var/lib/windrow"
[[ $(inside windrow --version) == "windrow "* ]] || fail "the program does not start"
inside test ! -e /etc/systemd/system/multi-user.target.wants/windrow.service ||
  fail "the service is enabled before it has a model"
faults=$(inside systemd-analyze --man=no verify windrow.service 2>&1) ||
  fail "systemd finds faults in the unit: $faults"

step "keys that root makes are read by the service"
key=$(inside windrow keys add /etc/windrow/keys.txt alice 2>/dev/null)
[[ $(inside stat -c '%U:%G %a' /etc/windrow/keys.txt) == "root:windrow 640" ]] || fail "keys.txt"
as_service windrow keys list /etc/windrow/keys.txt | grep -q alice || fail "keys are not readable"

sed -i 's/^# model = .*/model = ["sim:instant"]/; s/^# api-keys/api-keys/' \
  "$root/etc/windrow/windrow.toml"

step "doctor"
as_service sh -c 'cd /etc/windrow && windrow doctor' || fail "doctor finds faults"
inside chgrp root /etc/windrow/keys.txt
inside sh -c 'cd /etc/windrow && windrow doctor' >"$folder/doctor" && fail "doctor finds nothing"
grep -q 'keys.txt cannot be read by the user windrow' "$folder/doctor" || fail "doctor: keys"
inside chgrp windrow /etc/windrow/keys.txt

# --- under systemd ----------------------------------------------------------------------------

# Starts the systemd of the root as process 1 of its own namespaces. Sets `systemd` to its process.
boot() {
  umount -R "$root/proc" "$root/dev"
  mount --bind "$root" "$root"
  # shellcheck disable=SC2016 # the inner shell expands it
  unshare --fork --pid --mount --uts --ipc --cgroup -- bash -c '
    set -e
    root=$1
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/dev" -o mode=755
    for file in null zero full random urandom tty; do
      touch "$root/dev/$file"
      mount --bind "/dev/$file" "$root/dev/$file"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir "$root/dev/shm" "$root/dev/pts"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs tmpfs "$root/run" -o mode=755
    mount -t tmpfs tmpfs "$root/tmp" -o mode=1777
    cd "$root"
    mkdir -p .old
    pivot_root . .old
    exec chroot . sh -c "umount -l /.old; exec env -i container=windrow-test \
      /lib/systemd/systemd --log-target=console --show-status=no systemd.unit=multi-user.target"
  ' bash "$root" >"$folder/systemd.log" 2>&1 &
  local unshared=$!
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    systemd=$(pgrep -P "$unshared" || true)
    if [[ -n $systemd ]] && [[ $(booted is-system-running) =~ ^(running|degraded)$ ]]; then
      return 0
    fi
    sleep 0.2
  done
  return 1
}
in_boot() { nsenter -t "$systemd" -a "${environment[@]}" "$@"; }
booted() { in_boot systemctl "$@" 2>/dev/null; }

answer() { # PATH
  in_boot curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $key" \
    "http://127.0.0.1:8080$1"
}

step "under systemd"
if ! boot; then
  tail -n 20 "$folder/systemd.log" >&2
  fail "systemd does not start in namespaces on this machine"
fi
in_boot systemctl enable --now windrow ||
  { in_boot journalctl -u windrow --no-pager >&2; fail "the service does not start"; }
[[ $(booted is-active windrow) == active ]] || fail "the service is not active"
pid=$(booted show -p MainPID --value windrow)
[[ $(in_boot cat "/proc/$pid/comm") == windrow ]] || fail "the process has another name"
[[ $(in_boot stat -c %U "/proc/$pid") == windrow ]] || fail "the process has another user"
booted status windrow | grep -q 'Status: "serving ' || fail "it does not say what it serves"
[[ $(answer /v1/models) == 200 && $(key='' answer /v1/models) == 401 ]] || fail "keys"
booted reload windrow || fail "reload"

step "upgraded"
# shellcheck disable=SC2046
in_boot dpkg -i $(packages_of "$newer") >"$folder/dpkg.log" 2>&1 ||
  { cat "$folder/dpkg.log" >&2; fail "the upgrade"; }
[[ $(booted is-active windrow) == active ]] || fail "the service does not run after the upgrade"
[[ $(booted show -p MainPID --value windrow) != "$pid" ]] || fail "it was not restarted"
[[ $(answer /v1/models) == 200 ]] || fail "it does not answer after the upgrade"
in_boot grep -q sim:instant /etc/windrow/windrow.toml || fail "the settings were replaced"

step "removed and purged"
in_boot dpkg --remove windrow >/dev/null
[[ -z $(in_boot pgrep -x windrow || true) ]] || fail "it runs after it was removed"
in_boot test -s /etc/windrow/keys.txt || fail "removing deleted the keys"
in_boot test -s /var/lib/windrow/windrow.db || fail "removing deleted the data"
in_boot dpkg --purge windrow windrow-runtime >"$folder/dpkg.log" 2>&1 ||
  { cat "$folder/dpkg.log" >&2; fail "the purge"; }
left=$(in_boot find / -xdev -name '*windrow*' -not -path '/packages/*' -not -path '/proc/*' \
  -not -path '/var/log/*' -not -path '/var/lib/dpkg/*')
[[ -z $left ]] || fail "a purge left: $left"
step "done"
