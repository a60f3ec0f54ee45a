// base_environment(): the environment from which a child starts. The other half of environment.h is about
// visibility.

#include "harness/devices/environment.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxTmpdir = 30;

}  // namespace

const std::vector<std::string>& strict_allow_list() {
  static const std::vector<std::string> kNames = {
      // Finding programs, libraries and the user's files.
      "PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "ONEAPI_ROOT",
      // Which driver the Level Zero loader takes is part of the set-up; hiding overrides it.
      "ZE_ENABLE_ALT_DRIVERS",
      // So are its layers between program and driver: they check, trace and log, and change no device.
      // Source: oneapi-src/level-zero, README.md and source/layers/validation/README.md.
      "ZE_ENABLE_LOADER_INTERCEPT", "ZE_ENABLE_LOADER_DEBUG_TRACE", "ZE_ENABLE_TRACING_LAYER",
      "ZET_ENABLE_API_TRACING_EXP", "ZE_ENABLE_VALIDATION_LAYER", "ZE_ENABLE_PARAMETER_VALIDATION",
      "ZE_ENABLE_HANDLE_LIFETIME", "ZE_ENABLE_MEMORY_TRACKER", "ZE_ENABLE_THREADING_VALIDATION",
      "ZEL_ENABLE_BASIC_LEAK_CHECKER", "ZEL_ENABLE_CERTIFICATION_CHECKER", "ZEL_ENABLE_EVENTS_CHECKER",
      "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER", "ZEL_ENABLE_LOADER_LOGGING", "ZEL_LOADER_LOGGING_LEVEL",
      "ZEL_LOADER_LOG_CONSOLE", "ZEL_LOADER_LOG_DIR", "ZEL_LOADER_LOG_FILE", "ZEL_LOADER_LOG_PATTERN",
      // Where the suites find libraries of collectives.
      "PROCTOR_ONECCL_LIBRARY", "PROCTOR_NCCL_LIBRARY",
      // Sanitizers of the suites.
      "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH"};
  return kNames;
}

const std::vector<std::string>& rank_variables() {
  static const std::vector<std::string> kNames = {
      // torchrun
      "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE",
      "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
      // Open MPI, and the process managers of MPICH and Intel MPI
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_NODE_RANK",
      "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "PMI_FD",
      "PMI_PORT", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
      // Slurm
      "SLURM_PROCID", "SLURM_LOCALID"};
  return kNames;
}

const std::vector<std::string>& channel_variables() {
  static const std::vector<std::string> kNames = {
      // GitHub Actions, and what runs its workflows
      "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
      "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
      // Buildkite
      "BUILDKITE_AGENT_ACCESS_TOKEN", "BUILDKITE_AGENT_JOB_API_SOCKET", "BUILDKITE_AGENT_JOB_API_TOKEN",
      "BUILDKITE_ENV_FILE",
      // AppVeyor, Bitbucket, Bitrise, Cirrus, Drone, Google Cloud Build
      "APPVEYOR_API_URL", "BITBUCKET_PIPELINES_VARIABLES_PATH", "ENVMAN_ENVSTORE_PATH", "CIRRUS_ENV",
      "DRONE_CARD_PATH", "DRONE_OUTPUT", "BUILDER_OUTPUT"};
  return kNames;
}

Result<Environment> base_environment(bool strict, const Environment& caller, const std::string& tmpdir) {
  if (!strict) {
    Environment environment = caller;
    for (const auto* names : {&rank_variables(), &channel_variables()}) {
      for (const std::string& name : *names) environment.erase(name);
    }
    return environment;
  }
  if (tmpdir.empty() || tmpdir.front() != '/' || tmpdir.size() > kMaxTmpdir) {
    return Error::internal("use TMPDIR '" + tmpdir + "': expected an absolute path of at most " +
                           std::to_string(kMaxTmpdir) + " characters");
  }
  Environment environment;
  for (const std::string& name : strict_allow_list()) {
    if (const auto found = caller.find(name); found != caller.end()) environment.insert(*found);
  }
  environment["LC_ALL"] = "C.UTF-8";
  environment["TZ"] = "UTC";
  environment["TMPDIR"] = tmpdir;
  return environment;
}

}  // namespace proctor
