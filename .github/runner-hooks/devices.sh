# shellcheck shell=bash disable=SC2154 # executables and state are in hook.sh
# Sourced: whether each device answers. It must copy, compute and compare, alone, leased, within ten seconds.

simulation=() leases=()
if [ -n "${PROCTOR_HOOK_SIM-}" ]; then
  simulation=(--sim "$PROCTOR_HOOK_SIM" --sim-state "${PROCTOR_HOOK_SIM_STATE:?}")
  leases=(--state-dir "$PROCTOR_HOOK_SIM_STATE/leases")
fi

list_devices() { # FILE: their ids, drained ones too
  { "${executables}proctor" devices --ids "${simulation[@]:0:2}" || true; } | sort >"$1" # 3: there is none
}

# FILE of ids; leaves the numbers in `well` and `sick`; drained ones, and those of other jobs, are in neither
examine_devices() {
  local backend
  well=0 sick=0
  for backend in cuda xpu; do examine_devices_of "$backend" "$1"; done
  say "$well devices answer, $sick do not"
}

examine_devices_of() { # BACKEND FILE
  local run device code codes health=${executables}health_$1
  if ! [ -x "$health" ]; then
    say "no $health: $1 devices are not examined"
    return
  fi
  run=$(mktemp -d "$state/examination-$1.XXXXXX")
  mkdir "$run.codes" # a file for each device on which the health program was started, named by what was leased
  # shellcheck disable=SC2016 # they are the inner shell's
  "${executables}proctor" run --backend "$1" --each-device "${simulation[@]}" --timeout 10s --lease-wait 1s \
    --settle 5s --out "$run" -- "$BASH" -c 'exec 3>"$0/$PROCTOR_DEVICES"; "$1" 3>&-; code=$?; echo $code >&3; exit $code' \
    "$run.codes" "$health" >"$run.log" 2>&1 || true # what the program ended with is in its file, if it ended
  sed -n 's/^warning//p' "$run.log" | say_lines "$1:"
  while read -r device; do
    codes=("$run.codes/"*"\"$device\""*)
    [ -e "${codes[0]}" ] || continue
    read -r code <"${codes[0]}" || code='no exit code'
    case $code in
      0) well=$((well + 1)) ;;
      3) well=$((well + 1)) && say "$device: nobody can tell, see $run" ;;
      *) sick=$((sick + 1)) && drain "$device" "health_$1 ended with $code" ;;
    esac
  done <"$2"
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
