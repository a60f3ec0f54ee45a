#!/usr/bin/env bash
# release_image.sh PACKAGES   the OCI image of a release (cmake/package/image.sh): made twice from the tarball in PACKAGES, then
# run by runc. Needs root.
#
# Both archives and both SBOMs have the same bytes. A validator of others accepts the SBOM (build/sbom-reader), and refuses
# one without a name. In a container without network, as the image's own user, its entry point runs suites on simulated
# devices. The SBOM names the packages that dpkg of the image names, and what is compiled in.
set -euo pipefail
root=$(readlink -f "$(dirname "$0")/../..")
reader=$root/build/sbom-reader
export SOURCE_DATE_EPOCH=1760000000 PROCTOR_SOURCE=https://github.com/OWNER/proctor

die() {
  echo "release_image: $*" >&2
  exit 1
}

in_store() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }

in_image() { # command...; prints its output, and exits as it does
  in_store run --isolation oci --runtime "$(command -v runc)" "$container" -- "$@"
}

entry_point() { in_store inspect --format '{{range .OCIv1.Config.Entrypoint}}{{.}}{{end}}' "$container"; }

label() { in_store inspect --format "{{index .OCIv1.Config.Labels \"org.opencontainers.image.$1\"}}" "$container"; }

validate() { PYTHONPATH=$reader python3 -B -m spdx_tools.spdx.clitools.pyspdxtools --infile "$1"; }

same_twice() {
  local file
  "$root/cmake/package/image.sh" "$1" "$work/once" >/dev/null
  "$root/cmake/package/image.sh" "$1" "$work/twice" >/dev/null
  for file in "$work"/once/*; do
    cmp "$file" "$work/twice/${file##*/}" || die "made twice, two ${file##*/}"
  done
}

names_in() { python3 -c 'import json, sys; print(*(package["name"] for package in json.load(sys.stdin)["packages"]), sep="\n")' <"$1"; }

refuses_nothing() {
  local code=0
  mkdir "$work/empty"
  "$root/cmake/package/image.sh" "$work/empty" "$work/out" 2>"$work/refused" || code=$?
  [ $code = 2 ] || die "without a tarball image.sh exits $code"
  grep -q 'has no proctor-VERSION-linux-x86_64.tar.gz' "$work/refused" || die "without a tarball: $(cat "$work/refused")"
}

has_an_sbom() { # file
  local packages missing
  validate "$1" || die "the SBOM is not valid"
  mkdir "$work/bad"
  grep -v '^ "name"' "$1" >"$work/bad/${1##*/}"
  if validate "$work/bad/${1##*/}" >/dev/null 2>&1; then die "an SBOM without a name is accepted"; fi
  # shellcheck disable=SC2016  # ${Package} is dpkg's
  packages=$(in_image dpkg-query --show --showformat '${Package}\n')
  [ "$(wc -l <<<"$packages")" -gt 50 ] || die "dpkg knows too few packages: $packages"
  missing=$(grep -vxFf <(names_in "$1") <<<"$packages"$'\nlibfmt-dev\nnlohmann-json3-dev\nproctor') || true
  [ -z "$missing" ] || die "not in the SBOM: $missing"
}

runs_suites() {
  local text
  [ "$(in_image id -u)" = 10001 ] || die "it runs as user $(in_image id -u)"
  in_image "$(entry_point)" --version >"$work/version"
  grep -qx "proctor $(label version)" "$work/version" || die "the label version is $(label version)"
  grep -qx "commit *$(label revision)" "$work/version" || die "the label revision is $(label revision)"
  [ "$(label source) $(label licenses)" = "$PROCTOR_SOURCE Apache-2.0" ] || die "labels: $(label source) $(label licenses)"
  for devices in xpu:1x1 cuda:1; do
    # Without CUDA's toolkit, packages have no CUDA suites.
    if [ $devices = cuda:1 ] && ! in_image test -e /opt/proctor/libexec/proctor/memory_cuda; then continue; fi
    text=$(in_image "$(entry_point)" run memory --sim $devices --filter '*HostToDevice*') || die "--sim $devices: $text"
    grep -q 'exit 0 (PASSED)' <<<"$text" || die "no verdict: $text"
    echo "ok memory on $devices: $(grep -o '[0-9]* planned: [^·]*' <<<"$text")"
  done
}

[ $# = 1 ] || die "usage: release_image.sh PACKAGES"
[ "$(id -u)" = 0 ] || die "needs root: the image is made and run by root"
[ -e "$reader" ] || die "needs spdx-tools in build/sbom-reader: ./dev test --full install"
work=$(mktemp -d)
trap 'in_store rm --all >/dev/null 2>&1; rm -rf --one-file-system "$work"' EXIT
refuses_nothing
same_twice "$1"
image=("$work"/once/*.tar)
files=$(ulimit -Hn)  # runc asks for more than root without CAP_SYS_RESOURCE may have
container=$(in_store from --quiet --ulimit "nofile=$files:$files" --ulimit nproc=4096:4096 --network none "oci-archive:${image[0]}")
has_an_sbom "${image[0]%.tar}.spdx.json"
runs_suites
echo "ok ${image[0]##*/}: $(stat -c %s "${image[0]}") bytes, $(label revision)"
