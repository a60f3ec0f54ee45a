# shellcheck shell=bash disable=SC2034 # variables are for those who source this
# Sourced by both hooks, which run on the host, outside any job container, as the runner's user. GitHub sets them no
# time limit: they end themselves. From the runner's .env file:
#   PROCTOR                   directory of proctor; without it that of the installation that the hooks are in
#   PROCTOR_HOOK_MIN_DEVICES  a job starts only where so many devices answer (default: 1)
#   PROCTOR_HOOK_LIMIT        seconds for a hook (default: 60)
#   PROCTOR_HOOK_SIM, PROCTOR_HOOK_SIM_STATE  a simulated machine and its directory, for a rehearsal
set -euo pipefail
export LC_ALL=C # sort and comm have to agree about order, whatever the machine's language
# What a job adds by GITHUB_PATH stands in front of the runner's PATH here too.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH

state=${RUNNER_TEMP:?"a hook runs in a job"}/../proctor-hook # the temporary directory itself is emptied
# Who owns the place could lead a hook of root's elsewhere.
if [ "$(id -u)" = 0 ] && [ "$(stat -c %u "$RUNNER_TEMP/..")" != 0 ]; then
  echo "proctor-hook: $state is not root's place, and this is root: run the hooks as the runner's user"
  exit 1
fi
# Never by PATH: a job may have put a proctor of its own there.
executables=${PROCTOR:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../../bin}/proctor
case $executables in /*) ;; *) executables= ;; esac # the current directory is the job's
if ! [ -x "$executables" ]; then
  echo "proctor-hook: no ${PROCTOR:-PREFIX/bin}/proctor: PROCTOR in the runner's .env file is the absolute path of its directory"
  exit 1
fi
executables=$(dirname "$(readlink -f "$executables")")/ # bin/proctor is a link into them

end_in_a_minute() { # the script starts again, under timeout
  [ -z "${PROCTOR_HOOK_LIMITED-}" ] || return 0
  PROCTOR_HOOK_LIMITED=yes exec timeout -k 5 "${PROCTOR_HOOK_LIMIT-60}" bash "$0"
}

plain() { # TEXT: on one line, so that what others wrote is no line, command or sequence of its own in the job's log
  local LC_ALL=C text=${1//[^ -~]/?}
  printf '%s' "${text//'##['/'##\['}"
}

say() { printf 'proctor-hook: %s\n' "$(plain "$*")"; }

say_lines() { # each line of stdin, after the words given
  local line
  while IFS= read -r line; do say "$*$line"; done
}

uptime_now() { cut -d ' ' -f 1 /proc/uptime; }
