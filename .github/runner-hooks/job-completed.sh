#!/usr/bin/env bash
# ACTIONS_RUNNER_HOOK_JOB_COMPLETED: what the job left on the devices ends; a sick or missing device or a changed
# stack is red.
# shellcheck source=hook.sh
source "$(dirname "$0")/hook.sh"

end_of_this_job() { # PID NODE: those of others stay
  if tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | grep -qx "RUNNER_TRACKING_ID=$RUNNER_TRACKING_ID"; then
    say_holder "$1" "$2" " of this job, which is killed"
    kill -KILL "$1" 2>/dev/null || true
  else
    say_holder "$1" "$2" ", which is not of this job"
  fi
}

if [ -L "$state" ] || ! [ -O "$state" ] || ! [ -e "$state/kernel-log" ]; then
  fail "the hook of the job's start left nothing: is ACTIONS_RUNNER_HOOK_JOB_STARTED set?"
fi
holders end_of_this_job
{ dmesg 2>/dev/null | awk -v since="$(cat "$state/kernel-log")" -F '[][]' '$2 + 0 > since + 0' |
  grep -E 'NVRM: Xid|G[PT]U? reset|Resetting (rcs|ccs|bcs|chip)|wedged|GPU HANG' || true; } | say_lines "the kernel said: "
list_devices "$state/devices-after"
probe_devices "$state/devices-after"
vanished=$(comm -23 "$state/devices" "$state/devices-after")
for device in $vanished; do
  say "$device was there when the job started and is not now: see the kernel's log and proctor doctor"
done
"$proctor" stack capture --json >"$state/stack-after.json"
if ! diff "$state/stack.json" "$state/stack-after.json" >"$state/stack-changes"; then
  say "the driver stack changed during the job: its results are of no one stack"
  say_lines "  " <"$state/stack-changes"
  exit 1
fi
[ "$sick$vanished" = 0 ]
