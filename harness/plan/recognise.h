// Recognises the kind of test program if the configuration does not contain it. The decision uses the bytes
// of the executable. Proctor never runs an unknown command only to recognise it. A program runs with a
// listing option only if its file contains the name of that option.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/discovery.h"
#include "harness/plan/plan.h"

namespace proctor {

// Part of Recognition::reason for a program with a framework that reports no tests. It counts as a command.
inline constexpr std::string_view kListsNoTests = "lists no tests";

// Returns the mark of programs, such as proctor, that start the command on their command line. They are never
// run with a listing option, because they would start that command; they count as commands. The function
// builds the mark from pieces, so that programs which link this code do not contain it.
std::string launcher_mark();

// Returns the kinds with a marker in the executable, in the fixed order of the kinds. Only ELF files are
// searched: a script that contains an option name need not support the option.
Result<std::vector<const Kind*>> kinds_marked_in(const std::string& executable);

// The recognised kind of a command, and the reason.
struct Recognition {
  const Kind* kind = &command_kind();
  std::string reason;                 // for the header of the run: "lists GoogleTest tests"
  std::optional<ListOutput> listing;  // the list, if the program was run; discover() uses it
};

// The reason why this user cannot execute an existing file, as a predicate ("is a directory"), and the
// command that fixes it.
struct Obstacle {
  std::string why;
  std::string remedy;
};
// Returns nothing if the file does not exist, or if the file itself is not the obstacle.
std::optional<Obstacle> obstacle_to_execution(const std::string& file);

// Returns a hint for a one-word command that only a shell can run ("a | wc"), or "".
std::string hint_for_shell_line(const std::vector<std::string>& command);

// Returns the file of `suite.command[0]`. A name without a slash is searched in `path` (a PATH value).
// Otherwise the path is relative to suite.directory. A missing file is a usage error with the most similar
// name. A file that cannot be executed is a usage error, too.
Result<std::string> find_executable(const Suite& suite, const std::string& path);

// Recognises the kind of the suite. `executable` comes from find_executable(). The devices of the suite are
// chosen before its program starts.
Result<Recognition> recognise(Suite& suite, const std::string& executable, const Listers& listers,
                              std::vector<Warning>& warnings);

}  // namespace proctor
