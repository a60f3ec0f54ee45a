// Finds out what kind of test program a command is if the configuration does not say so. The bytes of the
// executable decide: an unknown command is never run just to find out. Only a file that contains the name of
// a listing option is asked to list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/discovery.h"
#include "harness/plan/plan.h"

namespace proctor {

// In the reason of what is a command although it has a framework inside, which says that there are no tests.
inline constexpr std::string_view kListsNoTests = "lists no tests";

// Stands in a program that starts what stands on its command line, as proctor does. It is never asked to list, since it
// would start that; it is a command. Here it is in pieces: who merely links this is no such program.
std::string launcher_mark();

// The kinds of which a marker stands in the executable, in their own order. Only ELF files are searched; a script that
// mentions an option does not understand it.
Result<std::vector<const Kind*>> kinds_marked_in(const std::string& executable);

struct Recognition {
  const Kind* kind = &command_kind();
  std::string reason;                 // "lists GoogleTest tests": for the header
  std::optional<ListOutput> listing;  // if the program has listed already; discover() uses it
};

// Why this user cannot execute a file that is there, as a predicate ("is a directory"), and the command that helps.
struct Obstacle {
  std::string why;
  std::string remedy;
};
// None: it is not there, or nothing of the file itself is in the way.
std::optional<Obstacle> obstacle_to_execution(const std::string& file);

// For a command of one word that only a shell understands ("a | wc"): how to give it to one. "": it is none.
std::string hint_for_shell_line(const std::vector<std::string>& command);

// The file that `suite.command[0]` names: looked up in `path` (a PATH value) without a slash, else relative
// to suite.directory. A usage error if there is no such file (it names the most similar one) or if the file
// cannot be executed.
Result<std::string> find_executable(const Suite& suite, const std::string& path);

// `executable`: from find_executable. Chooses the devices of the suite before it starts the program.
Result<Recognition> recognise(Suite& suite, const std::string& executable, const Listers& listers,
                              std::vector<Warning>& warnings);

}  // namespace proctor
