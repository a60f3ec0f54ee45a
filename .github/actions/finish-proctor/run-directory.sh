# shellcheck shell=bash
# Sourced by run-proctor and finish-proctor. Both have the same `run_directory`. Each attempt has its own.
if ! [[ ${NAME-} =~ ^[A-Za-z0-9._-]+$ ]]; then
  echo "proctor: name '${NAME-}' may have letters, digits, '.', '_' and '-' only" >&2
  exit 2
fi
run_directory=proctor-out/$GITHUB_RUN_ID-$GITHUB_RUN_ATTEMPT-$NAME
export run_directory
# In a job container the user is root, and the workspace belongs to the runner's user of the host.
if [ "$(id -u)" = 0 ]; then
  export PROCTOR_TRUST_USER=${PROCTOR_TRUST_USER-$(stat -c %u .)}
fi
