#!/bin/sh
# run.sh [OUT [ARGUMENTS...]]   all suites of this bundle on the GPUs of this machine; needs their driver only.
#
# The reports are in OUT (./out), with the state of the devices before and after it. ARGUMENTS go to `proctor run`.
# Beside OUT is then one file to send, proctor-BACKEND-GPU-DRIVER-DATE.tar.gz. Nothing is sent by itself.
# The exit code is that of `proctor run`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
[ $# -eq 0 ] || shift

if [ -e "$here/bin/memory_xpu" ]; then
  backend=xpu
  set -- visibility memory kernels management --backend xpu "$@"
else
  backend=cuda
  set -- visibility memory kernels management collectives --backend cuda --suite-arg size=full "$@"
fi

look() { "$here/bin/proctor" devices --json; }

kernel_log() { # the file of PROCTOR_KERNEL_LOG stands in for the kernel's own log
  if [ -n "${PROCTOR_KERNEL_LOG-}" ]; then cat "$PROCTOR_KERNEL_LOG"; else dmesg; fi
}

# Prints what the kernel logged since the line $1, or why it cannot be read.
kernel_log_since() {
  if ! why=$(kernel_log 2>&1 >/dev/null); then
    echo "dmesg: ${why#dmesg: }"
    return
  fi
  kernel_log | LAST=$1 awk '{ lines[++n] = $0; if ($0 == ENVIRON["LAST"]) n = 0 }
    END { for (i = 1; i <= n; ++i) print lines[i] }'
}

libraries() { # driver, compiler and loader: their file names contain the versions
  for directory in /usr/lib /usr/lib64 /usr/lib/*-linux-gnu /usr/local/lib /usr/local/lib64 /usr/local/lib/*-linux-gnu; do
    for library in "$directory"/libze_* "$directory"/libigc.so* "$directory"/libigdfcl.so* "$directory"/libigdgmm.so*; do
      [ ! -f "$library" ] || readlink -f "$library"
    done
  done | sort -u
}

what_is_missing() { # the warning of a run that had no device
  case "$backend $1" in
    "xpu "*"(library_missing:libze_loader"*) echo "The Level Zero loader is missing, and perhaps Intel's driver." \
      "Install both: libze1 and intel-opencl-icd (Debian 12, Ubuntu 22.04), or libze1 and libze-intel-gpu1 (later releases)." ;;
    "xpu "*"(no_driver"*) echo "Intel's Level Zero driver is missing." \
      "Install intel-opencl-icd (Debian 12, Ubuntu 22.04), or libze-intel-gpu1 (later releases)." ;;
    *) echo "The driver found no GPU that it may open. \`$here/bin/proctor doctor\` lists the reasons." ;;
  esac
  for node in /dev/dri/renderD*; do
    [ ! -e "$node" ] || { [ -r "$node" ] && [ -w "$node" ]; } ||
      echo "This user may not open $node. Add the user to the group $(stat -c %G "$node")" \
        "and log in again. In a container, pass --device /dev/dri and --group-add $(stat -c %g "$node")."
  done
}

trap 'exit 130' INT
trap 'exit 143' TERM
if [ -e "$out/journal.jsonl" ]; then
  echo "$out contains a run already. Give another directory: run.sh OUT" >&2
  exit 2
fi
last=$(kernel_log 2>/dev/null | tail -n 1)
before=$(look)
trap : INT TERM # they end the run, which reports what it has, and not this script
"$here/bin/proctor" run --out "$out" "$@"
code=$?
[ -e "$out/journal.jsonl" ] || exit $code
if [ $code -eq 75 ] && warning=$(grep '"code":"device_shortage"' "$out/journal.jsonl"); then
  what_is_missing "$warning" >&2
  exit $code
fi

printf '%s\n' "$before" >"$out/devices-before.json"
look >"$out/devices-after.json"
timeout 60 "$here/bin/proctor-probe-$backend" --stdout >"$out/probe.json"
libraries >"$out/libraries.txt"
cp "$here/bin/share/proctor/known_failures_intel.toml" "$out/known_failures.toml"
kernel_log_since "$last" >"$out/kernel.log"

if file=$("$here/bin/proctor" report pack "$out" --out "$(dirname "$out")"); then
  echo "The file to send is $file. Nothing was sent. See its contents with: tar tzf $file"
fi
exit $code
