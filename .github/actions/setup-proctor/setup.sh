#!/usr/bin/env bash
# Finds or unpacks Proctor's executables. Input comes through the environment.
set -euo pipefail

refuse() {
  echo "setup-proctor: $*" >&2
  exit 2
}

unpack() { # -> DIRECTORY
  local file=$RUNNER_TEMP/proctor.tar root=$RUNNER_TEMP/proctor-$SHA256 found
  [[ $SHA256 =~ ^[0-9a-f]{64}$ ]] || refuse "sha256 '$SHA256' is not 64 hexadecimal digits; $TARBALL is not taken without"
  case $TARBALL in
    https://*) curl --proto '=https' --fail --silent --show-error --location --retry 3 --output "$file" -- "$TARBALL" ;;
    *://*) refuse "tarball '$TARBALL': only https and files" ;;
    *) cp -- "$TARBALL" "$file" ;;
  esac
  echo "$SHA256  $file" | sha256sum --check --quiet - || refuse "$TARBALL is not the file that sha256 names"
  mkdir -p "$root"
  tar --extract --file "$file" --directory "$root" --no-same-owner
  rm -- "$file"
  mapfile -t found < <(find "$root" -name proctor -type f -perm -u+x)
  [ ${#found[@]} = 1 ] || refuse "$TARBALL has ${#found[@]} programs named proctor, not one"
  DIRECTORY=${found[0]%/*}
}

[ -n "$TARBALL" ] || [ -n "$DIRECTORY" ] || refuse "give tarball and sha256, or path"
[ -z "$TARBALL" ] || [ -z "$DIRECTORY" ] || refuse "give tarball or path, not both"
[ -z "$TARBALL" ] || unpack
DIRECTORY=$(cd -- "$DIRECTORY" && pwd) || refuse "path is no directory"
"$DIRECTORY/proctor" --version || refuse "$DIRECTORY/proctor does not run here"
echo "$DIRECTORY" >>"$GITHUB_PATH"
echo "directory=$DIRECTORY" >>"$GITHUB_OUTPUT"
