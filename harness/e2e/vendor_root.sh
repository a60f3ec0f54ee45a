#!/usr/bin/env bash
# Prints a directory with the newest Intel driver, compiler and Level Zero loader that Debian ships, and the C library that they
# want: a root of Debian unstable that nothing is started in. Made with mmdebstrap, kept in ~/.cache/proctor/vendor for a
# week. Exits with 77 when it cannot be had.
set -euo pipefail

packages=libze-intel-gpu1,libze1,libstdc++6,intel-ocloc,libigc2,libigdfcl2
root=${XDG_CACHE_HOME:-$HOME/.cache}/proctor/vendor

fresh() { [ -n "$(find "$root/.complete" -mtime -7 2>/dev/null)" ] && [ "$(cat "$root/.complete")" = $packages ]; }

make_root() { # beside the old one, which stays until the new one is whole
  echo "vendor_root: making a root of Debian unstable in $root (about 350 MB)" >&2
  rm -rf "$root.new"
  mkdir -p "$(dirname "$root")"
  # A mirror may be a frozen copy, whose lists are past their date; their signature is checked all the same.
  mmdebstrap --quiet --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' --include=$packages \
    unstable "$root.new" >&2 || return 1
  echo $packages >"$root.new/.complete"
  rm -rf "$root"
  mv "$root.new" "$root"
}

if ! fresh && ! make_root; then
  rm -rf "$root.new"
  [ -e "$root/.complete" ] || {
    echo "skip(package_missing:libze-intel-gpu1): mmdebstrap unstable failed" >&2
    exit 77
  }
  echo "vendor_root: mmdebstrap unstable failed; the root of $(date -r "$root/.complete" +%F) is used" >&2
fi
echo "$root"
