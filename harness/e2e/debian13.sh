#!/usr/bin/env bash
# Builds and tests inside a Debian 13 root (g++ 14, Boost 1.83: the generation of Ubuntu 24.04). Needs root.
#
# The root is made once and kept in ~/.cache/proctor/debian13; so is the build in it. Intel's driver and Gloo are left
# out on purpose: there the tests must say that the library is missing. A CUDA toolkit in /usr/local/cuda is mounted, so
# that its sources are compiled too.
set -euo pipefail
self=$(readlink -f "$0")
cd "$(dirname "$self")/../.."

mapfile -t packages < <(./dev packages)
packages+=(libboost-dev clang-19 llvm-spirv-19 mount)

die() {
  echo "debian13: $*" >&2
  exit 2
}

make_root() { # the mark holds the packages that the root was made with
  local root=$1 wanted=${packages[*]}
  [ "$(cat "$root/.complete" 2>/dev/null)" != "$wanted" ] || return 0
  echo "debian13: making a Debian 13 root in $root (about 1 GB)"
  rm -rf "$root"
  mkdir -p "$(dirname "$root")"
  mmdebstrap --quiet --variant=apt --include="${wanted// /,}" trixie "$root" || die "mmdebstrap trixie failed"
  echo "$wanted" >"$root/.complete"
}

copy_sources() { # the files that git knows or would add, nothing that was built
  local root=$1
  rm -rf "$root/src"
  mkdir -p "$root/src"
  git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard --deduplicate |
    while IFS= read -r -d '' file; do
      [ ! -e "$file" ] || printf '%s\0' "$file"
    done |
    tar -c --null -T - | tar -x -C "$root/src"
}

# Runs in its own mount and PID namespace, so that nothing stays mounted or running.
test_inside() {
  local root=$1
  mount --bind "$root" "$root"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/tmp"
  if [ -e /usr/local/cuda ]; then
    mkdir -p "$root/usr/local/cuda"
    mount --rbind /usr/local/cuda "$root/usr/local/cuda"
    mount -o remount,bind,ro "$root/usr/local/cuda"
  fi
  mkdir -p "$root/outside"
  cd "$root"
  # Not only chroot: below a root that is no mount point there are no mount namespaces, and paths in /proc are not ours.
  pivot_root . outside
  exec env -i PATH=/usr/local/cuda/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot . /bin/sh -ec '
    umount --lazy /outside
    cmake -G Ninja -S /src -B /build -U CMAKE_CUDA_COMPILER -DCMAKE_BUILD_TYPE=Dev -DPROCTOR_PRECOMPILED=OFF >/build.log || { cat /build.log; exit 1; }
    cmake --build /build -- -k 0 # all missing headers in one go
    if command -v nvcc >/dev/null && [ ! -e /build/bin/cuda_sim/libcudart.so.13 ]; then
      echo "debian13: the build has no simulated CUDA Runtime, although nvcc is here"
      exit 1
    fi
    ctest --test-dir /build --no-tests=error --output-on-failure -LE "^(conformance|simulated|proctor[.]run)$" -j2'
}

if [ "${1:-}" = --inside ]; then
  test_inside "$2"
fi
[ "$(id -u)" = 0 ] || die "needs root (chroot and mounts): sudo ./dev test --full debian13"
root=${XDG_CACHE_HOME:-$HOME/.cache}/proctor/debian13
make_root "$root"
copy_sources "$root"
exec unshare --mount --pid --fork --kill-child "$self" --inside "$root"
