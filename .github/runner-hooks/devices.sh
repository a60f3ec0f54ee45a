# shellcheck shell=bash disable=SC2154 # executables and state are in hook.sh
# Sourced: whether each device answers. It must copy, compute and compare, alone, leased, within ten seconds.

simulation=() leases=()
if [ -n "${PROCTOR_HOOK_SIM-}" ]; then
  simulation=(--sim "$PROCTOR_HOOK_SIM" --sim-state "${PROCTOR_HOOK_SIM_STATE:?}")
  leases=(--state-dir "$PROCTOR_HOOK_SIM_STATE/leases")
fi

examine_devices() { # leaves the numbers in `well` and `sick`; drained ones, and those of other jobs, are in neither
  local directory devices i examinations=()
  well=0 sick=0
  directory=$(mktemp -d "$state/examination.XXXXXX")
  list_devices "$directory/devices"
  mapfile -t devices <"$directory/devices"
  for i in "${!devices[@]}"; do
    examine "${devices[i]}" "$directory/$i" &
    examinations[i]=$!
  done
  for i in "${!devices[@]}"; do
    wait "${examinations[i]}" || true # the code of the health program is in its file
    judge "${devices[i]}" "$directory/$i"
  done
  say "$well devices answer, $sick do not"
}

# Proctor's own code cannot say whether the health program ran: a lost device and a leased one are both 75.
examine() { # DEVICE RUN: leaves the program's exit code in RUN.code, which does not exist where it was not started
  local health=${executables}health_${1%%[:-]*}
  if ! [ -x "$health" ]; then
    echo "no $health: it is not examined" >"$2.log"
    return
  fi
  # shellcheck disable=SC2016 # they are the inner shell's
  "${executables}proctor" exec --devices "$1" "${simulation[@]}" --timeout 10s --lease-wait 1s --settle 5s --out "$2" \
    -- "$BASH" -c 'echo no exit code >"$0"; "$1"; code=$?; echo "$code" >"$0"; exit "$code"' "$2.code" "$health" \
    >"$2.out" 2>"$2.log"
}

judge() { # DEVICE RUN: of what proctor said, the first line is what happened
  local code='' words=''
  read -r words <"$2.log" || true
  [ -z "$words" ] || say "$1: $words"
  [ -e "$2.code" ] || return 0
  read -r code <"$2.code" || true
  case $code in
    0) well=$((well + 1)) ;;
    3) well=$((well + 1)) && say "$1: nobody can tell, see $2" ;;
    *) sick=$((sick + 1)) && drain "$1" "health_${1%%[:-]*} ended with $code" ;;
  esac
}

list_devices() { # FILE: their identities, drained ones too
  { "${executables}proctor" devices --ids "${simulation[@]:0:2}" || true; } | sort >"$1" # 3: there is none
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
