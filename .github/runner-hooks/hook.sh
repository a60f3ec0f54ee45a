# shellcheck shell=bash disable=SC2034 # variables are for those who source this
# Sourced by both hooks, which run on the host, outside any job container, as the runner's user. GitHub sets them no
# time limit: they end themselves. From the runner's .env file:
#   PROCTOR                   directory of proctor; without it it is looked for on the PATH
#   PROCTOR_HOOK_MIN_DEVICES  a job starts only where so many devices answer (default: 1)
#   PROCTOR_HOOK_LIMIT        seconds for a hook (default: 60)
#   PROCTOR_HOOK_SIM, PROCTOR_HOOK_SIM_STATE  a simulated machine and its directory, for a rehearsal
set -euo pipefail

state=${RUNNER_TEMP:?"a hook runs in a job"}/../proctor-hook # the temporary directory itself is emptied
executables=$(command -v "${PROCTOR:+$PROCTOR/}proctor") || {
  echo "proctor-hook: no ${PROCTOR:+$PROCTOR/}proctor: PROCTOR in the runner's .env file says where it is"
  exit 1
}
executables=$(dirname "$(readlink -f "$executables")")/ # bin/proctor is a link into them

end_in_a_minute() { # the script starts again, under timeout
  [ -z "${PROCTOR_HOOK_LIMITED-}" ] || return 0
  PROCTOR_HOOK_LIMITED=yes exec timeout -k 5 "${PROCTOR_HOOK_LIMIT-60}" bash "$0"
}

say() { echo "proctor-hook: $*"; }

uptime_now() { cut -d ' ' -f 1 /proc/uptime; }
