# shellcheck shell=bash disable=SC2154 # executables and state are in hook.sh
# Sourced: whether each device answers. It must copy, compute and compare, alone, leased, within ten seconds.

simulation=() leases=()
if [ -n "${PROCTOR_HOOK_SIM-}" ]; then
  simulation=(--sim "$PROCTOR_HOOK_SIM" --sim-state "${PROCTOR_HOOK_SIM_STATE:?}")
  leases=(--state-dir "$PROCTOR_HOOK_SIM_STATE/leases")
fi

examine_devices() { # leaves the numbers in `well` and `sick`; drained ones, and those of other jobs, are in neither
  local backend
  well=0 sick=0
  for backend in cuda xpu; do examine_devices_of "$backend"; done
  say "$well devices answer, $sick do not"
}

examine_devices_of() { # BACKEND
  local run device code health=${executables}health_$1
  if ! [ -x "$health" ]; then
    say "no $health: $1 devices are not examined"
    return
  fi
  run=$(mktemp -d "$state/examination-$1.XXXXXX")
  "${executables}proctor" run --backend "$1" --each-device "${simulation[@]}" --timeout 10s --lease-wait 1s \
    --settle 5s --out "$run" -- "$health" >"$run.log" 2>&1 || true # what each device did is in the journal
  sed -n 's/^warning//p' "$run.log" | say_lines "$1:"
  while read -r _ device code; do
    case $code in
      0) well=$((well + 1)) ;;
      3) well=$((well + 1)) && say "$device: nobody can tell, see $run" ;;
      *) sick=$((sick + 1)) && drain "$device" "health_$1 ended with $code" ;;
    esac
  done < <(exit_codes "$run/journal.jsonl")
}

exit_codes() { # JOURNAL: a line "REPEAT DEVICE CODE" for each device; CODE is null after a signal
  join <(sed -n 's/.*"type":"attempt_started".*"repeat":\([0-9]*\).*"devices":\["\([^"]*\)"\].*/\1 \2/p' "$1" | sort) \
    <(sed -n 's/.*"type":"attempt_ended".*"repeat":\([0-9]*\).*"exit_code":\([0-9a-z]*\).*/\1 \2/p' "$1" | sort)
}

list_devices() { # FILE: their identities, drained ones too; the answer itself is in FILE.json
  "${executables}proctor" devices --json "${simulation[@]:0:2}" "${leases[@]}" >"$1.json" || true # 3: there is none
  sed -n 's/^ *"id": "\(.*\)",$/\1/p' "$1.json" | sort >"$1"
}

name_vanished() { # FILE FILE: before and after; leaves the number in `vanished`
  local device
  vanished=0
  while read -r device; do
    vanished=$((vanished + 1))
    say "$device was there when the job started and is not now: see the kernel's log and proctor doctor"
  done < <(comm -23 "$1" "$2")
}

drain() { # DEVICE REASON
  say "$1 does not answer as it should, $2; it gets no more cases until: proctor devices undrain --probe $1"
  "${executables}proctor" devices drain "$1" --reason "runner hook: $2" "${leases[@]}"
}
