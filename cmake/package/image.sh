#!/usr/bin/env bash
# image.sh PACKAGES OUT   the OCI image of a release, from the tarball in PACKAGES, and what is in it:
#
#   OUT/proctor-VERSION-image-x86_64.tar         an OCI archive: podman load, docker load, skopeo copy oci-archive:...
#   OUT/proctor-VERSION-image-x86_64.spdx.json   its SBOM (SPDX 2.3)
#
# The base is Debian's essential packages and Level Zero's loader. Nothing runs in the image while it is made. The same
# packages give the same bytes. PROCTOR_SOURCE: the address of the repository, for a label. Needs root.
set -euo pipefail
root=$(dirname "$(readlink -f "$0")")/../..
suite=trixie
user=10001
most=$((60 * 1000 * 1000))

die() {
  echo "image: $*" >&2
  exit 2
}

base() { # tar
  local option options=()
  # Documents, translations and character sets other than UTF-8 are half of it; licences stay.
  for option in exclude=/usr/share/{man,info,locale,lintian,doc}/* exclude=/usr/lib/*/gconv/* include=/usr/share/doc/*/copyright; do
    options+=("--dpkgopt=path-$option")
  done
  # shellcheck disable=SC2016  # $1 is the hook's
  mmdebstrap --quiet --variant=essential --include=libze1 "${options[@]}" \
    --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"' \
    --customize-hook="echo proctor:x:$user: >>\"\$1/etc/group\"" \
    --customize-hook="echo proctor:x:$user:$user::/home/proctor:/bin/bash >>\"\$1/etc/passwd\"" \
    --customize-hook="install -d -o $user -g $user \"\$1/home/proctor\" \"\$1/work\"" \
    $suite "$1"
}

build() { # layout
  local container
  container=$(in_store from scratch)
  in_store add --quiet "$container" "$work/base.tar" / >/dev/null
  in_store add --quiet --chown 0:0 "$container" "$work/opt" /opt >/dev/null
  in_store config --user "$user:$user" --workingdir /work --entrypoint '["proctor"]' --cmd --help \
    --env PATH=/opt/proctor/bin:/usr/local/bin:/usr/bin:/bin --env HOME=/home/proctor --env LC_ALL=C.UTF-8 \
    --label org.opencontainers.image.title=proctor \
    --label org.opencontainers.image.description="Proctor: runner, conformance suites, simulated devices" \
    --label org.opencontainers.image.version="$version" --label org.opencontainers.image.revision="$commit" \
    --label org.opencontainers.image.licenses=Apache-2.0 ${PROCTOR_SOURCE:+--label "org.opencontainers.image.source=$PROCTOR_SOURCE"} \
    "$container"
  in_store commit --quiet --format oci --timestamp "$SOURCE_DATE_EPOCH" "$container" proctor >/dev/null
  in_store push --quiet --compression-format gzip --compression-level 9 proctor "oci:$1:$version"
}

in_store() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }

archive() { # directory, file
  tar --create --sort=name --numeric-owner --owner=0 --group=0 --mode=go=rX,u=rwX --mtime="@$SOURCE_DATE_EPOCH" \
    --format=ustar --directory "$1" --file "$2" .
}

[ $# = 2 ] || die "usage: image.sh PACKAGES OUT"
[ "$(id -u)" = 0 ] || die "needs root: the base is a file system of its own"
for tool in buildah mmdebstrap; do
  command -v $tool >/dev/null || die "needs $tool: apt-get install buildah mmdebstrap"
done
tarballs=("$1"/proctor-*-linux-x86_64.tar.gz)
[ -f "${tarballs[0]}" ] || die "$1 has no proctor-VERSION-linux-x86_64.tar.gz: make it with ./dev package"
[ ${#tarballs[@]} = 1 ] || die "$1 has ${#tarballs[@]} tarballs, not one: ${tarballs[*]}"
version=${tarballs[0]##*/proctor-}
version=${version%-linux-x86_64.tar.gz}
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" -c safe.directory='*' log -1 --format=%ct) ||
    die "set SOURCE_DATE_EPOCH: this is not a git checkout"
fi
export SOURCE_DATE_EPOCH

umask 022
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/opt/proctor" "$2"
tar -xzf "${tarballs[0]}" -C "$work/opt/proctor" --strip-components=1 --no-same-owner
commit=$("$work/opt/proctor/bin/proctor" --version | sed -n 's/^commit *//p')
base "$work/base.tar"
build "$work/layout"
name=$2/proctor-$version-image-x86_64
archive "$work/layout" "$name.tar"
tar -xf "$work/base.tar" -C "$work" ./var/lib/dpkg/status
"$root/cmake/package/sbom/sbom.py" --version "$version" --status "$work/var/lib/dpkg/status" --tarball "${tarballs[0]}" \
  --suite $suite >"$name.spdx.json"
size=$(stat -c %s "$name.tar")
[ "$size" -le $most ] || die "$name.tar has $size bytes, more than $most"
ls -l "$name.tar" "$name.spdx.json"
