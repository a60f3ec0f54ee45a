// `proctor run`: everything that can be refused is refused first, then discovery, then the run, then the
// reports.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/run_command.h"
#include "harness/cli/steps/finished.h"
#include "harness/core/exit_code.h"
#include "harness/core/replace_file.h"
#include "harness/core/text.h"
#include "harness/plan/kinds/kind.h"
#include "harness/run/record/joined_run.h"
#include "harness/run/record/run_directory.h"
#include "harness/run/schedule/signals.h"
#include "reports/formats/junit.h"

namespace proctor::cli {
namespace {

// ---- The head of the console ----

// For those who expect suites of their own. "": somebody chose, or there are some.
std::string note_of_built_in(const Planned& planned) {
  const SelectionOptions& chosen = planned.request.selection;
  const std::vector<std::string>& files = planned.config_files;
  const auto is_built_in = [](const Suite& suite) { return suite.origin == kBuiltInOrigin; };
  if (!chosen.suites.empty() || !chosen.cases.empty() || !planned.request.plan.file.empty()) return {};
  if (!std::ranges::all_of(planned.plan.suites, is_built_in)) return {};
  const std::string why =
      files.empty() ? "no proctor.toml was found" : fmt::format("no suite is in {}", fmt::join(files, ", "));
  const std::size_t count = planned.plan.cases.size();
  return fmt::format("  suites       built in, {} {}, none of yours: {}; `proctor run -- PROGRAM` runs one",
                     count, count == 1 ? "case" : "cases", why);
}

// How each suite's kind was recognised, and how many cases it has; what is said about devices tells why one has
// none.
std::vector<std::string> suite_notes(const Planned& planned, const std::vector<std::string>& about_devices) {
  const Plan& plan = planned.plan;
  std::vector<std::string> notes;
  for (const std::string& file : planned.config_files) notes.push_back("  config       " + file);
  if (auto note = note_of_built_in(planned); !note.empty()) notes.push_back(std::move(note));
  notes.insert(notes.end(), about_devices.begin(), about_devices.end());
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const Suite& suite = plan.suites[i];
    const auto count = std::ranges::count(plan.cases, i, &Case::suite);
    if (count == 0 && suite.origin == kBuiltInOrigin) continue;
    notes.push_back("  suite        " + suite.name + ": " + std::string(suite.kind->name()) + " (" +
                    suite.kind_reason + "), backend " + std::string(to_string(suite.backend)) + ", " +
                    std::to_string(count) + (count == 1 ? " case" : " cases"));
    if (const std::string way = suite.kind->way_of_telling(suite);
        planned.request.console.verbose && !way.empty())
      notes.push_back("               its program tells of its cases " + way);
  }
  return notes;
}

int print_plan(const Planned& planned) {
  for (const auto& note : suite_notes(planned, {})) std::printf("%s\n", shown(note).c_str());
  for (const auto& test : planned.plan.cases) std::printf("%s\n", shown(test.id).c_str());
  for (const Warning& warning : planned.warnings)
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  std::printf("dry run: %zu cases planned, nothing started\n", planned.plan.cases.size());
  return kExitGreen;
}

std::unique_ptr<RunDisplay> make_console(const Checked& checked, const Prepared& prepared,
                                         ConsoleOutput& output) {
  const Placed& placed = prepared.placed;
  ConsoleOptions options = console_options(placed.planned.request.console);
  options.only_failed = in_ci();
  options.page = !checked.request().reports.is_part;
  for (const Case& test : placed.planned.plan.cases) {
    if (test.policy.retries > 0) options.retries[test.id] = test.policy.retries;
  }
  return std::make_unique<Console>(output, options, prepared.run_dir,
                                   suite_notes(placed.planned, placed.devices.notes),
                                   checked.gives_terminal());
}

// ---- Where its reports are ----

// The file of --junit is red from the first moment on: one of an earlier run is never taken for this one's.
Result<void> forget_old_report(const RunRequest& request) {
  const std::string& junit = request.reports.junit;
  if (junit.empty() || request.plan.dry_run) return {};
  if (auto usable = check_output_file("--junit", junit); !usable) return usable;
  if (auto free = check_no_other_run("--junit", junit, request.reports.out); !free) return free;
  std::error_code unknown;
  const auto there = std::filesystem::status(junit, unknown);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return Error::refused("--junit " + junit + " is not a regular file");
  return replace_file(junit, junit_without_run("The run has not come to its end."));
}

// Sets the directory of the run: that of --out, or of a part of a run that is joined.
Result<void> set_directory(RunRequest& request, const std::string& run_id) {
  ReportRequest& reports = request.reports;
  if (reports.join.empty() || request.plan.dry_run) return {};
  std::error_code error;
  if (std::filesystem::exists(reports.join, error) && !std::filesystem::is_directory(reports.join, error))
    return Error::refused("--join " + reports.join + " is not a directory");
  const auto open = find_joined_run(reports.join, parent_of_this_process());
  reports.is_part = open && !is_closed(*open);
  if (!reports.is_part) {
    reports.out = reports.join + "/" + run_id;
    return {};
  }
  const auto part = new_part(*open);
  if (!part) return part.error();
  reports.out = part->string();
  request.machine.known_containment = known_containment_of(*open);
  return {};
}

// Says in the reports that there are why there is no run.
void leave_why(const RunRequest& request, const Error& error) {
  if (request.plan.dry_run) return;
  const ReportRequest& reports = request.reports;
  // A part that was refused has no journal, and the reports of the whole say why.
  if (!reports.join.empty() && !reports.out.empty()) leave_refusal(reports.out, error);
  if (reports.junit.empty()) return;
  const std::string why = "The run was refused: " + error.message() + ". " + error.hint;
  if (auto written = replace_file(reports.junit, junit_without_run(why)); !written)
    std::fprintf(stderr, "proctor: %s\n", shown(written.error().message()).c_str());
}

// ---- The steps ----

Result<Finished> take_steps(AskedRun asked, const AfterDashes& after_dashes, const std::string& run_id,
                            const Manner& manner) {
  const auto checked = check(std::move(asked), after_dashes, run_id, manner);
  if (!checked) return checked.error();
  auto planned = plan_run(*checked, manner);
  if (!planned) return planned.error();
  if (checked->request().plan.dry_run) {
    if (auto part = take_part(*checked, *planned); !part) return part.error();
    return Finished{.code = print_plan(*planned)};
  }
  auto placed = place(*checked, *std::move(planned));
  if (!placed) return placed.error();
  auto prepared = prepare(*checked, *std::move(placed), manner);
  if (!prepared) return prepared.error();
  return finish_run(*checked, **prepared, manner);
}

Result<void> check_nothing(Checked& /*checked*/) { return {}; }
void adapt_nothing(RunSetup& /*setup*/, const Checked& /*checked*/) {}

constexpr Manner kRun{.refuse = fail,
                      .check = check_nothing,
                      .find_plan = find_plan,
                      .adapt = adapt_nothing,
                      .make_display = make_console};

// ---- --resume ----

// What may be said of a run that is resumed. The options with a file get its absolute path: the run starts where the old
// one did.
Result<std::vector<std::string>> words_beside_resume(const CLI::App& command) {
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
  const auto words = words_beside_resume(command);
  if (!words) return fail(words.error());
  return resume_run(typed.plan.resume, *words);
}

}  // namespace

int execute_run(TypedRun typed, const AfterDashes& after_dashes, const Manner& manner) {
  const std::string run_id = new_run_id();
  ignore_other_signals();
  RunRequest& request = typed.typed.request;
  if (auto forgotten = forget_old_report(request); !forgotten) return manner.refuse(forgotten.error());
  const auto set = set_directory(request, run_id);
  auto asked = set ? ask(typed, after_dashes) : set.error();
  if (asked && request.reports.junit.empty()) {  // it may be a key
    request.reports.junit = asked->request.reports.junit;
    if (auto forgotten = forget_old_report(request); !forgotten) return manner.refuse(forgotten.error());
  }
  const auto finished =
      asked ? take_steps(*std::move(asked), after_dashes, run_id, manner) : Result<Finished>(asked.error());
  if (!finished) {
    leave_why(request, finished.error());
    return manner.refuse(finished.error());
  }
  if (finished->signal != 0) die_by_signal(finished->signal);
  return finished->code;
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
  auto run = std::make_shared<TypedRun>(TypedRun{.command = kForRun});
  RunRequest& request = run->typed.request;
  add_options(*command, kForRun, run->typed);
  request.selection.named_only = true;
  command->callback([run, command, &request, &action, &command_line, &after_dashes] {
    run->command_line = command_line;
    if (!request.plan.resume.empty()) {
      action = [&request, run, command, &after_dashes] { return resume(request, *command, after_dashes); };
    } else {
      action = [run, &after_dashes] { return execute_run(*run, after_dashes, kRun); };
    }
  });
}

}  // namespace proctor::cli
