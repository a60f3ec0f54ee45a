# shellcheck shell=bash
# Sourced by run-proctor and finish-proctor. `run_directory` is the same in both, another one in each attempt.
if ! [[ ${NAME-} =~ ^[A-Za-z0-9._-]+$ ]]; then
  echo "proctor: name '${NAME-}' may have letters, digits, '.', '_' and '-' only" >&2
  exit 2
fi
run_directory=proctor-out/$GITHUB_RUN_ID-$GITHUB_RUN_ATTEMPT-$NAME
export run_directory
# A job container is root in a workspace that belongs to the runner's user on the host.
if [ "$(id -u)" = 0 ]; then
  export PROCTOR_TRUST_USER=${PROCTOR_TRUST_USER-$(stat -c %u .)}
fi
