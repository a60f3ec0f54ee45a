// Finds the programs and files of an installed or built Proctor. The functions below the class read the environment of
// the caller.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/plan/config.h"
#include "harness/plan/plan_file.h"

namespace proctor {

inline constexpr const char* kCollectives = "collectives";  // the suite to which --suite-arg provider applies

// The runner, and the programs and files that were installed with it.
class Installation {
 public:
  // The installation to which the running program belongs.
  Installation();
  // Returns the installation below `prefix`, for a program that embeds runs: the result of `cmake --install`, the
  // environment of a wheel, or a build tree. Refuses a directory without a runner.
  static Result<Installation> at(const std::string& prefix);

  // Returns the path of the runner, or "" if /proc cannot be read. No program can be started then.
  const std::string& program() const { return program_; }
  // Returns the directory of the programs: the runner, the guard and the built-in suites.
  std::string directory() const;
  // Returns for example "wheel, /opt/venv" or "build tree, /src/proctor/build".
  std::string description() const;
  // Returns the version of the installed suites, or "" if no file has it, for example in a build tree.
  std::string suites_version() const;
  // Returns directories in which helper programs may be, in the form of PATH: the directory of the runner, and those of
  // packages in the same environment.
  std::string tool_directories() const;
  std::vector<BuiltinSuite> builtin_suites() const;
  // Returns the path of a file below share/proctor, which is next to the runner (build tree) or at its installed place.
  // Returns "" if it does not exist.
  std::string shared_file(const std::string& name) const;
  // Returns the directories that a plan file replaces by names (plan/plan_file.h). `start` is the directory in which
  // proctor was started.
  PlanDirectories plan_directories(const std::string& start) const;

 private:
  std::string program_;
};

// Returns the current environment of the caller.
Environment caller_environment();
// Returns PATH of this environment, or the default places for programs if it has no PATH.
std::string search_path();

}  // namespace proctor
