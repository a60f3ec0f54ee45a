#!/usr/bin/env bash
# Becomes `proctor run`, so that a cancel reaches it. Input comes by the environment, no line of it is read as shell.
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
# What a test prints is no workflow command, proctor sees to that; nor may it write outputs or variables of the job.
unset GITHUB_OUTPUT GITHUB_ENV GITHUB_PATH GITHUB_STATE GITHUB_STEP_SUMMARY
exec proctor run --out "$run_directory" "${options[@]}"
