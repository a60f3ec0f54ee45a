// `proctor run`: everything that can be refused is refused first, then discovery, then the run, then the
// reports.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "harness/cli/ci_log.h"
#include "harness/cli/commands.h"
#include "harness/cli/console.h"
#include "harness/cli/listing.h"
#include "harness/cli/run_command.h"
#include "harness/cli/run_directory.h"
#include "harness/cli/run_discovery.h"
#include "harness/cli/run_launcher.h"
#include "harness/cli/run_watch.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/run/schedule/planned.h"
#include "harness/run/schedule/signals.h"
#include "reports/exit_code.h"
#include "reports/failure_summary.h"
#include "reports/render.h"
#include "reports/rerun.h"
#include "reports/run_model.h"

namespace proctor::cli {
namespace {

constexpr const char* kBuiltinKnownFailures = "visibility_known_failures.toml";

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

// How each suite's kind was recognised, and how many cases it has; `devices` says why one has none.
std::vector<std::string> suite_notes(const Plan& plan, const RunDevices& devices) {
  std::vector<std::string> notes = devices.notes;
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const Suite& suite = plan.suites[i];
    const auto count =
        std::count_if(plan.cases.begin(), plan.cases.end(), [&](const Case& c) { return c.suite == i; });
    if (count == 0 && suite.origin == kBuiltInOrigin) continue;
    notes.push_back("  suite        " + suite.name + ": " + std::string(to_string(suite.kind)) + " (" +
                    suite.kind_reason + "), backend " + std::string(to_string(suite.backend)) + ", " +
                    std::to_string(count) + (count == 1 ? " case" : " cases"));
  }
  return notes;
}

// The user's list first, then the one that comes with the built-in suite.
Result<KnownFailures> load_all_known_failures(const std::string& file) {
  std::vector<KnownFailure> entries;
  for (const auto& path : {file, shared_file(kBuiltinKnownFailures)}) {
    if (path.empty()) continue;
    const auto list = load_known_failures(path);
    if (!list) return list.error();
    entries.insert(entries.end(), list->entries().begin(), list->entries().end());
  }
  return KnownFailures(std::move(entries));
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
  std::ofstream file(path, std::ios::binary);
  file << topology.text;
  file.close();
  if (!file) return Error::system("write " + path, errno);
  return {};
}

int print_plan(const Plan& plan) {
  for (const auto& note : suite_notes(plan, {})) std::printf("%s\n", shown(note).c_str());
  for (const auto& test : plan.cases) std::printf("%s\n", shown(test.id).c_str());
  std::printf("dry run: %zu cases planned, nothing started\n", plan.cases.size());
  return kExitGreen;
}

}  // namespace

RunCommand::RunCommand(RunOptions options, AfterDashes after_dashes)
    : options_(std::move(options)), after_dashes_(std::move(after_dashes)), output_(STDOUT_FILENO) {}

int RunCommand::execute() {
  ignore_sigpipe();
  if (auto checked = check(); !checked) return refuse(checked.error());
  if (auto prepared = prepare(); !prepared) return refuse(prepared.error());
  if (options_.dry_run) return print_plan(plan_);
  if (auto set_up = set_up_directory(); !set_up) return refuse(set_up.error());
  return run();
}

int RunCommand::refuse(const Error& error) const { return fail(error); }

Result<PlanOutcome> RunCommand::make_plan() {
  if (!options_.plan_file.empty()) return read_plan();
  return discover_plan(options_.plan, options_.state_dir, simulation_, *containment_);
}

std::unique_ptr<RunDisplay> RunCommand::make_display() {
  return std::make_unique<Console>(output_, run_dir_, suite_notes(plan_, devices_),
                                   options_.no_capture || !debugger_.empty());
}

// What can be refused without starting anything.
Result<void> RunCommand::check() {
  if (auto completed = complete(options_.plan, after_dashes_); !completed) return completed;
  const auto budget = parse_budget(options_);
  if (!budget) return budget.error();
  budget_ = *budget;
  auto simulation = parse_simulation_options(options_.plan);
  if (!simulation) return simulation.error();
  simulation_ = std::move(*simulation);
  if (auto added = add_sim_faults(simulation_, caller_environment()); !added) return added;
  if (auto read = read_shard(); !read) return read;
  auto debugger = split_words(options_.debugger);
  if (!debugger) return debugger.error();
  debugger_ = std::move(*debugger);
  if (!options_.dry_run) {
    if (auto usable = check_run_directory(options_.out); !usable) return usable;
  }
  std::error_code ec;
  if (!std::filesystem::is_directory(options_.stack_root, ec)) {
    return Error::usage("read --stack-root " + options_.stack_root + ": no such directory");
  }
  if (!options_.junit.empty()) {
    if (auto usable = check_output_file("--junit", options_.junit); !usable) return usable;
  }
  auto known = load_all_known_failures(options_.known_failures);
  if (!known) return known.error();
  known_failures_ = std::move(*known);
  return {};
}

Result<void> RunCommand::prepare() {
  run_id_ = new_run_id();
  for (auto& sentence : sweep_dead_runs())
    warnings_.push_back({"swept", "left by a killed run: " + sentence});
  auto containment = open_containment(options_.plan, run_id_);
  if (!containment) return containment.error();
  containment_ = std::move(*containment);
  auto outcome = make_plan();
  if (!outcome) return outcome.error();
  plan_ = std::move(outcome->plan);
  policy_ = outcome->run;
  if (options_.breaker) policy_.breaker = options_.breaker;
  if (options_.telemetry) policy_.telemetry = options_.telemetry;
  if (!options_.flaky.empty()) policy_.flaky_passes = options_.flaky == "pass";
  if (options_.flaky_budget) policy_.flaky_budget = options_.flaky_budget;
  if (!options_.reset.empty()) policy_.reset_sick = options_.reset == "sick";
  if (!options_.foreign.empty()) policy_.foreign = parse_foreign_policy(options_.foreign);
  warnings_.insert(warnings_.end(), outcome->warnings.begin(), outcome->warnings.end());
  for (auto& warning : known_failure_warnings(options_.known_failures, plan_))
    warnings_.push_back(std::move(warning));
  if ((options_.no_capture || !debugger_.empty()) && plan_.cases.size() != 1) {
    return Error::usage(
        "give the terminal to one case: " + std::to_string(plan_.cases.size()) + " are selected",
        "Select one with --case ID; `proctor list` shows the ids.");
  }
  if (!debugger_.empty() && plan_.cases.front().ranks > 0) {
    return Error::usage("give the terminal to the debugger of " + plan_.cases.front().id + ": it has " +
                            std::to_string(plan_.cases.front().ranks) + " ranks, each a process",
                        "Run it with --timeout 1h --stall off, and attach to a rank (`gdb -p PID`); RANK in "
                        "/proc/PID/environ tells which it is.");
  }
  if (options_.dry_run) return take_shard();
  auto devices = find_devices(plan_, simulation_, *containment_, caller_environment());
  if (!devices) return devices.error();
  devices_ = std::move(*devices);
  // What a plan for several machines holds does not depend on any of them.
  const bool free = options_.plan.selection.backend.empty() && options_.plan_file.empty();
  if (free) leave_out_absent(plan_, devices_);
  if (auto taken = take_shard(); !taken) return taken;
  if (auto enough = check_cards(); !enough) return enough;
  for (const auto& [backend, simulated] : devices_.simulations) {
    if (simulated.launcher.empty()) continue;
    auto launched = launch_through(simulated.launcher, backend, search_path(), plan_);
    if (!launched) return launched;
  }
  warnings_.insert(warnings_.end(), devices_.warnings.begin(), devices_.warnings.end());
  if (simulation_ && !simulation_->faults.empty()) {
    devices_.stack.emplace_back(kSimFaultsEntry, simulation_->faults);
  }
  stack_.insert(devices_.stack.begin(), devices_.stack.end());
  return {};
}

// Cards that this run alone simulates are nobody else's; what every process builds for itself is not leased.
Result<void> RunCommand::set_up_leases() {
  const bool any = std::any_of(devices_.pool.begin(), devices_.pool.end(),
                               [](const PoolDevice& entry) { return !entry.shared; });
  const std::string path = lease_path(options_.plan, options_.state_dir, simulation_.has_value());
  if (!any || path.empty()) return {};
  auto leases = LeaseDirectory::open(path);
  if (!leases) return leases.error();
  leases_ = std::move(*leases);
  devices_.stack.emplace_back("leases", path);
  devices_.stack.emplace_back("leases.scope", std::string(to_string(leases_->scope())));
  return {};
}

Result<void> RunCommand::set_up_directory() {
  if (auto leases = set_up_leases(); !leases) return leases;
  auto scratch = ScratchRoot::create();
  if (!scratch) return scratch.error();
  scratch_ = std::move(*scratch);
  auto directory = create_run_directory(options_.out, run_id_);
  if (!directory) return directory.error();
  run_dir_ = std::move(*directory);
  auto journal = Journal::open(run_dir_ + "/journal.jsonl");
  if (!journal) return journal.error();
  journal_ = std::move(*journal);
  auto description = describe_this_run(run_id_, run_dir_, containment_->run_cgroup(), scratch_->paths());
  if (options_.ready_regex) description.parent_pid = 0;  // a server outlives the step that starts it
  auto record = RunRecordFiles::write(description);
  if (record) {
    record_.emplace(std::move(*record));
  } else {
    warnings_.push_back(
        {"run_record", "failed to " + record.error().what +
                           "; if this runner is killed, the next run cannot sweep what it leaves"});
  }
  if (simulation_ && simulation_->topology.described()) {
    auto kept = write_machine(run_dir_ + "/sim_topology.toml", simulation_->topology);
    if (!kept) return kept;
  }
  if (simulation_ && simulation_->driver.kind == SimDriverKind::kSimgpu && !devices_.simulations.empty()) {
    // One ledger for all cases of the run, so that each sees what the others leak.
    auto state = options_.plan.sim_state.empty() ? scratch_->new_directory()
                                                 : Result<std::string>(options_.plan.sim_state);
    if (!state) return state.error();
    sim_state_ = *state;
    bind(devices_.simulations,
         {.state = sim_state_, .log = run_dir_ + "/sim_faults.jsonl", .faults = simulation_->faults});
  }
  environments_ = std::make_unique<CaseEnvironments>(
      caller_environment(), devices_.leasable, devices_.simulations, scratch_->path(), options_.plan.size);
  return {};
}

RunPlanned RunCommand::describe() const {
  RunPlanned planned;
  planned.run_id = run_id_;
  planned.started = utc_now();
  planned.proctor_version = PROCTOR_VERSION;
  planned.command_line = command_line();
  planned.directory = options_.plan.config.directory;
  planned.hostname = host_name();
  planned.containment = containment_->info();
  if (simulation_) planned.sim = to_sim_info(*simulation_);
  planned.min_executed = options_.min_executed;
  planned.strict = options_.strict;
  planned.each_device = options_.each_device;
  planned.flaky_passes = policy_.flaky_passes.value_or(false);
  planned.flaky_budget = policy_.flaky_budget.value_or(0);
  planned.no_device_for = devices_.no_device_for;
  planned.stack = devices_.stack;
  run_stack_->describe(planned);
  const DevicePool pool(devices_.pool);
  planned.jobs = effective_jobs(plan_, pool, options_.jobs, usable_cores());
  describe_plan(plan_, pool, budget_.repeat, planned);
  planned.shard = part_;
  if (part_) planned.plan_digest = whole_digest_;
  return planned;
}

std::optional<KnownVerdict> RunCommand::known_failure(const Case& test, const Verdict& verdict) const {
  const auto entry = known_failures_.match(test.id, stack_, today_utc());
  if (!entry) return std::nullopt;
  const Verdict known = apply(&*entry, verdict);
  if (known == verdict) return std::nullopt;
  return KnownVerdict{.verdict = known, .source = entry->source, .note = ""};
}

RunSetup RunCommand::make_setup() {
  RunSetup setup;
  setup.plan = &plan_;
  run_stack_ = std::make_unique<RunStack>(options_.stack_root);
  setup.planned = describe();
  setup.at_end = [this] { return run_stack_->check_again(); };
  setup.containment = containment_.get();
  setup.scratch = scratch_.get();
  setup.devices = devices_.pool;
  setup.leases = leases_;
  setup.lease_wait = budget_.lease_wait;
  setup.care.monitor = monitor_of(devices_, sim_state_, *scratch_);
  setup.care.settle = budget_.settle;
  setup.care.health = [this](const std::string& device) { return health_request(device); };
  setup.care.foreign = policy_.foreign.value_or(setup.care.foreign);
  setup.care.reset_sick = policy_.reset_sick.value_or(setup.care.reset_sick);
  setup.breaker = policy_.breaker.value_or(setup.breaker);
  setup.telemetry.rate = policy_.telemetry.value_or(setup.telemetry.rate);
  setup.telemetry.tool.env = to_list(caller_environment());
  setup.unusable = devices_.unusable;
  setup.unusable_by_ours = devices_.unusable_by_ours;
  setup.lacking = devices_.lacking;
  setup.attempts.run_dir = run_dir_;
  setup.repeat = budget_.repeat;
  setup.until_fail = options_.until_fail;
  setup.fail_fast = options_.fail_fast;
  setup.deadline = budget_.deadline;
  setup.attempts.inherit_stdio = options_.no_capture || !debugger_.empty();
  setup.attempts.own_program = own_program();
  setup.attempts.evidence_environment = to_list(caller_environment());
  setup.attempts.debugger = debugger_;
  setup.watch_parent = is_ci();
  setup.environment = [this](const Suite& suite, const auto& ids) { return environments_->of(suite, ids); };
  setup.known_failure = [this](const Suite&, const Case& test, const Verdict& verdict) {
    return known_failure(test, verdict);
  };
  return setup;
}

int RunCommand::run() {
  RunModel model;
  EventFanout events;
  RunSetup setup = make_setup();
  const auto display = make_display();
  events.add(*journal_);
  events.add(model);
  events.add(*display);
  journal_->on_lost([&](const Warning& warning) { events.on(warning); });
  output_.on_lost([&](const std::string& why) {
    std::fprintf(stderr, "proctor: failed to write to stdout: %s; the run goes on\n", why.c_str());
    events.on(Warning{"stdout_lost", "failed to write to stdout: " + why + "; the run went on"});
  });
  setup.on_tick = [&] {
    journal_->sync_if_due();
    display->tick();
  };
  setup.warnings = std::move(warnings_);

  {
    std::optional<CommandPause> pause;
    if (setup.attempts.inherit_stdio && in_github_actions() && !options_.workflow_commands) pause.emplace();
    run_plan(setup, events);
  }

  auto rendered = render(model, run_dir_);
  if (rendered && !options_.junit.empty()) rendered = copy_report(run_dir_ + "/junit.xml", options_.junit);
  const int code = shell_exit_code(model);
  display->finish(model, code, rendered);
  if (!rendered) std::fprintf(stderr, "proctor: failed to %s\n", shown(rendered.error().what).c_str());
  output_.on_lost(nullptr);
  release_stop_signals();
  const int signal = ending_signal(model);
  if (signal == 0) return code;

  record_.reset();  // what destructors would do, before the end by signal
  scratch_.reset();
  journal_.reset();
  containment_.reset();
  die_by_signal(signal);
}

void add_run_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("run", "Run suites, or a command after `--`");
  auto options = std::make_shared<RunOptions>();
  add_run_options(*command, *options);
  command->callback([options, &action, &after_dashes] {
    action = [options, &after_dashes] { return RunCommand(*options, after_dashes).execute(); };
  });
}

}  // namespace proctor::cli
