// proctor: parses the command line and runs one action. Everything a person can type wrong ends here with
// exit 2.
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>  // any header of the C library defines its version

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string_view>

#include "commit.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/run_command.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"

namespace proctor::cli {
namespace {

// A descriptor from 0 to 2 that is closed would be taken by the next file that is opened, and then written
// to. Put something there on which reads end and writes fail (EBADF, which is reported like any other loss).
void occupy_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) static_cast<void>(::open("/dev/null", O_RDONLY));
  }
}

// Everything after the first `--`, taken off the arguments.
AfterDashes take_after_dashes(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return std::nullopt;
  std::vector<std::string> after(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  return after;
}

// The innermost command that was recognised before the parser met something unknown.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

Error unknown_word(const CLI::App& app, const std::string& word) {
  const CLI::App& command = innermost(app);
  std::vector<std::string> known;
  const bool is_option = word.rfind('-', 0) == 0;
  if (is_option) {
    for (const auto* option : command.get_options()) {
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else {
    for (const auto* subcommand : command.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(subcommand->get_name());
    }
  }
  const std::string bare = word.substr(0, word.find('='));
  const std::string name = &command == &app ? "proctor" : "proctor " + command.get_name();
  if (word == "help")
    return Error::usage("read the command line of " + name + ": unknown word `help`",
                        "Type " + name + " --help.");
  if (!is_option && command.get_name() == "exec") {
    return Error::usage("read the command line of " + name + ": unknown word `" + word + "`",
                        "A command goes after `--`: " + name + " [OPTIONS] -- " + shell_quote(word));
  }
  return Error::usage(
      "read the command line of " + name + ": unknown " + (is_option ? "option" : "word") + " `" + bare + "`",
      did_you_mean(bare, known, "See `" + name + " --help`."));
}

int parse_error(const CLI::App& app, const CLI::ParseError& error,
                const std::vector<std::string>& arguments) {
  const auto unknown = app.remaining(/*recurse=*/true);
  const auto refuse = [&](const Error& why) {
    if (innermost(app).get_name() == "run") refuse_part(arguments, why);
    return innermost(app).get_name() == "exec" ? fail_exec(why) : fail(why);
  };
  const bool about_words =
      dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error);
  if (about_words && !unknown.empty()) return refuse(unknown_word(app, unknown.front()));
  const std::string name = &innermost(app) == &app ? "proctor" : "proctor " + innermost(app).get_name();
  std::string why = error.what();
  constexpr std::string_view kNoNumber = "Could not convert: ";
  if (why.starts_with(kNoNumber)) why = why.substr(kNoNumber.size()) + " is not a whole number";
  return refuse(Error::usage("read the command line of " + name + ": " + why, "See `" + name + " --help`."));
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string c_library() {
#if defined(__GLIBC__)
  return fmt::format("glibc {}.{}", __GLIBC__, __GLIBC_MINOR__);
#else
  return "musl";  // which has no macro of its own
#endif
}

// What `proctor --version` says: the version, and of what and how this executable was made.
std::string build_facts() {
  const std::string_view commit = PROCTOR_COMMIT;
  const std::string_view sanitizers = PROCTOR_SANITIZERS;
  const std::string build = sanitizers.empty()
                                ? PROCTOR_BUILD_TYPE
                                : fmt::format("{}, sanitizers {}", PROCTOR_BUILD_TYPE, sanitizers);
  return fmt::format(
      "proctor {}\n"
      "commit    {}\n"
      "compiler  {}, {}\n"
      "linked    {}, {}, {}",
      PROCTOR_VERSION, commit.empty() ? "unknown" : commit, compiler(), build,
      PROCTOR_LINKED_STATICALLY ? "statically" : "dynamically", c_library(), PROCTOR_PROCESSOR);
}

// No command ends green whose answer was lost, as on a full disk. `run` and `exec` write theirs in another way.
int all_said(int code) {
  std::cout.flush();
  if (code == kExitGreen) return said_all(code, "the answer");
  std::fflush(stdout);
  return code;
}

int run_main(int argc, char** argv) {
  occupy_standard_descriptors();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const AfterDashes after_dashes = take_after_dashes(arguments);

  CLI::App app{"Proctor runs accelerator tests, each with its whole process tree contained.", "proctor"};
  app.set_version_flag("--version", build_facts, "Print the version and how this executable was built");
  app.require_subcommand(1);
  Action action;
  add_run_command(app, action, after_dashes);
  add_exec_command(app, action, after_dashes);
  add_plan_command(app, action, after_dashes);
  add_list_command(app, action, after_dashes);
  add_report_command(app, action);
  add_history_command(app, action);
  add_ctest_command(app, action);
  add_rerun_command(app, action);
  add_finish_command(app, action);
  add_gate_command(app, action);
  add_dump_command(app, action);
  add_log_command(app, action);
  add_gather_evidence_command(app, action);
  add_launch_ranks_command(app, action);
  add_devices_command(app, action);
  add_doctor_command(app, action);
  add_mask_command(app, action);
  add_explain_command(app, action);
  add_known_failures_command(app, action);
  add_selftest_command(app, action);
  add_stack_command(app, action, after_dashes);
  add_manual_command(app, action);

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(reversed);
  } catch (const CLI::Success& request) {  // --help, --version
    return all_said(app.exit(request));
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error, arguments);
  }
  const std::string chosen = app.get_subcommands().front()->get_name();
  const bool takes_command = chosen == "run" || chosen == "exec" || chosen == "list" || chosen == "plan" ||
                             (chosen == "stack" && innermost(app).get_name() == "run");
  if (after_dashes && !takes_command) {
    return fail(
        Error::usage("read the command line of proctor " + chosen + ": it takes no command after `--`"));
  }
  return all_said(action());
}

}  // namespace
}  // namespace proctor::cli

// A suite of `proctor run -- COMMAND` is no suite to be asked for its cases (harness/plan/recognise.h).
extern const volatile char kLauncherMark[];
const volatile char kLauncherMark[] = "proctor:starts-what-it-is-told";

int main(int argc, char** argv) {
  static_cast<void>(kLauncherMark[0]);
  // Where the caller ignored it, the kernel would reap our children, and nobody would hear how they ended.
  std::signal(SIGCHLD, SIG_DFL);
  try {
    return proctor::cli::run_main(argc, argv);
  } catch (const std::exception& error) {  // a defect of ours, or no memory
    std::fprintf(stderr, "proctor: internal error: %s\n", error.what());
    return proctor::kExitMachine;
  }
}
