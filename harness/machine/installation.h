// Where our own programs and files lie, and what the caller gave this process. Nothing is started.
#pragma once

#include <string>
#include <vector>

#include "harness/devices/environment.h"
#include "harness/plan/config.h"
#include "harness/plan/plan_file.h"

namespace proctor {

inline constexpr const char* kCollectives = "collectives";  // the suite that --suite-arg provider is for

// The directory of the running executable, where the built-in suites' programs are.
std::string program_directory();
// The path of this executable. "" if /proc cannot be read; nothing can be started then.
std::string own_program();

// How this Proctor was installed, and where: "wheel, /opt/venv", "build tree, /src/proctor/build".
std::string installation();
// The version of the installed suites, "" if no file says it, as in a build tree.
std::string suites_version();
// Where helper programs of this installation may be, in the form of PATH: beside this executable, and where
// packages of the same environment have theirs.
std::string tool_directories();

std::vector<BuiltinSuite> builtin_suites();

// A file of ours below share/proctor, which lies beside the executable (build tree) or at its installed place
// relative to the executable; "" if there is none.
std::string shared_file(const std::string& name);

// The directories for which a plan writes names (plan/plan_file.h). `start` is where proctor was started.
PlanDirectories plan_directories(const std::string& start);

// The caller's environment, as of now.
Environment caller_environment();
// PATH of that environment, or the default places for programs if it has no PATH.
std::string search_path();

}  // namespace proctor
