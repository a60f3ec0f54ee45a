#!/bin/sh
# lent.sh [-t SECONDS] [-s "STEP..."] [OUT [ARGUMENTS...]]   what a card that is lent for minutes can show, in at most
# SECONDS (540). Runs from the bundle of ./dev hardware; needs the card's driver only.
#
# OUT (./lent) gets a directory of each step, and table.txt: exit code, seconds and what was left out. At home,
# suites/hardware/observed.py OUT makes the table of the card. -s selects steps, and their order. ARGUMENTS go to each
# `proctor run` and `proctor accept`, for example --devices cuda:1.
# The exit code is the worst of the steps, and 3 if a step was not run.
# shellcheck disable=SC2317 # the steps and interrupt() are called by name
set -u

# A line each, the most important first: name, the fewest seconds that it needs, and the most that it gets. step_NAME
# runs it for $seconds with ARGUMENTS, and writes into $LENT_OUT/NAME. Exit code 77: this machine lacks what it needs.
steps='suites 60 240
accept 215 310
speeds 25 55
nccl 15 40'

step_suites() { # 154 s on an H200
  "$here/run.sh" "$LENT_OUT/suites" -q --process batch:auto --deadline "$((seconds - 25))s" "$@"
}

step_accept() {
  "$proctor" accept -q --level 2 --backend cuda --budget "$((seconds - 20))s" --out "$LENT_OUT/accept" "$@"
}

step_speeds() { # those of `suites`, but alone and in turns: the spread from process to process
  "$proctor" run -q memory kernels --backend cuda --suite-arg size=full --filter '*/Bandwidth.*' --filter '*/Speed.*' \
    --repeat "$((seconds - 15))s" --out "$LENT_OUT/speeds" "$@"
}

step_nccl() { # on one card, the checks of one rank
  "$proctor" run -q collectives --backend cuda --suite-arg size=full --suite-arg provider=nccl --deadline "$((seconds - 10))s" \
    --out "$LENT_OUT/nccl" "$@"
  code=$?
  lacks='(library_missing:libnccl|library_unusable:|not_on_simulator:nccl)[^"]*'
  if [ "$code" = 3 ] && why=$(grep -oEm 1 "$lacks" "$LENT_OUT/nccl/report.json"); then
    note "no NCCL here ($(printf '%s\n' "$why" | head -n 1))"
    return 77
  fi
  return "$code"
}

note() { printf '%s\n' "$1" >"$LENT_OUT/note"; } # for the row of the step

here=$(cd "$(dirname "$0")" && pwd)
proctor=$here/bin/proctor
reserve=30  # seconds for the kill after a limit, and for the table
most_mib=60 # of OUT

if [ "${1-}" = --step ]; then # NAME SECONDS ARGUMENTS...: this script started itself, under `timeout`
  trap : TERM                 # it ends the run, which completes its reports, and not this script
  step=$2
  seconds=$3
  shift 3
  "step_$step" "$@"
  exit
fi

refuse() {
  echo "lent: $*" >&2
  exit 2
}

names() { printf '%s\n' "$steps" | cut -d' ' -f1; }

seconds_of() { printf '%s\n' "$steps" | awk -v "name=$1" -v "field=$2" '$1 == name { print $field }'; }

seconds_of_later() { # NAME: the fewest seconds of the chosen steps behind it
  printf '%s\n' "$steps" | awk -v "name=$1" -v "chosen=$chosen" '
    BEGIN { count = split(chosen, names) }
    { least[$1] = $2 }
    END { for (i = count; i > 0 && names[i] != name; --i) sum += least[names[i]]; print sum + 0 }'
}

worse() { # the one of two exit codes of proctor that says more
  for code in 2 1 75 3; do
    if [ "$1" = $code ] || [ "$2" = $code ]; then
      echo $code
      return
    fi
  done
  echo $(($1 > $2 ? $1 : $2))
}

say() { printf '%s\n' "$*" >>"$LENT_OUT/table.txt"; }

row() { say "$(printf '%-8s %-8s %5s s  %s' "$@" | sed 's/ *$//')"; }

left() { echo $((total - reserve - $(date +%s) + begun)); }

interrupt() {
  interrupted=$1
  [ -z "$running" ] || kill -TERM "$running" # `timeout` passes it on
}

wait_for_step() { # a signal to this script ends `wait` early
  while :; do
    wait "$running"
    code=$?
    kill -0 "$running" 2>/dev/null || return $code
  done
}

run_step() { # NAME LIMIT ARGUMENTS...; sets code
  name=$1
  limit=$2
  shift 2
  timeout --kill-after=15 --signal=TERM "$limit" sh "$here/lent.sh" --step "$name" "$limit" "$@" </dev/null &
  running=$!
  [ "$interrupted" = 0 ] || kill -TERM "$running" # the signal came before there was a process
  wait_for_step
  code=$?
  running=
  if [ -e "$LENT_OUT/$name/journal.jsonl" ] && [ ! -e "$LENT_OUT/$name/report.json" ]; then
    timeout 10 "$proctor" finish "$LENT_OUT/$name"
  fi
}

result_of_step() { # NAME: a row of the table, from code and $LENT_OUT/note
  about=$(cat "$LENT_OUT/note" 2>/dev/null)
  rm -f "$LENT_OUT/note"
  case $code in
    77)
      row "$1" skipped "$taken" "$about"
      return
      ;;
    124 | 137) [ "$taken" -lt "$limit" ] || about="ended at its limit of $limit s" ;;
  esac
  [ "$interrupted" = 0 ] || about=interrupted
  row "$1" "exit $code" "$taken" "$about"
  worst=$(worse "$worst" "$code")
}

left_out() { # NAME WHY: a row
  row "$1" "not run" - "$2"
  worst=$(worse "$worst" 3)
}

try_step() { # NAME ARGUMENTS...
  name=$1
  shift
  least=$(seconds_of "$name" 2)
  limit=$(seconds_of "$name" 3)
  now=$(left)
  later=$(seconds_of_later "$name")
  if [ "$interrupted" != 0 ]; then
    left_out "$name" interrupted
  elif [ "$now" -lt "$least" ]; then
    left_out "$name" "$now s left, it needs $least"
  else
    [ "$limit" -le $((now - later)) ] || limit=$((now - later))
    [ "$limit" -ge "$least" ] || limit=$least
    echo "lent: $name: at most $limit s, of $now s that are left"
    start=$(date +%s)
    run_step "$name" "$limit" "$@"
    taken=$(($(date +%s) - start))
    echo "lent: $name: exit $code after $taken s"
    result_of_step "$name"
  fi
}

size_of_out() { du -sk "$LENT_OUT" | cut -f1; }

trim() { # the largest files that no report is made from, until OUT is small enough
  find "$LENT_OUT" -type f -size +1024k ! -name journal.jsonl ! -name report.json -printf '%k %P\n' | sort -rn |
    while read -r kib file; do
      [ "$(size_of_out)" -gt $((most_mib * 1024)) ] || break
      rm "$LENT_OUT/$file"
      say "left out: $file, $((kib / 1024)) MiB"
    done
  [ "$(size_of_out)" -gt $((most_mib * 1024)) ] || return 0
  say "$LENT_OUT has $(($(size_of_out) / 1024)) MiB, more than $most_mib:" \
    "$(find "$LENT_OUT" -type f -printf '%k %P\n' | sort -rn | head -n 1 | sed 's/\([0-9]*\) \(.*\)/\2 has \1 KiB/')"
  worst=$(worse "$worst" 1)
}

total=540
chosen=$(names | paste -sd ' ')
while getopts t:s: option; do
  case $option in
    t) total=$OPTARG ;;
    s) chosen=$OPTARG ;;
    *) refuse "usage: lent.sh [-t SECONDS] [-s \"STEP...\"] [OUT [ARGUMENTS...]]" ;;
  esac
done
shift $((OPTIND - 1))
case $total in '' | 0* | *[!0-9]*) refuse "-t $total: not a number of seconds, for example -t 540" ;; esac
[ -n "$(printf '%s' "$chosen" | tr -d ' ')" ] || refuse "-s: no step; the steps are $(names | paste -sd ' ')"
for step in $chosen; do
  names | grep -qxF -- "$step" || refuse "-s: unknown step '$step'; the steps are $(names | paste -sd ' ')"
done
LENT_OUT=${1:-lent}
[ $# -eq 0 ] || shift
[ -z "$(ls -A "$LENT_OUT" 2>/dev/null)" ] || refuse "$LENT_OUT is not empty. Give another directory: lent.sh OUT"
mkdir -p "$LENT_OUT" || exit 2
LENT_OUT=$(cd "$LENT_OUT" && pwd)
export LENT_OUT

begun=$(date +%s)
worst=0
interrupted=0
running=
trap 'interrupt 130' INT
trap 'interrupt 143' TERM
trap 'interrupt 129' HUP
for step in $chosen; do try_step "$step" "$@"; done
trim
echo
cat "$LENT_OUT/table.txt"
echo "lent: $(($(date +%s) - begun)) s of $total; results in $LENT_OUT"
[ "$interrupted" = 0 ] || exit "$interrupted"
exit "$worst"
