#!/usr/bin/env bash
# Execs `proctor run`, so that it receives the signals of a cancel. Input comes through the environment and is never
# interpreted by the shell.
set -euo pipefail
# shellcheck source=../finish-proctor/run-directory.sh
source "$(dirname "$0")/../finish-proctor/run-directory.sh"

options=()
for option in "--plan=$PLAN" "--shard=$SHARD" "--deadline=$DEADLINE"; do
  [ -z "${option#*=}" ] || options+=("$option")
done
while IFS= read -r line; do
  [ -z "$line" ] || options+=("$line")
done <<<"$ARGUMENTS"

echo "report=$run_directory" >>"$GITHUB_OUTPUT"
# Tests must not write outputs or variables of the job. Proctor makes workflow commands in their output ineffective.
unset GITHUB_OUTPUT GITHUB_ENV GITHUB_PATH GITHUB_STATE GITHUB_STEP_SUMMARY
exec proctor run --out "$run_directory" "${options[@]}"
