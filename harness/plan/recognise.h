// What kind of test program a command is, when nobody said so. Decided from the bytes of the executable: an
// unknown command is never run just to find out. Only a file that names a listing option is asked to list.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/plan/discovery.h"
#include "harness/plan/plan.h"

namespace proctor {

struct Recognition {
  SuiteKind kind = SuiteKind::kCommand;
  std::string reason;                 // "lists GoogleTest tests": for the header
  std::optional<ListOutput> listing;  // when it was asked already; discover() takes it
};

// The file that `suite.command[0]` names: looked up in `path` (a PATH value) without a slash, else relative
// to suite.directory. Usage error when there is none, with the nearest name, or when it cannot be executed.
Result<std::string> find_executable(const Suite& suite, const std::string& path);

// `executable`: from find_executable.
Result<Recognition> recognise(const Suite& suite, const std::string& executable, const ListRunner& run);

}  // namespace proctor
