#!/usr/bin/env bash
# set_up.sh DIRECTORY TARGET...   what zig.cmake needs, for targets such as x86_64-linux-gnu.2.28 or aarch64-linux-musl.
#
# DIRECTORY/zig      the compiler, from PyPI, by hash
# DIRECTORY/include  links to the header-only libraries of this system: its C library's headers lie beside them in
#                    /usr/include, and must not be seen
# DIRECTORY/sources  from the distribution: of Level Zero's loader; for targets with another C library than this system's
#                    also of the compiled libraries that reports need (cmake/ProctorReportLibraries.cmake)
# DIRECTORY/TARGET   c++, cc (GoogleTest's build asks for it), ar, ranlib for that target
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
directory=$1
shift
headers=(boost CLI fmt kainjow level_zero nlohmann spirv toml++)

die() {
  echo "set_up: $*" >&2
  exit 2
}

if ! cmp -s "$here/zig.txt" "$directory/zig/.complete"; then
  rm -rf "$directory/zig"
  mkdir -p "$directory"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile \
    --only-binary :all: --require-hashes --target "$directory/zig" -r "$here/zig.txt" || die "pip could not install the compiler"
  cp "$here/zig.txt" "$directory/zig/.complete"
fi
directory=$(realpath "$directory")

mkdir -p "$directory/include"
for header in "${headers[@]}"; do
  [ -d "/usr/include/$header" ] || die "/usr/include/$header is missing"
  ln -sfn "/usr/include/$header" "$directory/include/$header"
done

wrap() { # file, words of the command
  local file=$1
  shift
  printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR=%q ZIG_LOCAL_CACHE_DIR=%q\nexec %s "$@"\n' \
    "$directory/cache" "$directory/cache" "$*" >"$file.new"
  chmod +x "$file.new"
  if cmp -s "$file.new" "$file"; then rm "$file.new"; else mv "$file.new" "$file"; fi  # newer means: build anew
}

# The distribution's own sources with its patches, whose signatures apt checks; lists of sources are not enabled by default.
unpack_sources() { # directory, names of source packages
  local work=$1 options
  shift
  mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial"
  sed 's/^deb /deb-src /' /etc/apt/sources.list >"$work/parts/all.list" 2>/dev/null || true
  for list in /etc/apt/sources.list.d/{debian,ubuntu}.sources; do
    [ ! -e "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/parts/$(basename "$list")"
  done
  options=(-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/parts" -o Dir::State::lists="$work/lists"
    -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root)
  (
    cd "$work"
    apt-get "${options[@]}" update >/dev/null
    apt-get "${options[@]}" source "$@" >/dev/null
  ) || die "the distribution's sources of $* could not be unpacked"
}

sources_of_loader() { # directory
  local work
  work=$(mktemp -d)
  unpack_sources "$work" level-zero
  rm -rf "$1"
  mkdir -p "$(dirname "$1")"
  cp -r "$work"/level-zero-*/ "$1"
  rm -rf "$work"
}

sources_of_report_libraries() { # directory
  local work
  work=$(mktemp -d)
  unpack_sources "$work" sqlite3 zlib pugixml
  (
    mkdir "$work/amalgamation"
    cd "$work/amalgamation"
    sh ../sqlite3-*/configure --disable-tcl >/dev/null
    make sqlite3.c >/dev/null 2>&1
  ) || die "SQLite's sources could not be put into one file"
  mkdir -p "$1/sqlite"
  cp "$work"/amalgamation/sqlite3.[ch] "$1/sqlite/"
  cp -r "$work"/zlib-* "$1/zlib"
  cp -r "$work"/pugixml-*/src "$1/pugixml"
  rm -rf "$work"
}

if [[ " $* " == *-musl* ]] && [ ! -e "$directory/sources/pugixml" ]; then
  sources_of_report_libraries "$directory/sources"
fi
if [ ! -e "$directory/sources/level-zero" ]; then sources_of_loader "$directory/sources/level-zero"; fi

zig=$directory/zig/ziglang/zig
for target in "$@"; do
  mkdir -p "$directory/$target"
  wrap "$directory/$target/c++" "$zig" c++ -target "$target"
  wrap "$directory/$target/cc" "$zig" cc -target "$target"
  wrap "$directory/$target/ar" "$zig" ar
  wrap "$directory/$target/ranlib" "$zig" ranlib
done
