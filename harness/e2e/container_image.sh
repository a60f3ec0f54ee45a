#!/usr/bin/env bash
# Makes the Debian 12 image of container.py, without a registry, and prints the directory that keeps it. Needs root;
# kept in ~/.cache/proctor/container for a week.
set -euo pipefail

packages=libze1,libstdc++6,python3
store=${XDG_CACHE_HOME:-$HOME/.cache}/proctor/container
image=localhost/proctor-debian12:e2e

die() {
  echo "container_image: $*" >&2
  exit 2
}

podman_here() { podman --root "$store/store" --runroot "$store/run" --storage-driver overlay "$@"; }

fresh() { [ -n "$(find "$store/.complete" -mtime -7 2>/dev/null)" ] && podman_here image exists $image; }

[ "$(id -u)" = 0 ] || die "needs root: sudo ./dev test --full container"
if ! fresh; then
  echo "container_image: making a Debian 12 image in $store (about 200 MB)" >&2
  mkdir -p "$store"
  mmdebstrap --quiet --variant=minbase --include=$packages bookworm "$store/base.tar" >&2 || die "mmdebstrap failed"
  podman_here import "$store/base.tar" $image >&2 || die "podman import failed"
  rm "$store/base.tar"
  touch "$store/.complete"
fi
echo "$store"
