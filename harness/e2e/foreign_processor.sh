#!/usr/bin/env bash
# foreign_processor.sh PROCESSOR   what was cross-built for PROCESSOR (aarch64) and packaged, under qemu's emulation of a
# user's programs. Needs root, and Linux >= 6.7: there the kernel starts foreign programs through qemu inside of one user
# namespace only, so nothing of this system changes. 77 where that cannot be had.
#
# First the static runner with every misbehaving program, and with unit tests as its cases; then the packages on Debian 12
# for that processor, of which only files are unpacked: nothing in it is configured.
#
# What the emulator lacks, the runner must find out and say: qemu-user makes no namespaces (clone with CLONE_NEWPID is
# EINVAL) and knows no clone3 (ENOSYS), so of the layers of containment only the subreaper is left; before QEMU 8 it has
# not even that (prctl refuses PR_SET_CHILD_SUBREAPER), so Debian 13's is taken.
set -euo pipefail
self=$(readlink -f "$0")
source=$(realpath "$(dirname "$self")/../..")

die() {
  echo "foreign_processor: $*" >&2
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

expect() { # exit code, words that must be in the output, command...
  local code=$1 words=$2 output got=0
  shift 2
  output=$("$@" 2>&1) || got=$?
  [ "$got" = "$code" ] || die "exit $got instead of $code of: $*"$'\n'"$(tail -20 <<<"$output")"
  grep -qF -- "$words" <<<"$output" || die "no '$words' in what this says: $*"$'\n'"$(tail -20 <<<"$output")"
}

register() { # qemu
  # Little-endian ELF of 64 bits, executable or shared object, for machine 0xb7. F: qemu is opened now, and found anywhere.
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc 2>/dev/null || skip "no binfmt_misc in a user namespace"
  printf '%s' ':proctor:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$1:F" \
    >/proc/sys/fs/binfmt_misc/register || skip "the kernel takes no $1"
}

static_runner() { # processor, work
  local bin=$source/build-$1/bin work=$2
  expect 0 "linked    statically, musl, $1" "$bin/proctor" --version
  echo "ok $("$bin/proctor" --version | tr -s ' \n' ' ')"
  expect 2 'use containment cgroup here: start a child (clone3): Function not implemented (ENOSYS)' \
    "$bin/proctor" run --containment cgroup --out "$work/cgroup" -- /bin/true
  expect 2 'use containment pidns here: clone: Invalid argument (EINVAL)' \
    "$bin/proctor" run --containment pidns --out "$work/pidns" -- /bin/true
  echo "ok cgroup and pidns are refused, with the system call that the emulator lacks"
  PROCTOR_BIN_DIR=$bin python3 -B "$source/harness/e2e/torture.py" --layer subreaper
  expect 0 ' pass ·' "$bin/proctor" run --min-executed 30 --out "$work/unit" -- "$bin/proctor_base_test"
  echo "ok unit tests of the runner as its cases"
}

in_root() { # root, command...
  chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8 "${@:2}"
}

packages() { # processor, root
  local root=$2 proctor=/opt/moved/bin/proctor deb
  mkdir -p "$root/proc" "$root/dev" "$root/opt"
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  tar -xzf "$source/build-$1/packages"/proctor-*-linux-"$1".tar.gz -C "$root/opt" --no-same-owner
  mv "$root/opt"/proctor-* "$root/opt/moved"
  expect 0 'exit 0 (PASSED)' in_root "$root" $proctor run --out /tmp/true -- /bin/true
  expect 1 'fail · exit code 1' in_root "$root" $proctor run --out /tmp/false -- /bin/false
  expect 3 'library_missing:cuda_sim/libcudart.so.13' in_root "$root" $proctor devices --sim cuda:2
  expect 0 'memory.xpu/' in_root "$root" $proctor list memory --backend xpu --sim xpu:2x2
  echo "ok Debian 12: commands, and the suites' cases; without our CUDA Runtime a run says what is missing"
  for deb in "$source/build-$1/packages"/*.deb; do
    [ "$(dpkg-deb -f "$deb" Architecture)" = arm64 ] || die "not for arm64: $deb"
    dpkg-deb -x "$deb" "$root"
  done
  expect 0 'exit 0 (PASSED)' in_root "$root" proctor run --out /tmp/installed -- /bin/true
  [ -s "$root/usr/share/man/man1/proctor.1.gz" ] || die "no manual page in the packages"
  echo "ok Debian 12: what the Debian packages unpack"
}

wheels() { # processor, root
  local root=$2 pytest
  mkdir "$root/packages"
  mount --bind "$source/build-$1/packages" "$root/packages"
  in_root "$root" python3 -m venv --system-site-packages /tmp/venv
  in_root "$root" /tmp/venv/bin/pip install --quiet --no-index --find-links /packages 'proctor[suites]'
  expect 0 'installed wheel, /tmp/venv' in_root "$root" /tmp/venv/bin/proctor --version
  expect 0 'exit 0 (PASSED)' in_root "$root" /tmp/venv/bin/proctor run --out /tmp/wheel -- /bin/true
  printf 'def test_good(): pass\ndef test_bad(): assert 1 == 2\n' >"$root/tmp/test_two.py"
  pytest=(/tmp/venv/bin/python -m pytest -p no:cacheprovider /tmp/test_two.py)
  expect 1 '2 planned: 1 passed, 1 failed' in_root "$root" /tmp/venv/bin/proctor run --out /tmp/plugin -- "${pytest[@]}"
  expect 0 '1 planned: 1 passed' in_root "$root" /tmp/venv/bin/proctor run memory --sim xpu:1x1 \
    --filter '*HostToDevice*' --out /tmp/verdict
  echo "ok Debian 12, the wheels: a command, pytest, and a check on a simulated device"
}

if [ "${1:-}" = --inside ]; then
  register "$3/qemu"
  static_runner "$2" "$3"
  packages "$2" "$3/root"
  wheels "$2" "$3/root"
  exit
fi
[ "${1:-}" = aarch64 ] || die "usage: foreign_processor.sh aarch64"
[ "$(id -u)" = 0 ] || die "needs root (chroot and mounts): sudo ./dev test --full $1"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
mmdebstrap --quiet --variant=extract --include=qemu-user trixie "$work/emulators" || die "mmdebstrap trixie failed"
mv "$work/emulators/usr/bin/qemu-$1" "$work/qemu"
rm -r "$work/emulators"
mmdebstrap --quiet --variant=extract --arch=arm64 --include=libc6,coreutils,dash,python3-venv,python3-pytest bookworm "$work/root" ||
  die "mmdebstrap bookworm for arm64 failed"
unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc "$self" --inside "$1" "$work"
