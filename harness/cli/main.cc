// The main function of proctor: parses the command line and runs one action. Every usage error ends with exit code 2.
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>  // any header of the C library defines its version
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <optional>
#include <string_view>

#include "commit.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/help.h"
#include "harness/cli/run_command.h"
#include "harness/cli/usage_errors.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/machine/installation.h"

namespace proctor::cli {
namespace {

// If one of the descriptors 0 to 2 is closed, the next opened file would get its number and receive output. This
// function opens a file there on which reads end and writes fail (EBADF, which is reported like any other loss).
void occupy_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", O_RDONLY) < 0) static_cast<void>(::open("/", O_RDONLY | O_DIRECTORY));
  }
}

// Removes everything after the first `--` from the arguments and returns it.
AfterDashes take_after_dashes(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return std::nullopt;
  std::vector<std::string> after(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  return after;
}

int parse_error(const CLI::App& app, const CLI::ParseError& error,
                const std::vector<std::string>& arguments) {
  const Error why = usage_error(app, error);
  if (innermost(app).get_name() == "run") refuse_part(arguments, why);
  return innermost(app).get_name() == "exec" ? fail_exec(why) : fail(why);
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
  return "musl";  // musl defines no macro of its own
#endif
}

// Returns the text of `proctor --version`: the version, and how this executable was built.
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
      "linked    {}, {}, {}\n"
      "installed {}",
      PROCTOR_VERSION, commit.empty() ? "unknown" : commit, compiler(), build,
      PROCTOR_LINKED_STATICALLY ? "statically" : "dynamically", c_library(), PROCTOR_PROCESSOR,
      Installation().description());
}

// Returns an error if stdout was lost, as on a full disk. `run` and `exec` write their output in another way.
int all_said(int code) {
  std::cout.flush();
  if (code == kExitGreen) return said_all(code, "the answer");
  std::fflush(stdout);
  return code;
}

// Adds all commands in the order of the help.
void add_commands(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                  const AfterDashes& after_dashes) {
  add_run_command(app, action, command_line, after_dashes);
  add_exec_command(app, action, command_line, after_dashes);
  add_accept_command(app, action, command_line, after_dashes);
  add_init_command(app, action);
  add_list_command(app, action, after_dashes);
  add_plan_command(app, action, after_dashes);
  add_rerun_command(app, action);
  add_report_command(app, action);
  add_log_command(app, action);
  add_explain_command(app, action);
  add_history_command(app, action);
  add_gate_command(app, action);
  add_devices_command(app, action);
  add_healthcheck_command(app, action);
  add_doctor_command(app, action);
  add_stack_command(app, action);
  add_dump_command(app, action);
  add_finish_command(app, action);
  add_slurm_command(app, action, after_dashes);
  add_ctest_command(app, action);
  add_selftest_command(app, action);
  add_gather_evidence_command(app, action);
  add_launch_ranks_command(app, action);
  add_manual_command(app, action, after_dashes);
}

// Runs a valid `run` without the other commands, because creating the options of all commands takes longer than
// starting a case.
std::optional<int> run_alone(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& command_line, const AfterDashes& after_dashes) {
  if (arguments.empty() || arguments.front() != "run") return std::nullopt;
  CLI::App app;
  Action action;
  add_run_command(app, action, command_line, after_dashes);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes reversed words
  } catch (const CLI::ParseError&) {  // for --help or a mistake, all commands are needed
    return std::nullopt;
  }
  return all_said(action());
}

int run_main(int argc, char** argv) {
  occupy_standard_descriptors();
  const std::vector<std::string> command_line(argv, argv + argc);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const AfterDashes after_dashes = take_after_dashes(arguments);
  if (const auto code = run_alone(arguments, command_line, after_dashes)) return *code;

  CLI::App app{"Run tests of GPU code and GPU machines, each with its whole process tree contained",
               "proctor"};
  use_help_formatter(app);
  app.set_version_flag("--version", build_facts, "Print the version and how this executable was built");
  app.footer("`proctor help COMMAND` shows the help of a command.");
  app.require_subcommand(1);
  Action action;
  add_commands(app, action, command_line, after_dashes);
  if (auto turned = turn_help(app, arguments); !turned) return fail(turned.error());

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes reversed words
    app.parse(reversed);
  } catch (const CLI::Success& request) {  // --help, --version
    return all_said(app.exit(request));
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error, arguments);
  }
  const std::string chosen = command_path(innermost(app));
  if (after_dashes && !help_of(chosen).takes_command)
    return fail(Error::refused("`proctor " + chosen + "` takes no command after `--`"));
  return all_said(action());
}

// The limits of this process's memory. A test of the same user may lower them (prlimit).
class MemoryLimits {
 public:
  bool were_lowered() const { return of<RLIMIT_DATA>() < data_ || of<RLIMIT_AS>() < address_space_; }

 private:
  template <auto kResource>
  static rlim_t of() {
    rlimit limit{};
    ::getrlimit(kResource, &limit);
    return limit.rlim_cur;
  }
  const rlim_t data_ = of<RLIMIT_DATA>();
  const rlim_t address_space_ = of<RLIMIT_AS>();
};

}  // namespace
}  // namespace proctor::cli

constexpr const char* kLowered =
    ": another process lowered this process's limit of memory (prlimit). Run `proctor finish RUN_DIR` for "
    "the reports.";

// Marks this program as a launcher, so that Proctor does not list the cases of a suite `proctor run -- COMMAND`
// (harness/plan/recognise.h).
extern const volatile char kLauncherMark[];
const volatile char kLauncherMark[] = "proctor:starts-what-it-is-told";

int main(int argc, char** argv) {
  static_cast<void>(kLauncherMark[0]);
  // If the caller ignored SIGCHLD, the kernel would reap the children and their exit status would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  const proctor::cli::MemoryLimits limits;
  try {
    return proctor::cli::run_main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "proctor: no memory%s\n", limits.were_lowered() ? kLowered : "");
    return proctor::kExitMachine;
  } catch (const std::exception& error) {  // an internal error, or no memory
    std::fprintf(stderr, "proctor: internal error: %s\n", error.what());
    return proctor::kExitMachine;
  }
}
