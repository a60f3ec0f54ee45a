// `proctor run`: everything that can be refused is refused first, then discovery, then the run, then the
// reports.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/run_command.h"
#include "harness/core/device_shortage.h"
#include "harness/core/digest.h"
#include "harness/core/exit_code.h"
#include "harness/core/held_directory.h"
#include "harness/core/read_file.h"
#include "harness/core/replace_file.h"
#include "harness/core/secrets.h"
#include "harness/core/text.h"
#include "harness/core/toml_reader.h"
#include "harness/doctor/examine_host.h"
#include "harness/machine/cuda_programs.h"
#include "harness/machine/device_shortage.h"
#include "harness/machine/discovery.h"
#include "harness/machine/dynamic_loader.h"
#include "harness/machine/hardware_evidence.h"
#include "harness/machine/installation.h"
#include "harness/machine/narrowed.h"
#include "harness/machine/seen_devices.h"
#include "harness/plan/kinds/kind.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/recognise.h"
#include "harness/plan/select.h"
#include "harness/run/record/joined_run.h"
#include "harness/run/record/journal_seal.h"
#include "harness/run/record/run_directory.h"
#include "harness/run/schedule/open_files.h"
#include "harness/run/schedule/planned.h"
#include "harness/run/schedule/signals.h"
#include "reports/formats/junit.h"
#include "reports/model/exit_code.h"
#include "reports/model/rerun.h"
#include "reports/model/run_memory.h"
#include "reports/model/run_model.h"
#include "reports/render.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kLastSweep{1'000};
// How long the programs of the suites are read after the last case, and when somebody waits for the end.
constexpr Milliseconds kLastReading{1'000};
constexpr Milliseconds kHastyReading{200};
constexpr const char* kBuiltinKnownFailures = "visibility_known_failures.toml";

// ---- From options to a plan on a machine ----

// Whether it is skipped on this machine for another reason than its number of cards.
bool is_skipped_anyway(const Suite& suite, const Case& test, const FoundDevices& devices) {
  const std::string backend(to_string(suite.backend));
  return test.disabled || devices.unusable.contains(backend) ||
         (suite.kind->ours() && devices.unusable_by_ours.contains(backend));
}

// "" when each rank of the case has cards of its own here, else who would have not.
std::string who_shares(const Case& test, const std::string& backend, const FoundDevices& devices) {
  std::vector<std::string> cards;
  for (const PoolDevice& entry : devices.pool) {
    if (entry.device.backend != backend) continue;
    if (entry.shared)
      return "each process simulates all cards itself, so all ranks would share " + entry.device.id;
    cards.push_back(entry.device.id);
  }
  const auto wanted = static_cast<std::size_t>(test.devices);
  if (cards.size() >= wanted) return {};
  std::string who = fmt::format("they need {} cards, and here are {}", wanted, cards.size());
  const auto served = cards.size() / (wanted / static_cast<std::size_t>(test.ranks));
  if (served > 0) who += fmt::format("; ranks 0 and {} would share {}", served, cards.front());
  return who;
}

// The arguments of this process: what a rerun command is made from.
std::vector<std::string> command_line() {
  std::vector<std::string> words;
  std::FILE* file = std::fopen("/proc/self/cmdline", "re");
  if (!file) return words;
  std::string word;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c == 0) {
      words.push_back(std::exchange(word, {}));
    } else {
      word += static_cast<char>(c);
    }
  }
  std::fclose(file);
  return words;
}

bool is_ci() {
  const char* ci = std::getenv("CI");
  return ci && std::strcmp(ci, "true") == 0;
}

// For those who expect suites of their own. "": somebody chose, or there are some.
std::string note_of_built_in(const Plan& plan, const std::vector<std::string>& files,
                             const RunOptions& options) {
  const SelectionOptions& chosen = options.plan.selection;
  const auto is_built_in = [](const Suite& suite) { return suite.origin == kBuiltInOrigin; };
  if (!chosen.suites.empty() || !chosen.cases.empty() || !options.plan_file.empty()) return {};
  if (!std::ranges::all_of(plan.suites, is_built_in)) return {};
  const std::string why =
      files.empty() ? "no proctor.toml was found" : fmt::format("no suite is in {}", fmt::join(files, ", "));
  return fmt::format("  suites       built in, {} {}, none of yours: {}; `proctor run -- PROGRAM` runs one",
                     plan.cases.size(), plan.cases.size() == 1 ? "case" : "cases", why);
}

// How each suite's kind was recognised, and how many cases it has; what is said about devices tells why one has
// none.
std::vector<std::string> suite_notes(const Plan& plan, const std::vector<std::string>& files,
                                     const RunOptions& options,
                                     const std::vector<std::string>& about_devices) {
  std::vector<std::string> notes;
  for (const std::string& file : files) notes.push_back("  config       " + file);
  if (auto note = note_of_built_in(plan, files, options); !note.empty()) notes.push_back(std::move(note));
  notes.insert(notes.end(), about_devices.begin(), about_devices.end());
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const Suite& suite = plan.suites[i];
    const auto count =
        std::count_if(plan.cases.begin(), plan.cases.end(), [&](const Case& c) { return c.suite == i; });
    if (count == 0 && suite.origin == kBuiltInOrigin) continue;
    notes.push_back("  suite        " + suite.name + ": " + std::string(suite.kind->name()) + " (" +
                    suite.kind_reason + "), backend " + std::string(to_string(suite.backend)) +
                    (suite.backend_reason.empty() ? "" : " (" + suite.backend_reason + ")") + ", " +
                    std::to_string(count) + (count == 1 ? " case" : " cases"));
  }
  return notes;
}

std::set<std::size_t> suites_with_cases(const Plan& plan) {
  std::set<std::size_t> used;
  for (const Case& test : plan.cases) used.insert(test.suite);
  return used;
}

struct AllKnownFailures {
  KnownFailures list;
  std::optional<KnownFailuresFile> file;  // the user's
};

// The user's list first, then the one that comes with the built-in suite.
Result<AllKnownFailures> load_all_known_failures(const std::string& file) {
  AllKnownFailures all;
  std::vector<KnownFailure> entries;
  for (const auto& path : {file, shared_file(kBuiltinKnownFailures)}) {
    if (path.empty()) continue;
    const auto text = read_text_file(path);
    if (!text) return text.error();
    const auto list = parse_known_failures(*text, path);
    if (!list) return list.error();
    if (path == file) {
      all.file = KnownFailuresFile{.file = file, .sha256 = sha256_hex(*text)};
      for (const KnownFailure& entry : list->entries()) all.file->entries.push_back(to_event(entry));
    }
    entries.insert(entries.end(), list->entries().begin(), list->entries().end());
  }
  all.list = KnownFailures(std::move(entries));
  return all;
}

// Warnings about the user's own entries only: the built-in list covers cases that a selection leaves out.
std::vector<Warning> known_failure_warnings(const std::string& file, const Plan& plan) {
  if (file.empty()) return {};
  const auto list = load_known_failures(file);
  std::vector<std::string> ids;
  for (const auto& test : plan.cases) ids.push_back(test.id);
  return list ? list->warnings(ids, today_utc()) : std::vector<Warning>{};
}

// The machine of this run, whatever becomes of the file that described it.
Result<void> write_machine(const std::string& path, const simgpu::Topology& topology) {
  return replace_file(path, topology.text);
}

// What the doctor finds here, for a device that is missing. A simulated machine has no driver stack.
std::string about_machine(const Machine& machine) {
  if (machine.simulation()) return "the machine is simulated: --sim " + machine.options().sim;
  const auto path = machine.caller().find("LD_LIBRARY_PATH");
  const auto host =
      read_host("/", path == machine.caller().end() ? "" : path->second, image_digest_of_caller());
  if (!host) return "failed to " + host.error().what;
  const auto findings = examine_host(*host, embedded_host_minima(), known_bad_rules(), today_text());
  return "the doctor: " + telling_finding(findings);
}

// Of a device that was asked for and is not here.
Error with_finding(Error error, const Machine& machine) {
  if (error.kind == ErrorKind::kSystem && error.what.starts_with("use --devices "))
    error.what += "; " + about_machine(machine);
  return error;
}

int print_plan(const Plan& plan, const std::vector<std::string>& files, const RunOptions& options) {
  for (const auto& note : suite_notes(plan, files, options, {})) std::printf("%s\n", shown(note).c_str());
  for (const auto& test : plan.cases) std::printf("%s\n", shown(test.id).c_str());
  std::printf("dry run: %zu cases planned, nothing started\n", plan.cases.size());
  return kExitGreen;
}

// Attempts whose log did not fit on the disk.
std::ptrdiff_t cut_logs(const RunModel& model) {
  std::ptrdiff_t count = 0;
  for (const CaseRecord& record : model.cases()) {
    count += std::ranges::count_if(
        record.attempts, [](const Attempt& attempt) { return attempt.end && attempt.end->output.lost; });
  }
  return count;
}

// Which suites have less than the header says, and what.
void describe_host_pids(const Plan& plan, Layer layer, ContainmentInfo& info) {
  std::string names;
  for (const Suite& suite : plan.suites) {
    if (suite.host_pids) names += (names.empty() ? "" : ", ") + suite.name;
  }
  if (names.empty()) return;
  info.not_guaranteed.push_back(
      fmt::format("host_pids: {} held by {}{}", names, to_string(without_pid_namespace(layer)),
                  info.signals.empty() ? "" : "; without CAP_SYS_ADMIN in no signal scope"));
}

}  // namespace

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

RunCommand::RunCommand(RunOptions options, AfterDashes after_dashes)
    : options_(std::move(options)),
      after_dashes_(std::move(after_dashes)),
      output_(STDOUT_FILENO),
      run_id_(new_run_id()) {}

int RunCommand::execute() {
  ignore_other_signals();
  if (auto forgotten = forget_old_report(); !forgotten) return refuse(forgotten.error());
  if (auto joined = join(); !joined) return refuse_run(joined.error());
  if (auto checked = check(); !checked) return refuse_run(checked.error());
  for (auto& sentence : sweep_dead_runs())
    warnings_.push_back({"swept", "left by a killed run: " + sentence});
  for (const Error& error : sweep_held_directories().failed)
    warnings_.push_back({"swept", "left by a killed run: failed to " + error.what});
  if (auto prepared = prepare(); !prepared) return refuse_run(prepared.error());
  return options_.dry_run ? print_plan(plan_, config_files_, options_) : run();
}

int RunCommand::refuse(const Error& error) const { return fail(error); }

Result<void> RunCommand::forget_old_report() {
  if (options_.junit.empty() || options_.dry_run) return {};
  if (auto usable = check_output_file("--junit", options_.junit); !usable) return usable;
  if (auto free = check_no_other_run("--junit", options_.junit, options_.out); !free) return free;
  std::error_code unknown;
  const auto there = std::filesystem::status(options_.junit, unknown);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return Error::usage("use --junit " + options_.junit + ": it is not a file");
  return replace_file(options_.junit, junit_without_run("The run has not come to its end."));
}

Result<void> RunCommand::join() {
  if (options_.join.empty() || options_.dry_run) return {};
  std::error_code error;
  if (std::filesystem::exists(options_.join, error) && !std::filesystem::is_directory(options_.join, error))
    return Error::usage("use --join " + options_.join + ": it is not a directory");
  const auto open = find_joined_run(options_.join, parent_of_this_process());
  if (!open || is_closed(*open)) {
    options_.out = options_.join + "/" + run_id_;
    return {};
  }
  const auto part = new_part(*open);
  if (!part) return part.error();
  options_.out = part->string();
  return {};
}

int RunCommand::refuse_run(const Error& refused) {
  const Error error = machine_ ? with_finding(refused, *machine_) : refused;
  // A part that was refused has no journal, and the reports of the whole say why.
  if (!options_.join.empty() && !options_.out.empty() && !options_.dry_run)
    leave_refusal(options_.out, error);
  if (!options_.junit.empty() && !options_.dry_run) {
    const std::string why = "The run was refused: failed to " + error.what + ". " + error.hint;
    if (auto written = replace_file(options_.junit, junit_without_run(why)); !written)
      std::fprintf(stderr, "proctor: failed to %s\n", shown(written.error().what).c_str());
  }
  return refuse(error);
}

Result<PlanOutcome> RunCommand::make_plan() {
  if (!options_.plan_file.empty()) return read_plan();
  options_.plan.lease_wait =
      std::min(options_.setup.lease_wait, options_.setup.deadline.value_or(Milliseconds::max()));
  options_.plan.on_wait = tell_wait;
  options_.plan.selection.joined = !options_.join.empty();
  options_.plan.selection.keep_unlisted = !options_.dry_run;  // there is a report that says so
  return discover_plan(options_.plan, *machine_);
}

std::unique_ptr<RunDisplay> RunCommand::make_display() {
  return std::make_unique<Console>(output_, options_.console, run_dir_,
                                   suite_notes(plan_, config_files_, options_, devices_.notes),
                                   options_.setup.attempts.inherit_stdio);
}

Result<void> RunCommand::check() {
  if (auto completed = complete(options_.plan, after_dashes_); !completed) return completed;
  if (options_.mistake) return *options_.mistake;
  if (auto budget = check_budget(); !budget) return budget;
  auto subject = parse_subject(options_.subject);
  if (!subject) return subject.error();
  said_subject_ = *std::move(subject);
  // For one case: nobody knows yet how many there are.
  if (auto enough = check_open_files(1, 0); !enough) return enough;
  auto machine = Machine::open(options_.machine, run_id_);
  if (!machine) return machine.error();
  machine_ = std::move(*machine);
  if (auto taken = machine_->take_faults(); !taken) return taken;
  if (auto read = read_shard(); !read) return read;
  return check_files();
}

// --until-fail without --repeat runs until --deadline.
Result<void> RunCommand::check_budget() {
  RunSetup& setup = options_.setup;
  if (setup.repeat == 0 && setup.until_fail && !setup.deadline) {
    return Error::usage("read --until-fail: nothing would end the run",
                        "Add --repeat N or --deadline DURATION.");
  }
  if (setup.repeat == 0) setup.repeat = setup.until_fail ? std::numeric_limits<int>::max() : 1;
  return {};
}

Result<void> RunCommand::check_files() {
  if (!options_.dry_run) {
    if (auto usable = check_run_directory(options_.out, options_.junit); !usable) return usable;
  }
  std::error_code ec;
  if (!std::filesystem::is_directory(options_.stack_root, ec)) {
    return Error::usage("read --stack-root " + options_.stack_root + ": no such directory");
  }
  auto known = load_all_known_failures(options_.known_failures);
  if (!known) return known.error();
  known_failures_ = std::move(known->list);
  known_failures_file_ = std::move(known->file);
  return {};
}

Result<void> RunCommand::read_shard() {
  if (!options_.plan_file.empty() && after_dashes_) {
    return Error::usage("read --plan " + options_.plan_file + ": it says what is run, and so does `--`");
  }
  if (options_.shard.empty()) return {};
  const auto shard =
      options_.shard == "auto" ? shard_of_environment(machine_->caller()) : parse_shard(options_.shard);
  if (!shard) return shard.error();
  shard_ = *shard;
  return {};
}

Result<void> RunCommand::prepare() {
  using Step = Result<void> (RunCommand::*)();
  std::vector<Step> steps = {&RunCommand::plan_cases, &RunCommand::hold_children,
                             &RunCommand::check_terminal};
  if (options_.dry_run) {
    steps.push_back(&RunCommand::take_shard);
  } else {
    steps.insert(steps.end(),
                 {&RunCommand::find_devices, &RunCommand::take_shard, &RunCommand::check_cards,
                  &RunCommand::count_jobs, &RunCommand::choose_programs, &RunCommand::open_leases,
                  &RunCommand::open_directory, &RunCommand::write_record, &RunCommand::make_environments,
                  &RunCommand::complete_setup});
  }
  for (const Step step : steps) {
    if (auto done = (this->*step)(); !done) return done;
  }
  return {};
}

Result<void> RunCommand::hold_children() {
  const auto containment = machine_->containment();
  if (!containment) return containment.error();
  const auto layers = read_layers(options_.machine);
  if (!layers || !layers->required) return {};
  const Layer weaker = without_pid_namespace((*containment)->layer());
  for (const Suite& suite : plan_.suites) {
    if (!suite.host_pids || weaker <= *layers->required) continue;
    return Error::usage(
        fmt::format("use --require-containment {}: suite `{}` has `host_pids`, and is held by {}",
                    to_string(*layers->required), suite.name, to_string(weaker)),
        "Run this suite by itself, without that option.");
  }
  return {};
}

Result<void> RunCommand::plan_cases() {
  auto outcome = make_plan();
  if (!outcome) return outcome.error();
  plan_ = std::move(outcome->plan);
  config_files_ = std::move(outcome->files);
  if (auto read = read_inputs(); !read) return read;
  options_.policy = outcome->run.under(options_.policy);
  warnings_.insert(warnings_.end(), outcome->warnings.begin(), outcome->warnings.end());
  const auto known = known_failure_warnings(options_.known_failures, plan_);
  warnings_.insert(warnings_.end(), known.begin(), known.end());
  return {};
}

// The files that decided what is run, for who runs it again.
Result<void> RunCommand::read_inputs() {
  std::vector<InputFile>& inputs = options_.setup.planned.inputs.emplace();
  std::vector<std::string> files = config_files_;
  if (!options_.plan_file.empty()) files.push_back(options_.plan_file);
  const auto& simulation = machine_->simulation();
  if (simulation && simulation->topology.described()) files.push_back(simulation->topology.name);
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) return text.error();
    inputs.push_back({.file = file, .sha256 = sha256_hex(*text)});
  }
  return {};
}

Result<PlanOutcome> RunCommand::read_plan() {
  const auto text = read_file(options_.plan_file);
  if (!text)
    return Error::usage("read --plan " + options_.plan_file + ": " + text.error().what,
                        "Make it with `proctor plan -o FILE`.");
  auto file = parse_plan_file(*text, options_.plan_file, plan_directories(options_.plan.config.directory));
  if (!file) return file.error();
  options_.plan.extent = file->extent;
  plan_source_ = std::move(file->source);
  auto cases = select_cases(std::move(file->plan.cases), options_.plan.selection);
  if (!cases) return cases.error();
  file->plan.cases = *std::move(cases);
  return PlanOutcome{.plan = std::move(file->plan), .warnings = {}, .run = file->run};
}

// There is one terminal to give away.
Result<void> RunCommand::check_terminal() {
  const AttemptSetup& attempts = options_.setup.attempts;
  if (!attempts.inherit_stdio) return {};
  if (plan_.cases.size() != 1) {
    return Error::usage(
        "give the terminal to one case: " + std::to_string(plan_.cases.size()) + " are selected",
        "Select one with --case ID; `proctor list` shows the ids.");
  }
  if (!attempts.debugger.empty() && plan_.cases.front().ranks > 0) {
    return Error::usage("give the terminal to the debugger of " + plan_.cases.front().id + ": it has " +
                            std::to_string(plan_.cases.front().ranks) + " ranks, each a process",
                        "Run it with --timeout 1h --stall off, and attach to a rank (`gdb -p PID`); RANK in "
                        "/proc/PID/environ tells which it is.");
  }
  return {};
}

Result<void> RunCommand::find_devices() {
  auto devices = machine_->devices(backends_of(plan_));
  if (!devices) return devices.error();
  devices_ = std::move(*devices);
  // What a plan for several machines holds does not depend on any of them.
  if (options_.plan.selection.backend.empty() && options_.plan_file.empty()) {
    const auto left_out = leave_out_absent(plan_, devices_);
    devices_.notes.insert(devices_.notes.end(), left_out.begin(), left_out.end());
  }
  if (!devices_.pool.empty()) {
    const auto cleared = describe_cleared(machine_->caller());
    devices_.notes.insert(devices_.notes.end(), cleared.begin(), cleared.end());
  }
  if (auto used = check_devices_used(); !used) return used;
  if (auto enough = check_devices_asked(); !enough) return enough;
  if (auto pinned = pin_cases(); !pinned) return pinned;
  warnings_.insert(warnings_.end(), devices_.warnings.begin(), devices_.warnings.end());
  if (const auto& simulation = machine_->simulation(); simulation && !simulation->faults.empty())
    devices_.stack.emplace_back(kSimFaultsEntry, simulation->faults);
  return {};
}

// An id may hold any character, and a device's name no '='.
Result<void> RunCommand::pin_cases() {
  for (const std::string& pin : options_.pins) {
    const auto refuse = [&](const std::string& why, const std::string& hint) {
      return Error::usage("use --pin " + shell_quote(pin) + ": " + why, hint);
    };
    const std::size_t equals = pin.rfind('=');
    if (equals == std::string::npos) return refuse("there is no `=`", "E.g. --pin suite/case=xpu:0.");
    const std::string id = pin.substr(0, equals);
    const auto test = std::ranges::find(plan_.cases, id, &Case::id);
    if (test == plan_.cases.end())
      return refuse("no chosen case is `" + id + "`", "`proctor list` shows the ids.");
    if (test->devices != 1) {
      return refuse(fmt::format("the case gets {} devices", test->devices),
                    "--devices chooses the devices of a run.");
    }
    const auto chosen = devices_.choose(pin.substr(equals + 1));
    if (!chosen) {
      Error error = chosen.error();
      error.what = "use --pin " + shell_quote(pin) + error.what.substr(error.what.find(": "));
      return error;
    }
    if (chosen->size() != 1) return refuse("it names several devices", "A case is pinned to one.");
    options_.setup.pins[id] = chosen->front();
  }
  return {};
}

// A choice without an effect would look like one that was kept.
Result<void> RunCommand::check_devices_used() {
  const auto gets_some = [](const Case& test) { return test.devices > 0; };
  if (options_.machine.devices.empty() || std::ranges::any_of(plan_.cases, gets_some)) return {};
  return Error::usage("use --devices " + options_.machine.devices + ": no chosen case gets a device",
                      "Add --backend cuda or --backend xpu.");
}

// The run goes on: its reports say which cases were skipped for it.
Result<void> RunCommand::check_devices_asked() {
  const SelectionOptions& typed = options_.plan.selection;
  const std::string& chosen = options_.machine.devices;
  const bool backend = !typed.backend.empty() && options_.plan_file.empty();
  const bool anybody = typed.backend.empty() && machine_->likely_backends().empty();
  for (DeviceShortage& lack : device_shortages(plan_, devices_, {.backend = backend, .count = typed.gpus})) {
    if (!chosen.empty())
      return Error::usage(
          fmt::format("use --devices {}: {}, {} named", shell_quote(chosen), requested(lack), lack.present),
          "Name others, or correct --backend and --gpus.");
    if (lack.present == 0 && options_.setup.planned.allow_no_device) continue;
    if (anybody) lack.backend = lack.why = "";  // whichever vendor was meant, nothing of it is here
    const char* next = machine_->simulation() ? "" : "; next: `proctor doctor`";
    warnings_.push_back(
        {std::string(kDeviceShortage), to_string(lack) + "; " + about_machine(*machine_) + next});
    if (anybody) break;
  }
  return {};
}

// Everything that is the same on all machines has been decided; what follows may depend on this one.
Result<void> RunCommand::take_shard() {
  if (!shard_ && options_.plan_file.empty()) return {};
  const auto digest = plan_file_digest(
      {.plan = plan_, .run = options_.policy, .extent = options_.plan.extent, .source = plan_source_},
      plan_directories(options_.plan.config.directory));
  if (!digest) return digest.error();
  const Shard shard = shard_.value_or(Shard{});
  part_ = PlannedShard{.index = shard.index,
                       .count = shard.count,
                       .planned = static_cast<int>(plan_.cases.size()),
                       .plan = *digest};
  whole_digest_ = plan_digest(plan_);
  whole_filters_ = filters_of(plan_);
  keep_shard(shard, plan_);
  return {};
}

Result<void> RunCommand::check_cards() {
  if (!options_.require_cards) return {};
  for (const Case& test : plan_.cases) {
    const Suite& suite = plan_.suites[test.suite];
    if (test.ranks == 0 || test.devices == 0 || is_skipped_anyway(suite, test, devices_)) continue;
    const std::string who = who_shares(test, std::string(to_string(suite.backend)), devices_);
    if (who.empty()) continue;
    return Error{ErrorKind::kSystem, fmt::format("start the {} ranks of {}: {}", test.ranks, test.id, who),
                 "Without --require-cards the case is skipped where cards are too few.", 0};
  }
  return {};
}

// As many cases at once as were asked for, or as there are devices or cores, if there are descriptors for so many.
Result<void> RunCommand::count_jobs() {
  jobs_ = effective_jobs(plan_, DevicePool(devices_.pool), options_.jobs, usable_cores());
  int ranks = 0;
  for (const Case& test : plan_.cases) ranks = std::max(ranks, test.ranks);
  const auto enough = check_open_files(jobs_, ranks);
  const int fewer = most_jobs_with_open_files();
  if (enough || options_.jobs != 0 || fewer < 1 || !check_open_files(fewer, ranks)) return enough;
  warnings_.push_back(
      {"open_files", fmt::format("{} cases at once and not {}, for want of open files: {} ({})", fewer, jobs_,
                                 enough.error().what, enough.error().hint)});
  jobs_ = fewer;
  return {};
}

// Those that run with the driver that is here.
Result<void> RunCommand::choose_programs() {
  use_cuda_runtime(devices_.cuda_runtime, program_directory(), plan_);
  for (const auto& [backend, simulated] : devices_.simulations) {
    if (simulated.loader_words.empty()) continue;
    auto started = start_through(simulated.loader_words, backend, search_path(), plan_);
    if (!started) return started;
  }
  return {};
}

Result<void> RunCommand::open_leases() {
  const auto leases = machine_->leases(devices_);
  if (!leases) return leases.error();
  leases_ = *leases;
  if (leases_ == nullptr) return {};
  devices_.stack.emplace_back("leases", leases_->path());
  devices_.stack.emplace_back("leases.scope", std::string(to_string(leases_->scope())));
  return {};
}

Result<void> RunCommand::open_directory() {
  if (auto scratch = machine_->scratch(); !scratch) return scratch.error();
  auto directory = create_run_directory(options_.out, run_id_, options_.keep);
  if (!directory) return directory.error();
  run_dir_ = std::move(*directory);
  auto journal = Journal::open(run_dir_ + "/journal.jsonl");
  if (!journal) return journal.error();
  journal_ = std::move(*journal);
  const auto& simulation = machine_->simulation();
  if (!simulation || !simulation->topology.described()) return {};
  return write_machine(run_dir_ + "/sim_topology.toml", simulation->topology);
}

// Without a record the run goes on: only what it leaves when it is killed is then left to others.
Result<void> RunCommand::write_record() {
  const auto containment = machine_->containment();
  if (!containment) return containment.error();
  const auto scratch = machine_->scratch();
  if (!scratch) return scratch.error();
  auto description = describe_this_run(run_id_, run_dir_, (*containment)->run_cgroup(), (*scratch)->paths());
  if (options_.ready_regex) description.parent_pid = 0;  // a server outlives the step that starts it
  auto record = RunRecordFiles::write(description);
  if (record) {
    record_.emplace(std::move(*record));
    keep_journal_seal();
  } else {
    warnings_.push_back(
        {"run_record", "failed to " + record.error().what +
                           "; if this runner is killed, the next run cannot sweep what it leaves"});
  }
  return {};
}

void RunCommand::keep_journal_seal() {
  auto file = JournalSealFile::create(run_dir_, run_id_);
  if (!file) {
    warnings_.push_back(
        {"journal_seal", "failed to " + file.error().what +
                             "; after the run only the journal itself tells whether it was changed"});
    return;
  }
  auto seal = std::make_shared<JournalSealFile>(*std::move(file));
  journal_->keep_seal([seal](const JournalSeal& written) { seal->keep(written); });
}

// What became of the stack, of what could not be killed, and of the journal, to which the processes of the cases have
// access; the reports of this run are made of what was written.
std::vector<Warning> RunCommand::look_at_the_end() {
  std::vector<Warning> warnings = run_stack_->check_again();
  for (Warning& left : end_rest()) warnings.push_back(std::move(left));
  if (const std::string why = journal_->difference(); !why.empty()) {
    warnings.push_back(
        {std::string(kJournalChanged), "the journal is not what its runner wrote: " + why +
                                           "; these reports are made of what it wrote, those that are "
                                           "made from the journal are not to be relied on"});
  }
  return warnings;
}

Result<void> RunCommand::make_environments() {
  const auto& simulation = machine_->simulation();
  auto environments = machine_->environments(
      devices_, options_.plan.extent,
      {.state = {}, .log = run_dir_ + "/sim_faults.jsonl", .faults = simulation ? simulation->faults : ""});
  if (!environments) return environments.error();
  environments_ = std::move(*environments);
  const auto containment = machine_->containment();
  if (!containment) return containment.error();
  const SeenDevices seen = see_devices(plan_, devices_, *environments_, **containment);
  devices_.notes.insert(devices_.notes.end(), seen.notes.begin(), seen.notes.end());
  warnings_.insert(warnings_.end(), seen.warnings.begin(), seen.warnings.end());
  return {};
}

// ---- The run and its reports ----

// The first record of the journal.
void RunCommand::describe() {
  RunPlanned& planned = options_.setup.planned;
  planned.run_id = run_id_;
  planned.started = utc_now();
  planned.proctor_version = PROCTOR_VERSION;
  planned.command_line = without_credentials(hide_secrets(command_line()));
  planned.directory = options_.plan.config.directory;
  planned.hostname = host_name();
  planned.containment = options_.setup.containment->info();
  describe_host_pids(plan_, options_.setup.containment->layer(), planned.containment);
  if (const auto& simulation = machine_->simulation()) planned.sim = to_sim_info(*simulation);
  planned.flaky_passes = options_.policy.flaky_passes.value_or(false);
  planned.flaky_budget = options_.policy.flaky_budget.value_or(0);
  const bool told = std::ranges::find(warnings_, kDeviceShortage, &Warning::code) != warnings_.end();
  if (!told) planned.no_device_for = backend_without_devices(plan_, devices_);
  planned.no_device_by = variable_that_hides(planned.no_device_for, devices_);
  planned.stack = devices_.stack;
  run_stack_->describe(planned);
  for (StackFact& fact : unsaid_drivers(devices_)) planned.fingerprint.push_back(std::move(fact));
  const DevicePool pool(devices_.pool);
  planned.jobs = jobs_;
  describe_plan(plan_, pool, options_.setup.repeat, planned);
  planned.known_failures = known_failures_file_;
  planned.size = options_.plan.extent.size;
  planned.seed = options_.plan.extent.seed;
  planned.profile = options_.plan.config.profile;
  describe_subject();
  describe_programs();
  describe_narrowing_of(planned);
  planned.shard = part_;
  if (!part_) return;
  planned.plan_digest = whole_digest_;
  planned.filters = whole_filters_;
}

// The options that were typed, and of each suite that has cases here what variables its processes have.
void RunCommand::describe_narrowing_of(RunPlanned& planned) {
  Narrowed& narrowed = planned.narrowed.emplace(Narrowed{.options = options_.narrowing, .variables = {}});
  for (const std::size_t i : suites_with_cases(plan_)) {
    const Suite& suite = plan_.suites[i];
    // One that has no environment here gets no case to run either.
    const auto environment = environments_->of(suite, {});
    const auto found = narrowing_variables(suite, machine_->caller(),
                                           environment ? environment->variables : to_list(machine_->caller()),
                                           shared_file("pytest"));
    narrowed.variables.insert(narrowed.variables.end(), found.begin(), found.end());
  }
  const auto lines = describe_narrowing(narrowed.variables);
  devices_.notes.insert(devices_.notes.end(), lines.begin(), lines.end());
}

void RunCommand::describe_subject() {
  FoundSubject found = find_subject(said_subject_, machine_->caller(), options_.plan.config.directory);
  options_.setup.planned.subject = std::move(found.subject);
  warnings_.insert(warnings_.end(), found.warnings.begin(), found.warnings.end());
}

// Of the suites that have cases here.
void RunCommand::describe_programs() {
  std::vector<PlannedSuite>& suites = options_.setup.planned.suites;
  for (const std::size_t i : suites_with_cases(plan_)) {
    const Suite& suite = plan_.suites[i];
    PlannedSuite planned{.name = suite.name,
                         .backend = std::string(to_string(suite.backend)),
                         .kind = std::string(suite.kind->name()),
                         .command = suite.command};
    const auto own_path = suite.env.find("PATH");
    const auto program =
        find_executable(suite, own_path != suite.env.end() ? own_path->second : search_path());
    if (program) planned.program = *program;
    if (!program) planned.reason = "failed to " + program.error().what;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(planned.program, error);
    if (!error) planned.bytes = bytes;
    suites.push_back(std::move(planned));
  }
  programs_.emplace(suites);
}

// What was not read while cases ran.
void RunCommand::read_programs(bool was_stopped, EventSink& events) {
  programs_->finish(events, was_stopped ? kHastyReading : kLastReading, stop_signal_waits);
}

// Of this machine's kernel and no other's, wherever --stack-root has the driver stack's files.
std::vector<HardwareEvidence> RunCommand::hardware_evidence(std::string_view when) const {
  return gather_hardware_evidence(devices_, RootedFiles("/"), when);
}

// At the end once more: a driver that was replaced meanwhile, or a machine that was resumed as another, is not the same.
void RunCommand::tell_hardware(std::int64_t at_ms, EventSink& events) const {
  for (HardwareEvidence& evidence : hardware_evidence("end")) {
    evidence.at_ms = at_ms;
    events.on(evidence);
  }
}

std::optional<KnownVerdict> RunCommand::known_failure(const Suite& suite, const Case& test,
                                                      const std::vector<std::string>& devices,
                                                      const Verdict& verdict) const {
  Surroundings where{.stack = {devices_.stack.begin(), devices_.stack.end()},
                     .backend = std::string(to_string(suite.backend))};
  for (const std::string& id : devices) {
    if (const PoolDevice* entry = devices_.find(id)) where.models.push_back(entry->device.name);
  }
  const KnownFailure* entry = known_failures_.match(test.id, where, today_utc());
  const Verdict known = apply(entry, verdict);
  if (known == verdict) return std::nullopt;
  return KnownVerdict{.verdict = known, .source = entry->source, .at = entry->origin};
}

Result<void> RunCommand::complete_setup() {
  RunSetup& setup = options_.setup;
  const auto containment = machine_->containment();
  if (!containment) return containment.error();
  const auto scratch = machine_->scratch();
  if (!scratch) return scratch.error();
  auto monitor = machine_->monitor(devices_);
  if (!monitor) return monitor.error();
  setup.plan = &plan_;
  setup.containment = *containment;
  setup.scratch = *scratch;
  setup.policy = options_.policy;
  setup.devices = &devices_;
  setup.leases = leases_;
  setup.care.monitor = *std::move(monitor);
  setup.care.health = [this](const std::string& device) { return health_request(device); };
  setup.attempts.run_dir = run_dir_;
  setup.attempts.own_program = own_program();
  setup.attempts.evidence_environment = to_list(machine_->caller());
  setup.environment = [this](const Suite& suite, const auto& ids) { return environments_->of(suite, ids); };
  setup.known_failure = [this](const Suite& suite, const Case& test, const std::vector<std::string>& devices,
                               const Verdict& verdict) {
    return known_failure(suite, test, devices, verdict);
  };
  setup.watch_parent = is_ci();
  run_stack_.emplace(options_.stack_root);
  setup.evidence = hardware_evidence("start");
  describe();
  return {};
}

// What no case could end has one more second; what is alive then is named, and the record stays for `finish`.
std::vector<Warning> RunCommand::end_rest() {
  const auto containment = machine_->containment();
  if (!containment) return {};
  const std::vector<Stray> left = (*containment)->end_rest(kLastSweep);
  if (left.empty()) return {};
  std::vector<Warning> warnings;
  std::vector<int> pids;
  for (const Stray& stray : left) {
    if (stray.pid > 0) pids.push_back(stray.pid);
    warnings.push_back(
        {"left_alive", fmt::format("process {} ({}) could not be ended; `proctor finish {}` tries again",
                                   stray.pid, stray.command, run_dir_)});
  }
  if (!record_) return warnings;
  if (auto kept = record_->keep(pids); !kept)
    warnings.push_back({"run_record", "failed to " + kept.error().what});
  return warnings;
}

// None as well where the environment of the device cannot be made: then nobody can say how it is.
std::optional<HealthRequest> RunCommand::health_request(const std::string& device) {
  auto request =
      machine_->health_request(devices_, device, *environments_, options_.policy.reset_sick.value_or(false));
  return request ? *std::move(request) : std::nullopt;
}

int RunCommand::run() {
  RunMemory memory;
  EventFanout events;
  RunSetup& setup = options_.setup;
  const auto display = make_display();
  events.add(*journal_);
  events.add(memory);
  events.add(*display);
  journal_->on_lost([&](const Warning& warning) { events.on(warning); });
  output_.on_lost([&](const std::string& why) {
    std::fprintf(stderr, "proctor: failed to write to stdout: %s; the run goes on\n", why.c_str());
    events.on(Warning{"stdout_lost", "failed to write to stdout: " + why + "; the run went on"});
  });
  if (display->wants_output()) {
    setup.attempts.on_output = [&](const std::string& case_id, Stream stream, std::string_view bytes) {
      display->output(case_id, stream == Stream::kErr, bytes);
    };
  }
  setup.at_end = [&] {
    read_programs(memory.was_stopped(), events);
    tell_hardware(memory.elapsed_ms(), events);
    return look_at_the_end();
  };
  setup.on_tick = [&] {
    journal_->sync_if_due();
    programs_->read_piece(events);
    display->tick();
  };
  setup.warnings = std::move(warnings_);

  {
    std::optional<CommandPause> pause;
    if (setup.attempts.inherit_stdio && in_github_actions() && !options_.workflow_commands) pause.emplace();
    run_plan(setup, events);
  }

  const RunModel& model = memory.recall();
  const auto rendered = write_reports(model, events);
  const int code = shell_exit_code(model);
  display->finish(model, code, rendered);
  output_.on_lost(nullptr);
  remove_old_journal_seals();  // there may be hundreds: not while the first case waits
  release_stop_signals();
  const int signal = ending_signal(model);
  if (signal == 0) return code;

  record_.reset();  // what destructors would do, before the end by signal
  journal_.reset();
  machine_.reset();
  die_by_signal(signal);
}

Result<void> RunCommand::write_junit(const RunModel& model) const {
  auto file = FileReplacement::open(options_.junit);
  if (!file) return file.error();
  {
    TextOutput output([&file](std::string_view piece) { file->add(piece); });
    write_junit_run(model, output);
  }
  return file->put();
}

Result<RenderedFiles> RunCommand::write_all(const RunModel& model) const {
  auto rendered = render(model, run_dir_);
  if (options_.junit.empty()) return rendered;
  const auto written = write_junit(model);
  if (written) return rendered;
  if (rendered) return written.error();
  return Error{ErrorKind::kSystem, rendered.error().what + "; " + written.error().what, {}, 0};
}

// No report, no green: what is missing is a problem of the run, in all reports that can be written.
Result<void> RunCommand::write_reports(const RunModel& model, EventSink& events) {
  const auto written = write_all(model);
  std::string lost = journal_->complete() ? "" : "write journal.jsonl: records are missing";
  if (!written) lost += (lost.empty() ? "" : "; ") + written.error().what;
  if (const auto cut = cut_logs(model); cut > 0 && !lost.empty())
    lost += fmt::format("; {} of its logs cut short", cut);
  if (lost.empty()) {
    journal_->end_with(rendered_record(*written));
    return {};
  }
  events.on(Warning{std::string(kReportLost), "failed to " + lost});
  const auto again = write_all(model);
  if (!written) return written.error();
  return again ? Error{ErrorKind::kSystem, lost, {}, 0} : again.error();
}

void add_run_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("run", "Run suites, or a command after `--`");
  auto options = std::make_shared<RunOptions>();
  add_run_options(*command, *options);
  command->callback([options, command, &action, &after_dashes] {
    options->narrowing = narrowing_options(*command);
    action = [options, &after_dashes] { return RunCommand(*options, after_dashes).execute(); };
  });
}

}  // namespace proctor::cli
