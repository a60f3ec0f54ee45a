#!/usr/bin/env bash
# package_roots.sh PACKAGES   the packages on systems that have nothing: bare roots of Debian 11, 12 and 13 (mmdebstrap).
# Needs root.
#
# In each the tarball, unpacked, its directory moved, run by an ordinary user; the wheels, installed by pip without a network
# into an empty virtual environment; where the distribution has Level Zero's loader (from 12 on) the Debian packages by apt,
# which brings what they depend on. Of the tarball and the Debian packages all suites run on simulated devices, of both
# vendors where the packages were made with the CUDA toolkit; of the wheels one check. Where the distribution's CMake is new
# enough (from 12 on), a project of 15 lines has the tarball's suites as its tests.
set -euo pipefail
self=$(readlink -f "$0")
user=10001  # nobody in /etc/passwd

die() {
  echo "package_roots: $*" >&2
  exit 1
}

as_user() { # root, command...
  local root=$1
  shift
  chroot --userspec=$user:$user "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8 sh -ec 'cd /tmp; exec "$@"' sh "$@"
}

expect() { # exit code, words that must be in the output, command...
  local code=$1 words=$2 output got=0
  shift 2
  output=$("$@" 2>&1) || got=$?
  [ "$got" = "$code" ] || die "exit $got instead of $code of: $*"$'\n'"$(tail -20 <<<"$output")"
  grep -qF -- "$words" <<<"$output" || die "no '$words' in what this says: $*"$'\n'"$(tail -20 <<<"$output")"
}

run_all() { # root, proctor, devices
  expect 0 'exit 0 (PASSED)' as_user "$1" "$2" run --sim "$3" --out "/tmp/out-$RANDOM"
}

apt_install() { # root, packages...
  local root=$1
  shift
  chroot "$root" /usr/bin/env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "$@" \
    >"$root/tmp/apt.log" 2>&1 || die "apt-get install $*"$'\n'"$(tail -20 "$root/tmp/apt.log")"
}

tarball_alone() { # root, packages, devices for a run on each
  local root=$1 packages=$2 devices=$3 tarball cards
  tarball=$(cd "$packages" && ls proctor-*.tar.gz)
  mkdir "$root/opt/first"
  tar -xzf "$packages/$tarball" -C "$root/opt/first" --no-same-owner
  mv "$root/opt/first/${tarball%.tar.gz}" "$root/opt/moved"
  expect 0 'installed archive, /opt/moved' as_user "$root" /opt/moved/bin/proctor --version
  for cards in $devices; do run_all "$root" /opt/moved/bin/proctor "$cards"; done
  rm -r "$root/opt/moved"
}

cmake_project() { # root, packages, devices
  local root=$1 packages=$2 devices=$3 tarball
  apt_install "$root" cmake make
  tarball=$(cd "$packages" && ls proctor-*.tar.gz)
  mkdir "$root/opt/moved" "$root/tmp/project"
  tar -xzf "$packages/$tarball" -C "$root/opt/moved" --no-same-owner --strip-components=1
  cat >"$root/tmp/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(check_my_machine LANGUAGES NONE)
enable_testing()
find_package(Proctor REQUIRED)
proctor_add_conformance()
proctor_add_conformance(SIMULATED $devices SUITES visibility memory)
PROJECT
  chown -R $user "$root/tmp/project"
  expect 0 'Generating done' as_user "$root" cmake -S project -B project/build -DCMAKE_PREFIX_PATH=/opt/moved
  expect 0 'simulated: no evidence about hardware' as_user "$root" ctest --test-dir project/build -V -j2 -L '^simulated$'
  # The root has the device nodes of this machine, and no driver for them.
  expect 0 'conformance.memory.xpu (Skipped)' as_user "$root" ctest --test-dir project/build -L '^conformance$'
  rm -r "$root/opt/moved"
}

wheels() { # root
  local root=$1 began=$EPOCHREALTIME
  apt_install "$root" python3-venv
  as_user "$root" python3 -m venv /tmp/venv
  began=$EPOCHREALTIME
  as_user "$root" /tmp/venv/bin/pip install --quiet --no-index --find-links /packages 'proctor[suites]' ||
    die "pip could not install the wheels"
  expect 0 'simulated: no evidence about hardware' as_user "$root" /tmp/venv/bin/proctor run memory --sim xpu:1x1 \
    --filter '*HostToDevice*' --out /tmp/first
  seconds=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
  expect 0 'installed wheel, /tmp/venv' as_user "$root" /tmp/venv/bin/proctor --version
}

debian_packages() { # root, packages, devices
  local root=$1 packages=$2 devices=$3 debs left
  mapfile -t debs < <(cd "$packages" && printf '/packages/%s\n' proctor*.deb)
  apt_install "$root" "${debs[@]}"
  chroot "$root" dpkg-query -W libze1 >/dev/null || die "the packages did not bring libze1"
  run_all "$root" proctor "$devices"
  expect 0 '' chroot "$root" apt-get purge -yq proctor proctor-suites proctor-simulator proctor-dev
  left=$(find "$root/usr" -path '*proctor*')
  [ -z "$left" ] || die "purge leaves: $left"
}

# Runs in its own mount and PID namespace, so that nothing stays mounted or running.
inside() { # root, packages
  local root=$1 packages=$2 name cuda='' cuda12='' seconds
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  mkdir "$root/packages"
  mount --bind "$packages" "$root/packages"
  cp /etc/resolv.conf "$root/etc/"
  name=$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' "$root/etc/os-release")
  if tar -tzf "$packages"/proctor-*.tar.gz | grep '/memory_cuda$' >/dev/null; then cuda=cuda:4; fi
  if tar -tzf "$packages"/proctor-*.tar.gz | grep '/memory_cuda12$' >/dev/null; then cuda12=cuda:4@12; fi
  tarball_alone "$root" "$packages" "xpu:2x2${cuda:+,$cuda} $cuda12"
  echo "ok $name, the tarball: xpu:2x2${cuda:+,$cuda} $cuda12"
  chroot "$root" apt-get update -q >/dev/null
  wheels "$root"
  echo "ok $name, the wheels: $seconds s from pip install to the first verdict"
  if ! chroot "$root" apt-cache show libze1 >/dev/null 2>&1; then
    echo "ok $name has no libze1, which the Debian packages depend on"
    return
  fi
  cmake_project "$root" "$packages" "xpu:2x2${cuda:+,$cuda}"
  echo "ok $name, a CMake project on the tarball"
  debian_packages "$root" "$packages" "xpu:2x2${cuda:+,$cuda}"
  echo "ok $name, the Debian packages: xpu:2x2${cuda:+,$cuda}; nothing is left after purge"
}

if [ "${1:-}" = --inside ]; then
  inside "$2" "$3"
  exit
fi
[ $# = 1 ] || die "usage: package_roots.sh PACKAGES"
[ "$(id -u)" = 0 ] || die "needs root (chroot and mounts): sudo ./dev test --full install"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
for release in bullseye bookworm trixie; do
  mmdebstrap --quiet --variant=apt $release "$work/$release" || die "mmdebstrap $release failed"
  unshare --mount --pid --fork --kill-child "$self" --inside "$work/$release" "$(realpath "$1")"
done
