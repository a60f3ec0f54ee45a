// Implements `proctor rerun [RUN_DIR]`, which repeats a run with the selected cases, and `proctor run --resume RUN`,
// which runs its remaining cases. This process is replaced by that `proctor run`, so output, signals and exit code are
// those of the new run.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "harness/base/secrets.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/cli/bisect.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_command.h"
#include "harness/cli/rerun_changes.h"
#include "harness/cli/run_command.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/request/repeats.h"
#include "harness/request/suite_arguments.h"
#include "harness/runner/history_of_run.h"
#include "harness/runner/record/run_record.h"
#include "reports/formats/junit.h"
#include "reports/history/history.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kShownCases = 10;

struct RerunOptions {
  std::string run_dir = kLatestRun;
  bool failed = false;
  bool each_device = false;
  bool any_device = false;
  bool force = false;
  bool dry_run = false;
  std::optional<std::string> bisect{};
  std::vector<std::string> cases;
  std::vector<std::string> suite_arguments;
  std::optional<std::string> repeat{};
  int jobs = 0;  // 0: not given
  std::string timeout;
  bool quiet = false;
  bool verbose = false;
  std::string out;
};

// Returns the ids of the selected cases; empty: the whole run.
Result<std::vector<std::string>> selected_cases(const RerunOptions& options, const ResolvedRun& run) {
  std::vector<std::string> ids;
  for (const auto& id : options.cases) {
    const auto test = find_case(run, id, options.run_dir);
    if (!test) return test.error();
    ids.push_back((*test)->planned.id);
  }
  const std::vector<std::string> named = ids;
  const bool flaky_is_red = !run.flaky_cases.allowed;
  for (const ResolvedCase& test : run.cases) {
    const bool is_red = test.bad || has_mark(test.marks, Mark::kDeviceSuspect) ||
                        (flaky_is_red && has_mark(test.marks, Mark::kFlaky));
    const bool is_named = std::ranges::find(named, test.planned.id) != named.end();
    if (options.failed && is_red && !is_named) ids.push_back(test.planned.id);
  }
  return ids;
}

// Refuses options of `run`, because a run of `exec` has one command and no repeats.
Result<void> check_exec(const RerunOptions& options) {
  const bool is_of_run = !options.cases.empty() || options.bisect || options.repeat || options.each_device ||
                         options.jobs > 0 || options.quiet || options.verbose;
  if (!is_of_run) return {};
  return Error::refused(options.run_dir + " is a run of `proctor exec`, which has one case and no repeats",
                        "Use `proctor run --repeat N --each-device -- COMMAND` to repeat a command.");
}

// Inserts `--name value` before the `--` that ends Proctor's options.
void add_option(std::vector<std::string>& words, const std::vector<std::string>& option) {
  words.insert(std::find(words.begin(), words.end(), "--"), option.begin(), option.end());
}

// Returns whether the command has a dry run; otherwise it is only printed. With --require-card-per-rank there is no dry
// run, because the run must probe the cards.
bool has_dry_run(const RerunCommand& command, bool is_exec) {
  const auto end = std::find(command.words.begin(), command.words.end(), "--");
  return !is_exec && std::find(command.words.begin(), end, "--require-card-per-rank") == end;
}

// Adds the options of the rerun, which replace those of the run.
Result<void> add_options(const RerunOptions& options, bool has_dry_run, std::vector<std::string>& words) {
  const auto replace = [&](const std::string& name, const std::string& value) {
    words = without_options(words, {name});
    add_option(words, {name, value});
  };
  if (options.repeat) replace("--repeat", *options.repeat);
  if (options.each_device) {
    words = without_options(words, {"--each-device"});
    add_option(words, {"--each-device"});
  }
  for (const std::string& argument : options.suite_arguments) add_option(words, {kSuiteArgument, argument});
  if (!options.timeout.empty()) replace("--timeout", options.timeout);
  if (options.jobs > 0) {
    words = without_options(words, {"-j"});
    replace("--jobs", std::to_string(options.jobs));
  }
  if (options.quiet) add_option(words, {"--quiet"});
  if (options.verbose) add_option(words, {"--verbose"});
  if (options.dry_run && has_dry_run) add_option(words, {"--dry-run"});
  if (options.out.empty()) return {};
  std::error_code ec;  // relative to the current directory, not to the run's
  const auto out = std::filesystem::absolute(options.out, ec);
  if (ec) return Error::system("find " + options.out, ec.value());
  add_option(words, {"--out", out.string()});
  return {};
}

// Removes the device options that an earlier rerun added. On a single device, no devices are compared.
void leave_chosen_devices_out(const ResolvedRun& run, RerunCommand& command) {
  const auto leave_out = [&command](const std::string& option, const std::string& text) {
    command.left_out.push_back(text);
    command.words = without_options(command.words, {option});
  };
  if (!option_value(command.words, "--pin").empty()) leave_out("--pin", "--pin");
  const std::string device = option_value(command.words, "--devices");
  if (std::ranges::find(run.plan.devices, device, &PlannedDevice::id) != run.plan.devices.end())
    leave_out("--devices", "--devices " + device);
}

std::string command_directory() {
  std::error_code ignored;  // on an error, the printed line contains the directory
  return std::filesystem::current_path(ignored).string();
}

std::optional<std::string> variable_of_this_process(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// Changes to the run's directory and sets the variables of its caller.
Result<void> go_to(const RerunCommand& command) {
  if (::chdir(command.directory.c_str()) != 0)
    return Error::system("go to " + command.directory + ", where the run was", errno);
  for (const auto& variable : command.environment) {
    const std::size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  return {};
}

Error become(const RerunCommand& command) {
  std::vector<char*> words;
  std::vector<std::string> copies = command.words;
  for (auto& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv("/proc/self/exe", words.data());
  if (errno == E2BIG) {
    return Error::refused("The ids of the selected cases do not fit on one command line",
                          "Run `proctor rerun RUN` without --failed, or select cases with --case ID.");
  }
  return Error::system("start proctor again", errno);
}

Result<void> check_same(const RerunOptions& options, const ResolvedRun& run,
                        const std::vector<std::string>& ids, const RerunCommand& command) {
  if (options.force) return {};
  if (const auto changes = changes_since(run, ids); !changes.empty()) {
    return Error::refused("The run cannot be repeated, because this changed: " + joined(changes, "; "),
                          "Use `proctor rerun --force` to run the current files.");
  }
  return check_same_devices(run, command);
}

// Returns the command on one line, for a shell in `here`. Only the first of many cases are shown.
std::string short_line(const RerunCommand& command, const std::string& here) {
  const auto end = std::find(command.words.begin(), command.words.end(), "--");
  RerunCommand shortened = command;
  shortened.words.clear();
  std::size_t cases = 0;
  std::size_t pins = 0;
  for (auto word = command.words.begin(); word != command.words.end(); ++word) {
    const bool is_case = word < end && *word == "--case";
    const bool is_pin = word < end && *word == "--pin";
    if ((is_case && ++cases > kShownCases) || (is_pin && ++pins > kShownCases)) {
      ++word;  // skips the value
    } else {
      shortened.words.push_back(*word);
    }
  }
  std::string line = command_text(shortened, here);
  if (cases > kShownCases) line += fmt::format(" (and {} more cases)", cases - kShownCases);
  return line;
}

void print_reruns(const RerunCommand& command, const ResolvedRun& run, const std::vector<std::string>& ids,
                  const std::string& here) {
  for (const std::string& sentence : untold_by(run, ids))
    std::fprintf(stderr, "proctor: %s; the current file is used\n", shown(sentence).c_str());
  if (!command.left_out.empty())
    std::fprintf(stderr, "proctor: left out: %s\n", shown(joined(command.left_out, ", ")).c_str());
  for (const std::string& id : ids) {
    const ResolvedCase* test = run.find(id);
    if (test != nullptr && test->fails_only_after_others)
      std::fprintf(stderr, "proctor: %s fails only after other cases of its process; to repeat that: %s\n",
                   shown(id).c_str(), shown(test->rerun_command()).c_str());
  }
  if (!command.on_others.empty())
    std::fprintf(stderr, "proctor: these may get other devices than they had: %s\n",
                 shown(joined(command.on_others, ", ")).c_str());
  std::fprintf(stderr, "proctor: again: %s\n", shown(short_line(command, here)).c_str());
}

Error ended_by_others(const std::string& run_dir) {
  return Error::refused("The suites of " + run_dir + " were run by several commands",
                        "Select the cases of one suite with --case ID, or start CTest with --rerun-failed.");
}

// If the user typed a case as the run directory, suggests the case of the latest run.
Error no_run(Error error, const std::string& place) {
  std::error_code unknown;
  const auto latest =
      std::filesystem::exists(place, unknown) ? Result<ResolvedRun>(error) : load_run(kLatestRun);
  if (latest && find_case(*latest, place, kLatestRun))
    error.hint = fmt::format("To rerun this case, write: proctor rerun --case {}", shell_quote(place));
  return Error::usage_of(error);
}

int rerun(const RerunOptions& options) {
  if (options.repeat) {
    if (const auto repeats = parse_repeats(*options.repeat); !repeats)
      return fail(Error::refused("--repeat: " + repeats.error().what, repeats.error().hint));
  }
  const auto run = load_run(options.run_dir);
  if (!run) return fail(no_run(run.error(), options.run_dir));
  if (auto fits = run->plan.exec ? check_exec(options) : Result<void>(); !fits) return fail(fits.error());
  if (options.bisect) {
    const auto test = find_case(*run, *options.bisect, options.run_dir);
    return test ? bisect(*run, (*test)->planned.id) : fail(test.error());
  }
  const auto ids = selected_cases(options, *run);
  if (!ids) return fail(ids.error());
  if (options.failed && ids->empty()) {
    std::printf("nothing to run again: no case of %s failed\n", shown(options.run_dir).c_str());
    return kExitGreen;
  }
  const RerunOn same_or_all = options.each_device ? RerunOn::kOfRun : RerunOn::kSame;
  RerunCommand command = rerun_of(*run, *ids, options.any_device ? RerunOn::kAny : same_or_all);
  if (command.words.empty()) return fail(ended_by_others(options.run_dir));
  if (options.each_device) leave_chosen_devices_out(*run, command);
  const bool starts = !options.dry_run || has_dry_run(command, run->plan.exec);
  if (auto added = add_options(options, starts, command.words); !added) return fail(added.error());
  const std::string here = command_directory();
  if (auto missing = go_to(command); !missing) return fail(missing.error());
  if (auto same = check_same(options, *run, *ids, command); !same) return fail(same.error());
  if (!starts) {
    std::printf("%s\n", shown(command_text(command, here)).c_str());
    return kExitGreen;
  }
  print_reruns(command, *run, *ids, here);
  auto words = fill_in_secrets(std::move(command.words), variable_of_this_process);
  if (!words) return fail(words.error());
  command.words = *std::move(words);
  return fail(become(command));
}

// ---- `run --resume` ----

// Returns an error while the runner is alive, because two runners would run the same cases.
Result<void> check_ended(const std::string& run_dir) {
  const auto record = read_run_record(run_dir);
  if (!record || !*record || examine_runner(**record).state != RunnerState::kAlive) return {};
  return Error::refused("The run in " + run_dir + " has not ended",
                        "Stop it with `proctor finish --stop " + run_dir + "`, or wait for its end.");
}

Result<RerunCommand> resume_command(const std::string& run_dir, const ResolvedRun& run) {
  if (run.plan.exec)
    return Error::refused(run_dir + " is a run of `proctor exec`, which has one case",
                          "Repeat it with `proctor rerun`.");
  RerunCommand command = rerun_of(run, {}, RerunOn::kOfRun);
  const bool is_merged = std::ranges::any_of(
      run.plan.stack, [](const auto& entry) { return entry.first.starts_with("shard."); });
  if (command.words.empty() || is_merged)
    return Error::refused(run_dir + " has the cases of several runs", "Resume each of these runs.");
  command.words =
      without_options(command.words, {"--min-executed"});  // this minimum applies to the whole run
  std::error_code ec;  // relative to the current directory, not to the run's
  const auto directory = std::filesystem::absolute(run_dir, ec);
  if (ec) return Error::system("find " + run_dir, ec.value());
  add_option(command.words, {"--remaining-of", directory.lexically_normal().string()});
  if (const auto changes = changes_since(run, {}); !changes.empty())
    return Error::refused("The run cannot be resumed, because this changed: " + joined(changes, "; "),
                          "Use `proctor rerun --force` to run all of it again.");
  return command;
}

Result<void> record_again(const std::string& run_dir, const ResolvedRun& run, const std::string& file) {
  const auto sha256 = run_journal_sha256(run_dir);
  if (!sha256) return sha256.error();
  auto history = History::open(file, kHistoryWait);
  return history ? runner::record_run(*history, run, *sha256) : history.error();
}

// Handles a run without remaining cases. Reports and exit code are those of the run.
int report_again(const std::string& run_dir, const ResolvedRun& run, const std::vector<std::string>& asked) {
  std::printf("nothing to resume: every case of %s has an outcome\n", shown(run_dir).c_str());
  if (std::ranges::find(asked, "--dry-run") != asked.end()) return kExitGreen;
  if (const std::string out = option_value(asked, "--out"); !out.empty()) {
    std::error_code ec;
    std::filesystem::create_directories(out, ec);
    if (ec) return fail(Error::system("create " + out, ec.value()));
    if (const int code = render_again(run_dir, default_formats(), out); code != kExitGreen) return code;
  }
  if (const std::string junit = option_value(asked, "--junit"); !junit.empty()) {
    if (auto written = write_junit_file(junit, run); !written) return fail(written.error());
  }
  if (const std::string history = option_value(asked, "--history"); !history.empty()) {
    if (auto recorded = record_again(run_dir, run, history); !recorded) warn_not_recorded(recorded.error());
  }
  const int code = run.exit_code;
  if (code != kExitGreen) std::printf("exit code %d is that of the run\n", code);
  return code;
}

}  // namespace

int resume_run(const std::string& run_dir, const std::vector<std::string>& more) {
  const auto run = load_run(run_dir);
  if (!run) return fail(Error::usage_of(run.error()));
  if (auto ended = check_ended(run_dir); !ended) return fail(ended.error());
  if (cases_left_by(*run).empty()) return report_again(run_dir, *run, more);
  auto command = resume_command(run_dir, *run);
  if (!command) return fail(command.error());
  add_option(command->words, more);
  const std::string here = command_directory();
  if (auto missing = go_to(*command); !missing) return fail(missing.error());
  print_reruns(*command, *run, {}, here);
  auto words = fill_in_secrets(std::move(command->words), variable_of_this_process);
  if (!words) return fail(words.error());
  command->words = *std::move(words);
  return fail(become(*command));
}

void add_rerun_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("rerun", "Run the cases of a run again with the same options");
  auto options = std::make_shared<RerunOptions>();
  command->add_option("run", options->run_dir, fmt::format("Run directory (default: {})", kLatestRun))
      ->type_name("RUN_DIR");
  command->add_flag(
      "--failed", options->failed,
      "Rerun only the cases that failed, or made the run fail because of their device or as flaky");
  command
      ->add_option("--case", options->cases,
                   "Rerun only this case, by its id or the part after the suite; repeatable")
      ->type_name("ID")
      ->allow_extra_args(false);
  command
      ->add_option(kSuiteArgument, options->suite_arguments,
                   "Argument of the built-in tests, instead of that of the run: point=AXIS=VALUE,... as a "
                   "failure prints it; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_option("--repeat", options->repeat, "How often every case runs, as with `run --repeat`")
      ->type_name("HOW_OFTEN");
  command->add_option("--jobs,-j", options->jobs, "Cases to run at once (default: as in the run)")
      ->type_name("N")
      ->check(from_to(1, 10'000));
  command->add_option("--timeout", options->timeout, "Time limit per test, or off (default: as in the run)")
      ->type_name("DURATION");
  command->add_flag("--each-device", options->each_device,
                    "Run every case on every device, and compare them in a table");
  command->add_flag("--any-device", options->any_device, "Use any device, not the one that each case had");
  command->add_flag("--force", options->force,
                    "Rerun even if a program, the configuration or a device has changed");
  command->add_option("--out", options->out, "Run directory of the new run, new or empty")->type_name("DIR");
  command->add_flag("--dry-run", options->dry_run, "Print the plan, or the command line, and start nothing");
  auto* verbose =
      command->add_flag("--verbose,-v", options->verbose, "Show each attempt, and the output of failures");
  command->add_flag("--quiet,-q", options->quiet, "Show only failures and the summary")->excludes(verbose);
  auto* bisect =
      command
          ->add_option("--bisect", options->bisect,
                       "Find the cases before this one in its process that change its outcome; exit "
                       "code 1: there are none, or it is flaky")
          ->type_name("ID");
  for (CLI::Option* other : command->get_options()) {
    if (other != bisect && !other->get_positional() && other != command->get_help_ptr())
      bisect->excludes(other);
  }
  command->callback([options, &action] { action = [options] { return rerun(*options); }; });
}

}  // namespace proctor::cli
