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
std::string note_of_built_in(const Planned& planned, const RunOptions& options) {
  const SelectionOptions& chosen = options.plan.selection;
  const std::vector<std::string>& files = planned.config_files;
  const auto is_built_in = [](const Suite& suite) { return suite.origin == kBuiltInOrigin; };
  if (!chosen.suites.empty() || !chosen.cases.empty() || !options.plan_file.empty()) return {};
  if (!std::ranges::all_of(planned.plan.suites, is_built_in)) return {};
  const std::string why =
      files.empty() ? "no proctor.toml was found" : fmt::format("no suite is in {}", fmt::join(files, ", "));
  const std::size_t count = planned.plan.cases.size();
  return fmt::format("  suites       built in, {} {}, none of yours: {}; `proctor run -- PROGRAM` runs one",
                     count, count == 1 ? "case" : "cases", why);
}

// How each suite's kind was recognised, and how many cases it has; what is said about devices tells why one has
// none.
std::vector<std::string> suite_notes(const Planned& planned, const RunOptions& options,
                                     const std::vector<std::string>& about_devices) {
  const Plan& plan = planned.plan;
  std::vector<std::string> notes;
  for (const std::string& file : planned.config_files) notes.push_back("  config       " + file);
  if (auto note = note_of_built_in(planned, options); !note.empty()) notes.push_back(std::move(note));
  notes.insert(notes.end(), about_devices.begin(), about_devices.end());
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const Suite& suite = plan.suites[i];
    const auto count = std::ranges::count(plan.cases, i, &Case::suite);
    if (count == 0 && suite.origin == kBuiltInOrigin) continue;
    notes.push_back("  suite        " + suite.name + ": " + std::string(suite.kind->name()) + " (" +
                    suite.kind_reason + "), backend " + std::string(to_string(suite.backend)) + ", " +
                    std::to_string(count) + (count == 1 ? " case" : " cases"));
    if (const std::string way = suite.kind->way_of_telling(suite); options.console.verbose && !way.empty())
      notes.push_back("               its program tells of its cases " + way);
  }
  return notes;
}

int print_plan(const Planned& planned, const RunOptions& options) {
  for (const auto& note : suite_notes(planned, options, {})) std::printf("%s\n", shown(note).c_str());
  for (const auto& test : planned.plan.cases) std::printf("%s\n", shown(test.id).c_str());
  for (const Warning& warning : planned.warnings)
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  std::printf("dry run: %zu cases planned, nothing started\n", planned.plan.cases.size());
  return kExitGreen;
}

std::unique_ptr<RunDisplay> make_console(const Checked& checked, const Prepared& prepared,
                                         ConsoleOutput& output) {
  const RunOptions& typed = checked.typed;
  const Placed& placed = prepared.placed;
  ConsoleOptions options = typed.console;
  options.only_failed = in_ci();
  options.page = !typed.is_part;
  for (const Case& test : placed.planned.plan.cases) {
    if (test.policy.retries > 0) options.retries[test.id] = test.policy.retries;
  }
  return std::make_unique<Console>(output, options, prepared.run_dir,
                                   suite_notes(placed.planned, typed, placed.devices.notes),
                                   typed.setup.attempts.inherit_stdio);
}

// ---- Where its reports are ----

// The file of --junit is red from the first moment on: one of an earlier run is never taken for this one's.
Result<void> forget_old_report(const RunOptions& typed) {
  if (typed.junit.empty() || typed.dry_run) return {};
  if (auto usable = check_output_file("--junit", typed.junit); !usable) return usable;
  if (auto free = check_no_other_run("--junit", typed.junit, typed.out); !free) return free;
  std::error_code unknown;
  const auto there = std::filesystem::status(typed.junit, unknown);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return Error::refused("--junit " + typed.junit + " is not a regular file");
  return replace_file(typed.junit, junit_without_run("The run has not come to its end."));
}

// Sets the directory of the run: that of --out, or of a part of a run that is joined.
Result<void> set_directory(RunOptions& typed, const std::string& run_id) {
  if (typed.join.empty() || typed.dry_run) return {};
  std::error_code error;
  if (std::filesystem::exists(typed.join, error) && !std::filesystem::is_directory(typed.join, error))
    return Error::refused("--join " + typed.join + " is not a directory");
  const auto open = find_joined_run(typed.join, parent_of_this_process());
  typed.is_part = open && !is_closed(*open);
  if (!typed.is_part) {
    typed.out = typed.join + "/" + run_id;
    return {};
  }
  const auto part = new_part(*open);
  if (!part) return part.error();
  typed.out = part->string();
  typed.machine.known_containment = known_containment_of(*open);
  return {};
}

// Says in the reports that there are why there is no run.
void leave_why(const RunOptions& typed, const Error& error) {
  if (typed.dry_run) return;
  // A part that was refused has no journal, and the reports of the whole say why.
  if (!typed.join.empty() && !typed.out.empty()) leave_refusal(typed.out, error);
  if (typed.junit.empty()) return;
  const std::string why = "The run was refused: " + error.message() + ". " + error.hint;
  if (auto written = replace_file(typed.junit, junit_without_run(why)); !written)
    std::fprintf(stderr, "proctor: %s\n", shown(written.error().message()).c_str());
}

// ---- The steps ----

Result<Finished> take_steps(const RunOptions& typed, const AfterDashes& after_dashes,
                            const std::string& run_id, const Manner& manner) {
  const auto checked = check(typed, after_dashes, run_id, manner);
  if (!checked) return checked.error();
  auto planned = plan_run(*checked, manner);
  if (!planned) return planned.error();
  if (typed.dry_run) {
    if (auto part = take_part(*checked, *planned); !part) return part.error();
    return Finished{.code = print_plan(*planned, typed)};
  }
  auto placed = place(*checked, *std::move(planned));
  if (!placed) return placed.error();
  auto prepared = prepare(*checked, *std::move(placed), manner);
  if (!prepared) return prepared.error();
  return finish_run(*checked, **prepared, manner);
}

Result<void> check_nothing(RunOptions& /*typed*/, const AfterDashes& /*after_dashes*/) { return {}; }
void adapt_nothing(RunSetup& /*setup*/, const RunOptions& /*typed*/) {}

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

int resume(const RunOptions& typed, const CLI::App& command, const AfterDashes& after_dashes) {
  if (after_dashes)
    return fail(Error::refused("`--resume` takes the command of the old run, and none after `--`"));
  const auto words = words_beside_resume(command);
  if (!words) return fail(words.error());
  return resume_run(typed.resume, *words);
}

}  // namespace

int execute_run(RunOptions typed, const AfterDashes& after_dashes, const Manner& manner) {
  const std::string run_id = new_run_id();
  ignore_other_signals();
  if (auto forgotten = forget_old_report(typed); !forgotten) return manner.refuse(forgotten.error());
  const auto set = set_directory(typed, run_id);
  const auto finished = set ? take_steps(typed, after_dashes, run_id, manner) : set.error();
  if (!finished) {
    leave_why(typed, finished.error());
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
  auto options = std::make_shared<RunOptions>();
  add_run_options(*command, *options);
  options->plan.selection.named_only = true;
  command->callback([options, command, &action, &command_line, &after_dashes] {
    options->command_line = command_line;
    options->narrowing = narrowing_options(*command);
    if (!options->resume.empty()) {
      action = [options, command, &after_dashes] { return resume(*options, *command, after_dashes); };
    } else {
      action = [options, &after_dashes] { return execute_run(*options, after_dashes, kRun); };
    }
  });
}

}  // namespace proctor::cli
