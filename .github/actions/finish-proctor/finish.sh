#!/usr/bin/env bash
# After any end of a run: ends its processes, completes its reports, and reports to GitHub once.
set -euo pipefail
# shellcheck source=run-directory.sh
source "$(dirname "$0")/run-directory.sh"

if ! [ -e "$run_directory/journal.jsonl" ]; then
  echo "proctor: no run $run_directory was started"
  printf '%s\n' verdict=incomplete exit-code= retry=false report= >>"$GITHUB_OUTPUT"
  exit 0
fi
code=0
proctor finish --stop "$run_directory" || code=$? # the step that ran it has ended
if [ -e "$run_directory.finished" ]; then # summary and annotations exist: repeat only the outputs
  unset GITHUB_STEP_SUMMARY GITHUB_ACTIONS
  echo again=true >>"$GITHUB_OUTPUT"
fi
proctor report github "$run_directory"
exit "$code"
