# shellcheck shell=bash
# Sourced: who has device nodes open, by /proc: also processes of containers, which a job does not see.

holders() { # a line "PID NODE" for each, as far as this user may look
  local device=${PROCTOR_HOOK_DEV-/dev}
  { find /proc/[0-9]*/fd -maxdepth 1 '(' -lname "$device/nvidia[0-9]*" -o -lname "$device/nvidia-uvm" \
    -o -lname "$device/dri/renderD*" -o -lname "$device/kfd" ')' -printf '%h %l\n' 2>/dev/null || true; } |
    sed 's,^/proc/\([0-9]*\)/fd ,\1 ,' | sort -u
}

command_of() { tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | head -c 200; }

of_this_job() { tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | grep -qx "RUNNER_TRACKING_ID=$RUNNER_TRACKING_ID"; }

name_holders() {
  holders | while read -r pid node; do say "$node is held by pid $pid: $(command_of "$pid")"; done
}

end_holders_of_this_job() { # those of others are named and left alone
  holders | while read -r pid node; do
    if of_this_job "$pid"; then
      say "$node is still held by this job's pid $pid, which is killed: $(command_of "$pid")"
      kill -KILL "$pid" 2>/dev/null || true
    else
      say "$node is held by pid $pid, which is not of this job: $(command_of "$pid")"
    fi
  done
}
