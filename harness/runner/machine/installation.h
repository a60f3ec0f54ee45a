// Installation finds the programs and files of Proctor. The functions below it read the environment of the caller.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/plan/config.h"
#include "harness/plan/plan_file.h"

namespace proctor {

inline constexpr const char* kCollectives = "collectives";  // the suite that --suite-arg provider is for

// The runner, and the programs and files that were installed with it.
class Installation {
 public:
  // The one to which the running program belongs.
  Installation();
  // The one below `prefix`, for a program that embeds runs: what `cmake --install` wrote, the environment of a wheel, or a
  // build tree. Refuses a directory without a runner.
  static Result<Installation> at(const std::string& prefix);

  // The path of the runner. "" if /proc cannot be read: nothing can be started then.
  const std::string& program() const { return program_; }
  // Where the programs are: the runner, the guard and the built-in suites.
  std::string directory() const;
  // "wheel, /opt/venv", "build tree, /src/proctor/build".
  std::string description() const;
  // The version of the installed suites, "" if no file has it, as in a build tree.
  std::string suites_version() const;
  // Where helper programs may be, in the form of PATH: beside the runner, and where packages of the same environment have
  // theirs.
  std::string tool_directories() const;
  std::vector<BuiltinSuite> builtin_suites() const;
  // A file below share/proctor, which lies beside the runner (build tree) or at its installed place; "" if there is none.
  std::string shared_file(const std::string& name) const;
  // The directories for which a plan writes names (plan/plan_file.h). `start` is where proctor was started.
  PlanDirectories plan_directories(const std::string& start) const;

 private:
  std::string program_;
};

// The caller's environment, as of now.
Environment caller_environment();
// PATH of that environment, or the default places for programs if it has no PATH.
std::string search_path();

}  // namespace proctor
