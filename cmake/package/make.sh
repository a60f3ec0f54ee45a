#!/usr/bin/env bash
# make.sh PROCESSOR DIRECTORY   the packages for x86_64 or aarch64 (docs/how-to/packages.md), into DIRECTORY, which is made anew.
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
packages=$(realpath -m "$2")
build $baseline suites simulator
build $runner runner development

projects=()
for component in runner development; do projects+=("$PWD/build-$runner" proctor "$component" /); done
for component in suites simulator; do projects+=("$PWD/build-$baseline" proctor "$component" /); done
# The packages' date is the commit's, not the hour at which they were made.
if [ -z "${SOURCE_DATE_EPOCH:-}" ] && git rev-parse -q --verify HEAD >/dev/null; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
fi
rm -rf "$packages"
log=$(mktemp)
cpack --config "build-$baseline/CPackConfig.cmake" -B "$packages" \
  -D CPACK_INSTALL_CMAKE_PROJECTS="$(IFS=';' && echo "${projects[*]}")" >"$log" || {
  cat "$log"
  die "cpack failed"
}
rm -rf "$log" "$packages/_CPack_Packages"
# Of what is in the packages, not of what was built.
mkdir "$packages/look"
tar -xzf "$packages"/proctor-*.tar.gz -C "$packages/look" --strip-components=1
find "$packages/look/libexec" -type f \( -name '*.so*' -o -executable \) -print0 |
  xargs -0 cmake/package/check_symbols.py $oldest_glibc
rm -r "$packages/look"
ls -l "$packages"
