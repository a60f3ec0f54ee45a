#include "harness/plan/recognise.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <vector>

#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "harness/base/user_name.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/journal/outcome.h"

namespace proctor {

namespace {

namespace fs = std::filesystem;

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

bool is_executable(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> executables_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;  // an unreadable directory gives no suggestions
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (is_executable(entry.path().string())) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Splits PATH. An empty element is the current directory.
std::vector<fs::path> directories_of(const std::string& path, const std::string& current) {
  std::vector<fs::path> directories;
  std::string_view rest = path;
  while (true) {
    const std::size_t colon = rest.find(':');
    directories.push_back(fs::path(current) / rest.substr(0, colon));
    if (colon == std::string_view::npos) return directories;
    rest.remove_prefix(colon + 1);
  }
}

Error cannot_start(const Suite& suite, const std::string& why, const std::string& hint) {
  return Error::refused(fmt::format("Suite `{}` ({}) cannot start: `{}` {}", suite.name, suite.origin,
                                    suite.command.front(), why),
                        hint);
}

std::string program_meant(const fs::path& directory, const std::string& near) {
  return near.empty() ? std::string() : fmt::format("Did you mean `{}`?", (directory / near).string());
}

// Returns whether only the file mode can keep the kernel from starting the file, as far as this user can read
// it.
bool is_program(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string begin(4, '\0');
  if (!stream.read(begin.data(), 2)) return !stream.is_open();
  stream.read(begin.data() + 2, 2);
  return begin.starts_with("#!") || begin == "\177ELF";
}

std::string exit_text(const ListOutput& out) {
  if (out.timed_out) return "does not exit in time";
  if (out.exit_signal) return fmt::format("is killed by signal {}", *out.exit_signal);
  return fmt::format("exits with {}", out.exit_code.value_or(-1));
}

bool ended_well(const Kind& kind, const ListOutput& out) {
  return out.spawn_error.empty() && !out.timed_out && out.exit_code && kind.listed_well(*out.exit_code) &&
         !out.stdout_truncated;
}

enum class Listing { kNone, kEmpty, kTests };

Listing listing_of(const Kind& kind, Suite suite, const ListOutput& out, const Listers& listers) {
  if (!ended_well(kind, out)) return Listing::kNone;
  if (kind.is_list(out)) return Listing::kTests;
  std::vector<Warning> ignored;  // discover() reports them
  const Ask ask = [&](const auto& argv) { return run_listing_command(suite, kind, argv, listers); };
  const auto cases = kind.read_list(suite, out, ask, ignored);
  if (cases && !cases->empty()) return Listing::kTests;
  // Output without a test can come from a main() that ends before GoogleTest lists. A list file comes from
  // the framework.
  return cases && !out.file_text.empty() ? Listing::kEmpty : Listing::kNone;
}

// Returns the suite without variables that select tests. A program with one of them can fail to list. A suite
// of this kind is refused later if it has such a variable.
Suite asked_for_all(Suite suite, const Kind& kind) {
  for (const std::string_view name : kind.traits().caller_filters) suite.env.erase(std::string(name));
  return suite;
}

// Runs a program that has the marker of the kind with its listing option. Returns nothing if the program is
// not of that kind; `why` is the reason.
Result<std::optional<Recognition>> ask(const Kind& kind, const Suite& suite, const Listers& listers,
                                       std::string& why) {
  const std::vector<std::string> command = kind.list_command(suite);
  Result<ListOutput> out = run_listing_command(asked_for_all(suite, kind), kind, command, listers);
  if (!out) return out.error();
  const auto framework = kind.traits().framework;
  const Listing listing = listing_of(kind, suite, *out, listers);
  if (listing == Listing::kTests)
    return std::optional(Recognition{&kind, fmt::format("lists {}", framework), std::move(*out)});
  const bool gave_up_without_device = !out->no_device.empty() && out->exit_code.value_or(0) != 0;
  if (out->timed_out || out->exit_signal || !out->spawn_error.empty() || gave_up_without_device) {
    // A program with a framework that cannot list must not be judged by its exit code as a command.
    return std::optional(
        Recognition{&kind, fmt::format("contains the options that list {}", framework), std::move(*out)});
  }
  const auto option = std::find_if(command.begin(), command.end(), [](const std::string& word) {
    return word.find("list") != word.npos && word.starts_with('-');
  });
  const std::string instead = listing == Listing::kEmpty ? std::string(kListsNoTests)
                              : ended_well(kind, *out)   ? "prints no list"
                                                         : exit_text(*out);
  why =
      fmt::format("accepts {}, but {} with it", option == command.end() ? command.back() : *option, instead);
  return std::optional<Recognition>();
}

// Handles a program with the markers of Proctor's protocol and of GoogleTest. Either it is a Proctor suite,
// or a GoogleTest program that only contains the word. The program is run once with both listing options, so
// that neither kind runs a test. A Proctor suite prints events, a GoogleTest program prints its list.
Result<Recognition> ask_both(const Suite& suite, const Listers& listers) {
  const std::vector<std::string> ours = proctor_kind().list_command(suite);
  Suite with_our_option = suite;
  with_our_option.command = ours;
  Result<ListOutput> out = run_listing_command(asked_for_all(suite, gtest_kind()), gtest_kind(),
                                               gtest_kind().list_command(with_our_option), listers);
  if (!out) return out.error();
  const bool no_cases = out->event_lines.empty() || announces_gtest_listener(out->event_lines);
  if (no_cases && listing_of(gtest_kind(), suite, *out, listers) == Listing::kTests)
    return Recognition{&gtest_kind(), "lists GoogleTest tests", std::move(*out)};
  return Recognition{&proctor_kind(), "speaks the child protocol", {}};
}

}  // namespace

std::string launcher_mark() { return fmt::format("{}:{}", "proctor", "starts-what-it-is-told"); }

Result<std::vector<const Kind*>> kinds_marked_in(const std::string& path) {
  std::vector<std::string_view> markers;
  for (const Kind* kind : all_kinds())
    markers.insert(markers.end(), kind->traits().markers.begin(), kind->traits().markers.end());
  const std::string launcher = launcher_mark();
  markers.push_back(launcher);
  const auto found = find_texts(path, markers,
                                "\x7f"
                                "ELF");
  std::vector<const Kind*> kinds;
  // An executable but unreadable file has no recognisable kind. This is not a mistake.
  if (!found && found.error().sys_errno == EACCES) return kinds;
  if (!found) return found.error();
  if (found->contains(launcher)) return kinds;
  for (const Kind* kind : all_kinds()) {
    const auto& its = kind->traits().markers;
    if (std::ranges::any_of(its, [&](std::string_view marker) { return found->contains(marker); }))
      kinds.push_back(kind);
  }
  return kinds;
}

std::optional<Obstacle> obstacle_to_execution(const std::string& file) {
  const std::string user = user_name(geteuid());
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    if (errno != EACCES) return std::nullopt;
    return Obstacle{fmt::format("is in a directory that {} cannot search", user), ""};
  }
  if (S_ISDIR(status.st_mode)) return Obstacle{"is a directory", ""};
  if (!S_ISREG(status.st_mode)) return Obstacle{"is not a regular file", ""};
  if (access(file.c_str(), X_OK) == 0) return std::nullopt;
  if (!is_program(file)) return Obstacle{"is " + std::string(kNoProgram), ""};
  const bool of_nobody = (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0;
  return Obstacle{fmt::format("cannot be executed by {}: its mode is {:04o}, its owner {}", user,
                              status.st_mode & 07777, user_name(status.st_uid)),
                  fmt::format("Try: chmod {} {}", of_nobody ? "+x" : "a+rx",
                              shell_quote(fs::path(file).lexically_normal().string()))};
}

std::string hint_for_shell_line(const std::vector<std::string>& command) {
  const bool is_line =
      command.size() == 1 && command.front().find_first_of(" \t|&;<>$`") != std::string::npos;
  return is_line ? "To run a line of shell, write: -- sh -c " + shell_quote(command.front()) : std::string();
}

Result<std::string> find_executable(const Suite& suite, const std::string& path) {
  const std::string& program = suite.command.front();
  const std::string shell = hint_for_shell_line(suite.command);
  const fs::path current(suite.directory);
  if (program.find('/') != std::string::npos) {
    const fs::path file = current / program;
    if (is_executable(file.string())) return file.string();
    if (const auto obstacle = obstacle_to_execution(file.string()))
      return cannot_start(suite, obstacle->why, obstacle->remedy);
    const std::string near = near_miss(base_name(program), executables_in(file.parent_path()));
    return cannot_start(suite, fmt::format("does not exist (from {})", suite.directory),
                        shell.empty() ? program_meant(fs::path(program).parent_path(), near) : shell);
  }
  std::vector<std::string> names;
  for (const fs::path& directory : directories_of(path, suite.directory)) {
    const std::string file = (directory / program).string();
    if (is_executable(file)) return file;
  }
  for (const fs::path& directory : directories_of(path, suite.directory)) {
    for (std::string& name : executables_in(directory)) names.push_back(std::move(name));
  }
  if (is_executable((current / program).string())) {
    return cannot_start(suite, "is not in PATH", fmt::format("Did you mean `./{}`?", program));
  }
  return cannot_start(suite, "is not in PATH",
                      shell.empty() ? program_meant({}, near_miss(program, names)) : shell);
}

Result<Recognition> recognise(Suite& suite, const std::string& executable, const Listers& listers,
                              std::vector<Warning>& warnings) {
  const auto choose = [&](SuiteRole role) {
    return choose_devices(listers, role, executable, suite, warnings);
  };
  if (const Kind* kind = kind_of_command(suite.command)) {
    if (auto chosen = choose(role_of(*kind)); !chosen) return chosen.error();
    return Recognition{kind, fmt::format("the command is {}", kind->name()), {}};
  }
  const Result<std::vector<const Kind*>> kinds = kinds_marked_in(executable);
  if (!kinds) return kinds.error();
  const SuiteRole role = kinds->empty() ? SuiteRole::kCommand : SuiteRole::kTestProgram;
  if (auto chosen = choose(role); !chosen) return chosen.error();
  if (!kinds->empty() && kinds->front()->ours()) {
    const bool both = std::find(kinds->begin(), kinds->end(), &gtest_kind()) != kinds->end();
    if (both) return ask_both(suite, listers);
    return Recognition{kinds->front(), "knows --proctor-list", {}};
  }
  std::string why = "judged by its exit code";
  for (const Kind* kind : *kinds) {
    Result<std::optional<Recognition>> asked = ask(*kind, suite, listers, why);
    if (!asked) return asked.error();
    if (*asked) return **std::move(asked);
  }
  return Recognition{&command_kind(), why, {}};
}

}  // namespace proctor
