# shellcheck shell=bash disable=SC2034 # variables are for those who source this
# Sourced by both hooks, which run on the host, outside any job container, as the runner's user. GitHub sets them no
# time limit: they end themselves. From the runner's .env file:
#   PROCTOR                   directory of proctor; without it that of the installation that the hooks are in
#   PROCTOR_HOOK_MIN_DEVICES  a job starts only where so many devices answer (default: 1)
#   PROCTOR_HOOK_LIMIT        seconds for a hook (default: 60)
#   PROCTOR_HOOK_SIM          a simulated machine for a rehearsal, such as xpu:2x1,state=DIR
set -euo pipefail
export LC_ALL=C # sort and comm have to agree about order, whatever the machine's language
# What a job adds by GITHUB_PATH stands in front of the runner's PATH here too.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH

if [ -z "${PROCTOR_HOOK_LIMITED-}" ]; then # the script starts again, under timeout
  PROCTOR_HOOK_LIMITED=yes exec timeout -k 5 "${PROCTOR_HOOK_LIMIT-60}" bash "$0"
fi

plain() { # TEXT: on one line, so that what others wrote is no line, command or sequence of its own in the job's log
  local LC_ALL=C text=${1//[^ -~]/?}
  printf '%s' "${text//'##['/'##\['}"
}

say() { printf 'proctor-hook: %s\n' "$(plain "$*")"; }

say_lines() { # each line of stdin, after the words given
  local line
  while IFS= read -r line; do say "$*$line"; done
}

fail() { say "$*" && exit 1; }

state=${RUNNER_TEMP:?"a hook runs in a job"}/../proctor-hook # the temporary directory itself is emptied
# Who owns the place could lead a hook of root's elsewhere.
if [ "$(id -u)" = 0 ] && [ "$(stat -c %u "$RUNNER_TEMP/..")" != 0 ]; then
  fail "$state is not root's place, and this is root: run the hooks as the runner's user"
fi
# Never by PATH: a job may have put a proctor of its own there.
proctor=${PROCTOR:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../../bin}/proctor
case $proctor in /*) ;; *) proctor= ;; esac # the current directory is the job's
if ! [ -x "$proctor" ]; then
  fail "no ${PROCTOR:-PREFIX/bin}/proctor: PROCTOR in the runner's .env file is the absolute path of its directory"
fi
machine=(${PROCTOR_HOOK_SIM:+--sim "$PROCTOR_HOOK_SIM"})

holders() { # COMMAND: calls it with PID and NODE of each process, also of a container, that has a device node open
  local device=${PROCTOR_HOOK_DEV-/dev} pid node
  { find /proc/[0-9]*/fd -maxdepth 1 '(' -lname "$device/nvidia[0-9]*" -o -lname "$device/nvidia-uvm" \
    -o -lname "$device/dri/renderD*" -o -lname "$device/kfd" ')' -printf '%h %l\n' 2>/dev/null || true; } |
    sed 's,^/proc/\([0-9]*\)/fd ,\1 ,' | sort -u | while read -r pid node; do "$1" "$pid" "$node"; done
}

say_holder() { # PID NODE [WORDS]
  say "$2 is held by pid $1${3-}: $(tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | head -c 200)"
}

list_devices() { # FILE: their ids, drained ones too
  { "$proctor" devices --ids "${machine[@]}" || true; } | sort >"$1" # 3: there is none
}

# Whether each device of the FILE of ids copies, computes and compares, alone, within ten seconds. One that does not is
# drained: by the run, or here if the run only stopped using it because it is lost. Leaves the numbers in `well` and
# `sick`. Drained devices, those of other jobs, and those without a health program are in neither.
probe_devices() {
  local backend device run
  run=$(mktemp -d "$state/probe.XXXXXX")
  printf '[run]\nmemory_wait = "5s"\n' >"$run/proctor.toml"
  for backend in cuda xpu; do
    grep -q "^$backend" "$1" || continue
    "$proctor" run --backend "$backend" --each-device --probe-devices "${machine[@]}" \
      --config "$run/proctor.toml" --timeout 10s --lease-wait 1s --out "$run/$backend" -- true >"$run/$backend.log" 2>&1 || true
    sed -n 's/^warning//p' "$run/$backend.log" | say_lines "$backend:"
  done
  probed() { # STATE: the devices that were found in it
    { grep -hv 'no health probe can check it' "$run/"*/journal.jsonl 2>/dev/null || true; } |
      sed -n "s/.*\"type\":\"device_health\",\"device\":\"\([^\"]*\)\",\"finding\":\"\($1\)\".*/\1/p" | sort -u
  }
  probed 'drained\|lost' >"$run/sick"
  sick=$(wc -l <"$run/sick") well=$(probed 'probe_passed\|unknown' | comm -23 - "$run/sick" | wc -l)
  for device in $(probed lost); do # nothing changes if it is drained already
    { "$proctor" devices drain "$device" --reason "runner hook: the device is lost" "${machine[@]}" 2>&1 || true; } |
      say_lines
  done
  while read -r device; do
    say "$device does not answer as it should. If it is drained, use it again with: proctor devices undrain --probe $device"
  done <"$run/sick"
  say "$well devices answer, $sick do not"
}
