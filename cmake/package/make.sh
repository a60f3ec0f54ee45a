#!/usr/bin/env bash
# make.sh PROCESSOR DIRECTORY   the packages and wheels for x86_64 or aarch64 (docs/how-to/packages.md), into DIRECTORY, which is
# made anew.
#
# What loads a driver is made against an old C library by the toolchain. The runner is static: for x86_64 by this
# system's compiler, for another processor by the toolchain, with musl.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
oldest_glibc=2.28  # of RHEL 8; Debian 11 has 2.31, Ubuntu 22.04 2.35

die() {
  echo "make: $*" >&2
  exit 2
}

build() { # preset, targets...
  local preset=$1 log
  shift
  log=$(mktemp)
  cmake --preset "$preset" >"$log" || {
    cat "$log"
    die "configuring $preset failed"
  }
  grep -E '^-- (CUDA|Device kernels|Manual page): ' "$log" | grep -E ' not |without' || true  # what is left out
  rm "$log"
  cmake --build --preset "$preset" --target "${@/#/component_}"
}

# Level Zero's loader, for systems that have none, where the install rules look for it (component `loader`).
build_loader() { # build directory, target of the toolchain
  local log
  log=$(mktemp)
  {
    cmake -S build-toolchain/sources/level-zero -B "$1/level_zero/build" -G Ninja -D CMAKE_BUILD_TYPE=Release \
      -D CMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/zig.cmake" -D PROCTOR_TOOLCHAIN="$PWD/build-toolchain" \
      -D PROCTOR_TARGET="$2"
    cmake --build "$1/level_zero/build" --target ze_loader
  } >"$log" 2>&1 || {
    tail -40 "$log"
    die "building Level Zero's loader failed"
  }
  rm "$log"
  cp -L "$1/level_zero/build/lib/libze_loader.so.1" "$1/level_zero/"
  cp build-toolchain/sources/level-zero/LICENSE "$1/level_zero/level-zero.txt"
  sed -n '1s/^\(\S*\) (\(.*\)).*/\1 \2 deb/p' build-toolchain/sources/level-zero/debian/changelog \
    >"$1/level_zero/versions-loader.txt"
}

pack() { # generator, components of each build as build=components...
  local generator=$1 projects=() of component log
  shift
  for of in "$@"; do
    for component in ${of#*=}; do projects+=("$PWD/${of%%=*}" proctor "$component" /); done
  done
  log=$(mktemp)
  cpack -G "$generator" --config "build-$baseline/CPackConfig.cmake" -B "$packages" \
    -D CPACK_INSTALL_CMAKE_PROJECTS="$(IFS=';' && echo "${projects[*]}")" >"$log" || {
    cat "$log"
    die "cpack failed"
  }
  rm -rf "$log" "$packages/_CPack_Packages"
}

wheel() { # name, processor, then as pack
  local name=$1 processor=$2 stage of component
  shift 2
  stage=$(mktemp -d)
  for of in "$@"; do
    for component in ${of#*=}; do
      cmake --install "${of%%=*}" --prefix "$stage" --component "$component" --strip >/dev/null
    done
  done
  PYTHONPATH=build-toolchain/wheel cmake/package/wheel.py "$name" "$processor" "$stage" "$packages"
  rm -r "$stage"
}

[ $# = 2 ] || die "usage: make.sh PROCESSOR DIRECTORY"
[ "$(uname -m)" = x86_64 ] || die "packages are made on x86_64"
case "$1" in
  x86_64)
    baseline=baseline runner=release
    cmake/toolchains/set_up.sh build-toolchain x86_64-linux-gnu.$oldest_glibc
    ;;
  aarch64)
    baseline=aarch64-baseline runner=aarch64
    cmake/toolchains/set_up.sh build-toolchain aarch64-linux-gnu.$oldest_glibc aarch64-linux-musl
    ;;
  *) die "there are packages for x86_64 and aarch64, not for '$1'" ;;
esac
if ! cmp -s cmake/package/requirements.txt build-toolchain/wheel/requirements.txt; then
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --upgrade \
    --only-binary :all: --require-hashes --target build-toolchain/wheel -r cmake/package/requirements.txt ||
    die "pip could not install wheel"
  cp cmake/package/requirements.txt build-toolchain/wheel/
fi
packages=$(realpath -m "$2")
build $baseline suites simulator
build_loader "build-$baseline" "$1-linux-gnu.$oldest_glibc"
build $runner runner development

# The packages' date is the commit's, not the hour at which they were made.
if [ -z "${SOURCE_DATE_EPOCH:-}" ] && git rev-parse -q --verify HEAD >/dev/null; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
fi
rm -rf "$packages"
of_runner="build-$runner=runner development" of_suites="build-$baseline=suites simulator"
pack TGZ "$of_runner" "$of_suites loader"
if command -v dpkg >/dev/null; then pack DEB "$of_runner" "$of_suites"; fi
wheel proctor "$1" "$of_runner"
wheel proctor-suites "$1" "$of_suites loader"
# Of what is in the packages, not of what was built.
mkdir "$packages/look"
tar -xzf "$packages"/proctor-*.tar.gz -C "$packages/look" --strip-components=1
find "$packages/look/libexec" -type f \( -name '*.so*' -o -executable \) -print0 |
  xargs -0 cmake/package/check_symbols.py $oldest_glibc
rm -r "$packages/look"
ls -l "$packages"
