// Implements `proctor exec`: runs one command as typed, with containment, mask, limits and reports. It is a run with a
// plan of one case. The command's output, exit code and signal are passed on.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "harness/base/result.h"
#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/console_output.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/run_command.h"
#include "harness/plan/recognise.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kExecDrainLimit{30'000};

// The display of `proctor exec`. It prints to stderr, and only what the command cannot print itself. If the command
// ends by itself with 0, nothing is printed. After any other end it prints the owner, the next step and the path of the
// reports.
class ExecDisplay : public RunDisplay {
 public:
  ExecDisplay();

  void start(const RunStart& run) override;
  void on(const Event& event) override;
  void tick() override;
  void finish(const RunFinish& finish) override;

 private:
  void say(const std::string& line);
  void say_end(const ResolvedCase& test, const RunFinish& finish);
  void name_leaked_processes(const AttemptEnded& end);

  ConsoleOutput output_;
  std::string run_dir_{};
  bool spoke_ = false;
  std::optional<CommandPause> pause_{};  // exists while the command writes to this terminal
};

ExecDisplay::ExecDisplay() : output_(STDERR_FILENO) {}

void ExecDisplay::start(const RunStart& run) {
  run_dir_ = run.run_dir;
  output_.hurry_when([&control = run.control] { return control.late_stop().has_value(); });
  if (run.gives_terminal && in_github_actions() && !run.planned.request.terminal.workflow_commands)
    pause_.emplace();
}

void ExecDisplay::say(const std::string& line) {
  spoke_ = true;
  output_.write("proctor: " + line + "\n");
}

void ExecDisplay::name_leaked_processes(const AttemptEnded& end) {
  if (end.termination.signal_sent != 0) return;  // Proctor ended all processes, so none was left behind
  for (const LeakedProcess& leaked : end.termination.leaked_processes) {
    say("left behind and killed: process " + std::to_string(leaked.pid) + " (" + clean_text(leaked.command) +
        ")");
  }
}

void ExecDisplay::on(const Event& event) {
  if (const auto* warning = std::get_if<Warning>(&event)) {
    say("warning: " + clean_text(warning->text));
  } else if (const auto* end = std::get_if<AttemptEnded>(&event)) {
    name_leaked_processes(*end);
  } else if (const auto* stop = std::get_if<StopRequested>(&event)) {
    say("stopping: " +
        (stop->signal != 0 ? "signal " + std::to_string(stop->signal) + " (" + signal_name(stop->signal) + ")"
                           : stop->reason.text()));
  }
}

bool could_not_start(const Verdict& verdict) {
  return verdict.reason == Reason::kSpawn && !is_machine_outcome(verdict);
}

// Returns the words after `--`.
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

// Returns whether there is evidence about a crash: its location, or why that is unknown.
bool left_evidence(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  return attempt != nullptr && attempt->end && !attempt->end->evidence.lines.empty();
}

// Returns the default devices of the command: "1 (the caller's CUDA_VISIBLE_DEVICES=0; --gpus 0: none)"; "" if the user
// set them.
std::string default_devices_of(const ResolvedRun& run) {
  const auto& suites = run.plan.suites;
  if (suites.empty() || suites.front().devices == 0 || suites.front().devices_reason.empty()) return {};
  return std::to_string(suites.front().devices) + " (" + clean_text(suites.front().devices_reason) +
         "; --gpus 0: none)";
}

void ExecDisplay::tick() { output_.write({}); }

void ExecDisplay::finish(const RunFinish& finish) {
  pause_.reset();
  if (const auto text = no_device_text(finish.run.plan); !text.empty()) say(text);
  for (const ResolvedCase& test : finish.run.cases) say_end(test, finish);
  output_.drain(kExecDrainLimit);
}

void ExecDisplay::say_end(const ResolvedCase& test, const RunFinish& finish) {
  const ResolvedRun& run = finish.run;
  const std::string reports =
      (finish.rendered ? " · reports in " : " · reports are missing; the journal is in ") +
      clean_text(run_dir_);
  if (could_not_start(test.verdict)) {
    const Obstacle obstacle = why_not_started(test.verdict, run);
    say("could not start `" + program_of(run) + "`: it " + clean_text(obstacle.why) + " · exit " +
        std::to_string(finish.exit_code) + reports);
    if (!obstacle.remedy.empty()) say(clean_text(obstacle.remedy));
    return;
  }
  const bool own_end = run.exec_end.is_own;
  if (own_end && !spoke_ && finish.exit_code == 0) return;
  const bool as_reported = test.verdict.outcome == Outcome::kPass && run.stop_signal != 0;
  say(readable(test.verdict) + (as_reported ? ": it was ready, and ended as requested" : "") + " · exit " +
      std::to_string(finish.exit_code) + reports);
  if (const std::string devices = default_devices_of(run); !devices.empty()) say("devices:       " + devices);
  if (own_end && !left_evidence(test)) {  // the command's own output has the details
    const Diagnosis* diagnosis = test.diagnosis;
    const std::string cause = cause_text(diagnosis);
    if (cause.empty()) return;
    say("owner:         " + problem_text(test) + " · " + cause);
    say("next:          " + next_text(diagnosis));
    return;
  }
  std::istringstream answers(summarize_failure(test, run_dir_));
  for (std::string line; std::getline(answers, line);) say(line);
}

// Returns the descriptors that the caller opened for the command: `<(...)` of a shell, the jobserver of make. Proctor's
// own descriptors close on exec.
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

}  // namespace

void add_exec_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                      const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("exec", "Run any command under containment, and exit as it does");
  command->footer(
      "Without --timeout there is no time limit, but --stall ends a command that prints nothing for 30 "
      "minutes. "
      "Without --gpus or --backend the command sees one device, if the machine has some. In "
      "GitHub Actions, no workflow command in its output is obeyed, unless you add --workflow-commands.");
  auto typed = std::make_shared<TypedRequest>();
  add_options(*command, kForExec, *typed);
  command->callback([typed, &action, &command_line, &after_dashes] {
    typed->request.caller = {.command_line = command_line, .inherited = descriptors_of_caller()};
    action = [typed, &after_dashes] {
      ExecDisplay display;
      return execute_run(*typed, after_dashes, display);
    };
  });
}

}  // namespace proctor::cli
