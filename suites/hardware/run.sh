#!/bin/sh
# run.sh [OUT [ARGUMENTS...]]   all CUDA suites, size full, on the NVIDIA cards of this machine; needs their driver only.
#
# The reports are in OUT (./out), with the state of the devices before and after it. ARGUMENTS go to `proctor run`.
# The exit code is that of `proctor run`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
[ $# -eq 0 ] || shift

look() { "$here/bin/proctor" devices list --json; }

before=$(look)
"$here/bin/proctor" run visibility memory kernels management collectives --backend cuda --size full --out "$out" "$@"
code=$?
if [ -d "$out" ]; then
  printf '%s\n' "$before" >"$out/devices-before.json"
  look >"$out/devices-after.json"
fi
exit $code
