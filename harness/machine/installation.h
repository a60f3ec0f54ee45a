// Where our own programs and files lie, and what the caller gave this process. Nothing is started.
#pragma once

#include <string>
#include <vector>

#include "harness/devices/environment.h"
#include "harness/plan/config.h"
#include "harness/plan/plan_file.h"

namespace proctor {

inline constexpr const char* kCollectives = "collectives";  // the suite that --provider is for

// The directory of the running executable, where the built-in suites' programs are.
std::string program_directory();
// This executable; "" where /proc cannot be read, and then nothing can be started.
std::string own_program();

std::vector<BuiltinSuite> builtin_suites();

// A file of ours below share/proctor, beside the executable (build tree) or where the installed one has it
// from there; "" if there is none.
std::string shared_file(const std::string& name);

// What a plan puts names for (plan/plan_file.h); `start`: where proctor was started.
PlanDirectories plan_directories(const std::string& start);

// The caller's environment, as of now.
Environment caller_environment();
// Its PATH, or where programs are looked for without one.
std::string search_path();

}  // namespace proctor
