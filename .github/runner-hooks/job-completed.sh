#!/usr/bin/env bash
# ACTIONS_RUNNER_HOOK_JOB_COMPLETED: what the job left on the devices ends; a sick or missing device or a changed
# stack is red.
here=$(dirname "$0")
# shellcheck source=hook.sh
source "$here/hook.sh"
# shellcheck source=holders.sh
source "$here/holders.sh"
# shellcheck source=devices.sh
source "$here/devices.sh"
# shellcheck source=kernel-log.sh
source "$here/kernel-log.sh"
end_in_a_minute

if [ -L "$state" ] || ! [ -O "$state" ] || ! [ -e "$state/kernel-log" ]; then
  say "the hook of the job's start left nothing: is ACTIONS_RUNNER_HOOK_JOB_STARTED set?"
  exit 1
fi
end_holders_of_this_job
kernel_lines_since "$(cat "$state/kernel-log")" | say_lines "the kernel said: "
list_devices "$state/devices-after"
examine_devices "$state/devices-after"
name_vanished "$state/devices" "$state/devices-after"
red=$((sick + vanished))
"${executables}proctor" stack capture --json >"$state/stack-after.json"
if ! diff "$state/stack.json" "$state/stack-after.json" >"$state/stack-changes"; then
  say "the driver stack changed during the job: its results are of no one stack"
  say_lines "  " <"$state/stack-changes"
  red=1
fi
[ "$red" = 0 ]
