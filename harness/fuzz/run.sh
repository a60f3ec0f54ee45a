#!/usr/bin/env bash
# run.sh BUILD   runs every libFuzzer program of a build, as many at once as there are processors, for
# PROCTOR_FUZZ_SECONDS each. A corpus grows in BUILD/corpus. An input that breaks a program is kept, and the others go on.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
build=$1

fuzz_one() { # program seconds
  local program=$1 name=${1#proctor_} corpora=("$build/corpus/$1") log=$build/$1.log options=() seeds
  seeds=harness/fuzz/seeds/${name%_fuzz}
  mkdir -p "${corpora[0]}"
  if [ "$program" = proctor_simgpu_spirv_fuzz ]; then seeds=$build/bin/kernels; fi
  if [ -e "harness/fuzz/${name%_fuzz}_fuzz.cc" ]; then options=(-max_len=200000 -dict=harness/fuzz/document.dict); fi
  if [ -d "$seeds" ]; then corpora+=("$seeds"); fi
  if ! "$build/bin/$program" -max_total_time="$2" -timeout=10 -print_final_stats=1 -verbosity=0 "${options[@]}" \
    -artifact_prefix="$build/$program-" "${corpora[@]}" >"$log" 2>&1; then
    echo "fuzz: $program broke:"
    tail -40 "$log"
    return 1
  fi
  echo "fuzz: $program: $(grep -h number_of_executed_units "$log" || true)"
}

programs=()
for program in "$build"/bin/*_fuzz; do programs+=("${program##*/}"); done
seconds=$((16 * 60 * $(nproc) / ${#programs[@]}))
seconds=${PROCTOR_FUZZ_SECONDS:-$((seconds < 600 ? seconds : 600))}
echo "fuzz: ${programs[*]}: $seconds s each, $(nproc) at once"
export build
export -f fuzz_one
printf '%s\n' "${programs[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one "$@"' - {} "$seconds" || {
  echo "fuzz: a program broke: $build/*_fuzz-*, and $build/*_fuzz.log" >&2
  exit 1
}
