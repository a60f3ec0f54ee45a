// Implements `proctor run` and `proctor run --resume`.
#include "harness/cli/run_command.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/cli/caller_signals.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/console_display.h"
#include "harness/cli/console/messages.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/record/joined_run.h"
#include "harness/runner/run.h"

namespace proctor::cli {
namespace {

int print_plan(const PlannedRun& planned) {
  for (const auto& note : suite_notes(planned, {})) std::printf("%s\n", shown(note).c_str());
  for (const auto& test : planned.plan.cases) std::printf("%s\n", shown(test.id).c_str());
  for (const Warning& warning : planned.warnings)
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  std::printf("dry run: %zu cases planned, nothing started\n", planned.plan.cases.size());
  return kExitGreen;
}

// ---- --resume ----

// Returns the options that may be combined with --resume. Options with a file get its absolute path, because the run
// starts in the directory of the old run.
Result<std::vector<std::string>> words_with_resume(const CLI::App& command) {
  static const std::set<std::string> kFiles = {"--out", "--junit", "--history"};
  static const std::set<std::string> kOthers = {"--dry-run",     "--verbose",   "--quiet",
                                                "--show-output", "--durations", "--color"};
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--resume") continue;
    if (!kFiles.contains(name) && !kOthers.contains(name))
      return Error::refused(
          "`--resume` takes the options of the old run, and cannot be combined with " + name,
          "Allowed are --out, --junit, --history and the options of the console.");
    words.push_back(name);
    if (option->get_expected_max() == 0) continue;
    std::error_code ec;
    const std::string value = option->results().back();
    words.push_back(kFiles.contains(name) ? std::filesystem::absolute(value, ec).string() : value);
    if (ec) return Error::system("find " + value, ec.value());
  }
  return words;
}

int resume(const RunRequest& typed, const CLI::App& command, const AfterDashes& after_dashes) {
  if (after_dashes)
    return fail(Error::refused("`--resume` takes the command of the old run, and none after `--`"));
  const auto words = words_with_resume(command);
  if (!words) return fail(words.error());
  return resume_run(typed.plan.resume, *words);
}

// ---- Signals ----

bool is_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

// Runs with the signals of this process as requests to the run. A signal that comes too late for the run ends this
// process.
Result<RunResult> run_with_signals(RunRequest& request, Machine& machine, RunDisplay& display) {
  const auto control = RunControl::open(stop_here);
  if (!control) return control.error();
  std::optional<CallerSignals> signals(std::in_place, **control);
  // A server is started in the background and must outlive the workflow step that started it.
  const bool watches = is_ci() && !request.server.ready_regex;
  request.caller.is_parent_unwatched = watches && !signals->watch_parent();
  auto result = run(request, machine, display, **control);
  signals.reset();
  if (const auto late = (*control)->late_stop()) die_by_signal(*late);
  return result;
}

}  // namespace

int execute_run(TypedRequest typed, const AfterDashes& after_dashes, RunDisplay& display) {
  ignore_other_signals();
  RunRequest& request = typed.request;
  const auto refuse = request.command == kForExec ? fail_exec : fail;
  auto completed = complete(request, after_dashes);
  if (completed && typed.mistake) completed = *typed.mistake;
  if (!completed) {
    return refuse(request.plan.dry_run ? completed.error() : refuse_run(request, completed.error()));
  }
  Machine machine;
  if (request.plan.dry_run) {
    const auto planned = plan_run(request, machine, display);
    return planned ? print_plan(*planned) : refuse(planned.error());
  }
  const auto result = run_with_signals(request, machine, display);
  if (!result) return refuse(result.error());
  if (result->not_recorded) warn_not_recorded(*result->not_recorded);
  if (result->signal != 0) die_by_signal(result->signal);
  return result->exit_code;
}

void refuse_part(const std::vector<std::string>& arguments, const Error& error) {
  const std::string option = "--join";
  std::string root;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) root = arguments[i + 1];
    if (arguments[i].starts_with(option + "=")) root = arguments[i].substr(option.size() + 1);
  }
  if (root.empty()) return;
  const auto open = find_joined_run(root, parent_of_this_process());
  if (!open || is_closed(*open)) return;
  if (const auto part = new_part(*open)) leave_refusal(*part, error);
}

void add_run_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                     const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("run", "Run test suites, or the test command after `--`");
  auto typed = std::make_shared<TypedRequest>();
  add_options(*command, kForRun, *typed);
  typed->request.selection.named_only = true;
  command->callback([typed, command, &action, &command_line, &after_dashes] {
    RunRequest& request = typed->request;
    request.caller.command_line = command_line;
    if (!request.plan.resume.empty()) {
      action = [&request, typed, command, &after_dashes] { return resume(request, *command, after_dashes); };
    } else {
      action = [typed, &after_dashes] {
        ConsoleDisplay display;
        return execute_run(*typed, after_dashes, display);
      };
    }
  });
}

}  // namespace proctor::cli
