// `proctor exec`: one command, started as it was typed, under containment, mask, limits and reports. It is a
// run with a plan of one case; the command's output, its exit code and its signal are passed on.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "harness/cli/commands.h"
#include "harness/cli/console/console_output.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/run_command.h"
#include "harness/cli/steps/prepared.h"
#include "harness/core/exit_code.h"
#include "harness/core/system_names.h"
#include "harness/core/text.h"
#include "harness/machine/default_devices.h"
#include "harness/machine/installation.h"
#include "harness/plan/load_config.h"
#include "harness/plan/opaque.h"
#include "harness/plan/recognise.h"
#include "harness/process/guard/protocol.h"
#include "harness/run/record/run_directory.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kExecDrainLimit{30'000};

// What `proctor exec` says itself: on stderr, and only what the command cannot say. A command that ends by
// itself with 0 leaves no line of ours; any other end leaves its answers and the place of the reports.
class ExecDisplay : public RunDisplay {
 public:
  explicit ExecDisplay(std::string run_dir);

  void on(const Event& event) override;
  void tick() override;
  void finish(const ResolvedRun& run, int shell_code, const Result<void>& rendered) override;

 private:
  void say(const std::string& line);
  void name_strays(const AttemptEnded& end);

  ConsoleOutput output_;
  std::string run_dir_;
  bool spoke_ = false;
};

ExecDisplay::ExecDisplay(std::string run_dir) : output_(STDERR_FILENO), run_dir_(std::move(run_dir)) {}

void ExecDisplay::say(const std::string& line) {
  spoke_ = true;
  output_.write("proctor: " + line + "\n");
}

void ExecDisplay::name_strays(const AttemptEnded& end) {
  if (end.termination.signal_sent != 0) return;  // then everything was ended, not left behind
  for (const Stray& stray : end.termination.strays) {
    say("left behind and killed: process " + std::to_string(stray.pid) + " (" + clean_text(stray.command) +
        ")");
  }
}

void ExecDisplay::on(const Event& event) {
  if (const auto* warning = std::get_if<Warning>(&event)) {
    say("warning: " + clean_text(warning->text));
  } else if (const auto* end = std::get_if<AttemptEnded>(&event)) {
    name_strays(*end);
  } else if (const auto* stop = std::get_if<StopRequested>(&event)) {
    say("stopping: " +
        (stop->signal != 0 ? "signal " + std::to_string(stop->signal) + " (" + signal_name(stop->signal) + ")"
                           : stop->reason.text()));
  }
}

bool could_not_start(const Verdict& verdict) {
  return verdict.reason == Reason::kSpawn && !is_machine_outcome(verdict);
}

// What stands behind `--`.
std::vector<std::string> command_of(const ResolvedRun& run) {
  const auto& words = run.plan.command_line;
  const auto dashes = std::ranges::find(words, "--");
  return {dashes == words.end() ? dashes : dashes + 1, words.end()};
}

std::string program_of(const ResolvedRun& run) {
  const std::vector<std::string> command = command_of(run);
  return command.empty() ? "" : clean_text(command.front());
}

// A command without a slash may be any of several files in PATH.
Obstacle why_not_started(const Verdict& verdict, const ResolvedRun& run) {
  if (verdict.reason.value_of(Reason::kSpawn) == "ENOEXEC") return {"is " + std::string(kNoProgram), ""};
  const std::string program = program_of(run);
  const auto file = std::filesystem::path(run.plan.directory) / program;
  const bool is_path = program.find('/') != program.npos;
  if (const auto obstacle = is_path ? obstacle_to_execution(file.string()) : std::nullopt) return *obstacle;
  if (verdict.reason.value_of(Reason::kSpawn) == "EACCES") return {"is not executable", ""};
  std::error_code unknown;
  if (is_path && std::filesystem::exists(file, unknown))
    return {"names an interpreter or a loader that does not exist", ""};
  return {"does not exist, or is not in PATH", hint_for_shell_line(command_of(run))};
}

// Of a crash: where it was, or why nobody knows.
bool left_evidence(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  return attempt != nullptr && attempt->end && !attempt->end->evidence.lines.empty();
}

// Which devices the command had, if nobody wrote it: "1 (the caller's CUDA_VISIBLE_DEVICES=0; --gpus 0: none)".
std::string default_devices_of(const ResolvedRun& run) {
  const auto& suites = run.plan.suites;
  if (suites.empty() || suites.front().devices == 0 || suites.front().devices_reason.empty()) return {};
  return std::to_string(suites.front().devices) + " (" + clean_text(suites.front().devices_reason) +
         "; --gpus 0: none)";
}

void ExecDisplay::tick() { output_.write({}); }

void ExecDisplay::finish(const ResolvedRun& run, int shell_code, const Result<void>& rendered) {
  if (const auto text = no_device_text(run.plan); !text.empty()) say(text);
  const std::string reports =
      (rendered ? " · reports in " : " · reports are missing; the journal is in ") + clean_text(run_dir_);
  for (const ResolvedCase& test : run.cases) {
    if (could_not_start(test.verdict)) {
      const Obstacle obstacle = why_not_started(test.verdict, run);
      say("could not start `" + program_of(run) + "`: it " + clean_text(obstacle.why) + " · exit " +
          std::to_string(shell_code) + reports);
      if (!obstacle.remedy.empty()) say(clean_text(obstacle.remedy));
      continue;
    }
    const bool own_end = run.exec_end.is_own;
    if (own_end && !spoke_ && shell_code == 0) continue;
    const bool as_told = test.verdict.outcome == Outcome::kPass && run.stop_signal != 0;
    say(to_string(test.verdict) + (as_told ? ": it was ready, and ended as requested" : "") + " · exit " +
        std::to_string(shell_code) + reports);
    if (const std::string devices = default_devices_of(run); !devices.empty())
      say("devices:       " + devices);
    if (own_end && !left_evidence(test)) {  // its own words say the rest
      const Diagnosis* diagnosis = test.diagnosis;
      const std::string cause = cause_text(diagnosis);
      if (cause.empty()) continue;
      say("whose problem: " + problem_text(test) + " · " + cause);
      say("next:          " + next_text(diagnosis));
      continue;
    }
    std::istringstream answers(summarize_failure(test, run_dir_));
    for (std::string line; std::getline(answers, line);) say(line);
  }
  output_.drain(kExecDrainLimit);
}

// ---- Its manner ----

Result<void> read_readiness(Checked& checked) {
  const ServerRequest& server = checked.request().server;
  if (!server.ready_regex) {
    const char* without = server.ready_timeout         ? "--ready-timeout"
                          : !server.ready_file.empty() ? "--ready-file"
                                                       : nullptr;
    if (!without) return {};
    return Error::refused(std::string(without) + " requires --ready-regex",
                          "Add a regex of the line that the command prints when it is ready.");
  }
  if (checked.gives_terminal()) {
    return Error::refused(
        "--ready-regex cannot be combined with --no-capture, which does not read the output");
  }
  auto regex = LineRegex::compile(*server.ready_regex);
  if (!regex) return regex.error();
  checked.ready =
      ReadyPolicy{.regex = *std::move(regex), .timeout = server.ready_timeout, .file = server.ready_file};
  return server.ready_file.empty() ? Result<void>() : check_output_file("--ready-file", server.ready_file);
}

// The descriptors that the caller opened for the command: `<(...)` of a shell, the jobserver of make. Proctor's own
// descriptors close on exec.
std::vector<int> descriptors_of_caller() {
  std::vector<int> found;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", unreadable)) {
    const std::string name = entry.path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    const int flags = fd > STDERR_FILENO ? ::fcntl(fd, F_GETFD) : -1;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) found.push_back(fd);
  }
  std::ranges::sort(found);
  return found;
}

Result<void> check_descriptors(const std::vector<int>& inherited) {
  constexpr std::size_t kMost = guard::kMaxInherited;
  if (inherited.size() <= kMost) return {};
  return Error::refused(
      fmt::format("The command would inherit {} open descriptors from 3 on, and at most {} are passed on",
                  inherited.size(), kMost),
      fmt::format("Close those that it does not need, for example {}: {}>&-", inherited.back(),
                  inherited.back()));
}

Result<void> check_exec(Checked& checked) {
  if (!checked.after_dashes) {
    return Error::refused("`proctor exec` needs a command",
                          "Write it after `--`: proctor exec [OPTIONS] -- COMMAND ARGS…");
  }
  if (auto few = check_descriptors(checked.asked.inherited); !few) return few;
  return read_readiness(checked);
}

// The vendor of the library that the command needs, as in `run`. A command that does not exist is reported when it is
// started.
Result<void> choose_devices_of(Machine& machine, bool is_number_typed, Suite& suite,
                               std::vector<Warning>& warnings) {
  if (suite.devices_by == DevicesBy::kWritten) {
    const auto named = machine.chosen();
    if (!named) return named.error();
    const auto number = named->find(suite.backend);
    if (!is_number_typed && number != named->end()) suite.devices = number->second;
    return {};
  }
  const auto executable = find_executable(suite, search_path());
  return choose_devices(machine, SuiteRole::kCommand, executable ? *executable : "", suite, warnings);
}

Result<FoundPlan> plan_of_command(const Checked& checked) {
  Machine& machine = *checked.machine;
  const RunRequest& request = checked.request();
  const OpaqueCommand command{.directory = request.config.directory,
                              .selection = request.selection,
                              .is_server = checked.ready.has_value(),
                              .limits = request.limits};
  std::vector<Warning> warnings = checked.asked.files.warnings;
  auto plan = plan_opaque(command, [&](Suite& suite) {
    return choose_devices_of(machine, request.selection.gpus.has_value(), suite, warnings);
  });
  if (!plan) return plan.error();
  if (request.terminal.workflow_commands) {  // the command speaks for its step, in whichever way
    for (const std::string& name : channel_variables()) {
      const auto found = machine.caller().find(name);
      if (found != machine.caller().end()) plan->suites.front().env.insert(*found);
    }
  }
  return FoundPlan{.outcome = {.plan = *std::move(plan),
                               .warnings = std::move(warnings),
                               .files = checked.asked.files.files},
                   .extent = {}};
}

void adapt_to_command(RunSetup& setup, const Checked& checked) {
  AttemptSetup& attempts = setup.attempts;
  setup.starts_once = true;
  attempts.pass_through = !attempts.inherit_stdio;
  attempts.break_commands = in_github_actions() && !checked.request().terminal.workflow_commands;
  if (!attempts.ready) return;
  // A server is started in the background: it outlives the step of a workflow that started it.
  setup.stop.watch_parent = false;
  // Nobody may take the file of a run that was killed for this one's.
  if (!attempts.ready->file.empty()) ::unlink(attempts.ready->file.c_str());
}

std::unique_ptr<RunDisplay> make_display(const Checked& /*checked*/, const Prepared& prepared,
                                         ConsoleOutput& /*output*/) {
  return std::make_unique<ExecDisplay>(prepared.run_dir);
}

constexpr Manner kExec{.refuse = fail_exec,
                       .check = check_exec,
                       .find_plan = plan_of_command,
                       .adapt = adapt_to_command,
                       .make_display = make_display};

}  // namespace

void add_exec_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                      const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("exec", "Run any command under containment, and exit as it does");
  command->footer(
      "Without --timeout there is no time limit, but --stall ends a command that prints nothing for 30 "
      "minutes. "
      "Without --gpus or --backend the command sees one device, if the machine has some. In "
      "GitHub Actions, no workflow command in its output is obeyed, unless you add --workflow-commands.");
  auto run = std::make_shared<TypedRun>(TypedRun{.command = kForExec});
  add_options(*command, kForExec, run->typed);
  command->callback([run, &action, &command_line, &after_dashes] {
    run->command_line = command_line;
    run->inherited = descriptors_of_caller();
    action = [run, &after_dashes] { return execute_run(*run, after_dashes, kExec); };
  });
}

}  // namespace proctor::cli
