#!/usr/bin/env bash
# ACTIONS_RUNNER_HOOK_JOB_STARTED: whether this machine is fit for the job, and what it is like now.
# shellcheck source=hook.sh
source "$(dirname "$0")/hook.sh"

remove_containers() { # of earlier jobs of this runner, by their label; others' stay
  local left
  command -v docker >/dev/null || return 0
  left=$(docker ps --all --quiet --filter "label=dev.proctor.runner=$RUNNER_NAME") || return 1
  [ -z "$left" ] || xargs docker rm --force <<<"$left"
}

rm -rf -- "$state"
mkdir -m 700 -- "$state" # fails where somebody was faster
holders say_holder
remove_containers || say "docker does not answer: what earlier jobs left of containers stays"
"$proctor" stack capture --json >"$state/stack.json"
cut -d ' ' -f 1 /proc/uptime >"$state/kernel-log"
list_devices "$state/devices"
probe_devices "$state/devices"
if [ "$well" -lt "${PROCTOR_HOOK_MIN_DEVICES-1}" ]; then
  fail "this machine needs ${PROCTOR_HOOK_MIN_DEVICES-1} devices that answer: see proctor doctor"
fi
