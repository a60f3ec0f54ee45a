// Implements `proctor selftest`: proves that every check can fail, and that every fault of the simulator is caught.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "harness/base/clock.h"
#include "harness/base/held_directory.h"
#include "harness/base/replace_file.h"
#include "harness/cli/caller_signals.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/console_output.h"
#include "harness/cli/console/messages.h"
#include "harness/frameworks/kind.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/sim_faults.h"
#include "harness/request/suite_arguments.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/program_needs.h"
#include "harness/runner/record/dead_runs.h"
#include "harness/runner/record/run_directory.h"
#include "harness/runner/record/run_record.h"
#include "harness/runner/schedule/describe_plan.h"
#include "harness/selftest/row_runner.h"
#include "harness/selftest/selftest_summary.h"

namespace proctor::cli {
namespace {

constexpr const char* kExemptionsFile = "selftest_exemptions.toml";
constexpr Milliseconds kSweepOfRows{1'000};
const std::vector<std::string> kArguments = {"size", "seed"};

// The default simulated machine of each row. It has a card for each rank of any check.
const char* default_topology(const std::string& backend) { return backend == "cuda" ? "cuda:5" : "xpu:4x2"; }

struct SelftestOptions {
  std::string backend = "xpu";
  MachineOptions machine;
  PlanOptions plan;
  std::vector<std::string> suite_arguments{};
  MatrixOptions matrix;
  bool quick = false;
  int jobs = 0;
  std::string out;
};

class SelftestCommand {
 public:
  explicit SelftestCommand(SelftestOptions options) : options_(std::move(options)), output_(STDOUT_FILENO) {}

  int execute();

 private:
  Result<void> check();
  Result<void> prepare();
  Result<void> check_listed_faults() const;
  Result<void> set_up_directory();
  Result<std::vector<std::string>> environment_of(const Case& test, const SimSession& session, int rank);
  void keep_record_of(const std::vector<LeakedProcess>& left);
  int run();
  void show_progress(const SelftestRow& row, const SelftestResult& result);

  SelftestOptions options_;
  ConsoleOutput output_;
  std::vector<Exemption> exemptions_;
  SelftestInfo info_;
  std::unique_ptr<Machine> machine_;
  Plan plan_;
  SelftestMatrix matrix_;
  FoundDevices devices_;
  std::string out_;
  std::optional<RunRecordFiles> record_;
  bool narrowed_ = false;  // only some suites were selected
  std::size_t done_ = 0;
};

int SelftestCommand::execute() {
  ignore_other_signals();
  if (auto checked = check(); !checked) return fail(checked.error());
  if (auto prepared = prepare(); !prepared) return fail(prepared.error());
  if (auto set_up = set_up_directory(); !set_up) return fail(set_up.error());
  return run();
}

// Checks everything that can be refused before any process starts.
Result<void> SelftestCommand::check() {
  if (auto completed = complete(options_.plan.config); !completed) return completed;
  if (auto read = read_suite_arguments(options_.suite_arguments, kArguments, options_.plan.extent,
                                       options_.plan.provider);
      !read)
    return read;
  const std::string& backend = options_.backend;
  if (backend != "xpu" && backend != "cuda") {
    return Error::refused("--backend must be xpu or cuda for the self-test (got " + backend + ")");
  }
  options_.plan.selection.backend = backend;
  if (options_.machine.sim.empty()) options_.machine.sim = default_topology(backend);
  narrowed_ = !options_.plan.selection.suites.empty();
  // A configuration in this directory would otherwise replace the built-in suites by its own.
  if (!narrowed_) {
    for (const auto& suite : Installation().builtin_suites()) {
      if (to_string(suite.backend) == backend) options_.plan.selection.suites.push_back(suite.name);
    }
    if (options_.plan.selection.suites.empty()) {
      return Error{
          ErrorKind::kSystem, "find Proctor's suites for " + backend + ": they are not built here", {}, 0};
    }
  }
  info_.id = new_run_id();
  auto machine = Machine::open(options_.machine, info_.id);
  if (!machine) return machine.error();
  machine_ = std::move(*machine);
  const auto& simulation = machine_->simulation();
  if (simulation->driver.kind != SimDriverKind::kSimgpu || !simulation->state.empty()) {
    return Error::refused("--sim " + options_.machine.sim + " is not valid for the self-test",
                          "Give only the devices: each row has simulated devices of its own.");
  }
  const char* faults = std::getenv(kSimFaultsVariable);
  if (faults != nullptr && *faults != '\0') {
    return Error::refused(
        std::string(kSimFaultsVariable) + " must not be set: the self-test chooses the faults",
        "Unset it, and select a fault with --fault NAME.");
  }
  const std::string file = Installation().shared_file(kExemptionsFile);
  if (file.empty())
    return Error::refused(std::string("The installation has no share/proctor/") + kExemptionsFile);
  auto exemptions = load_exemptions(file);
  if (!exemptions) return exemptions.error();
  exemptions_ = exemptions_of(backend, *exemptions);
  return check_run_directory(options_.out);
}

Result<void> SelftestCommand::prepare() {
  for (auto& sentence : sweep_dead_runs()) {
    std::fprintf(stderr, "proctor: warning: %s\n", shown(sentence).c_str());
  }
  for (const Error& error : sweep_held_directories().failed) {
    std::fprintf(stderr, "proctor: warning: left by a killed run: failed to %s\n", shown(error.what).c_str());
  }
  auto outcome = discover_plan(options_.plan, *machine_);
  if (!outcome) return outcome.error();
  plan_ = std::move(outcome->plan);
  // Suites of other kinds declare no faults.
  std::erase_if(plan_.cases, [&](const Case& test) { return !plan_.suites[test.suite].kind->ours(); });
  auto matrix = make_matrix(plan_, fault_catalogue(options_.backend), options_.matrix);
  if (!matrix) return matrix.error();
  matrix_ = std::move(*matrix);
  // If only some suites were selected, faults that only other suites declare need not be caught.
  matrix_.partial = matrix_.partial || narrowed_;
  if (auto checked = check_listed_faults(); !checked) return checked;
  auto devices = machine_->devices(backends_of(plan_));
  if (!devices) return devices.error();
  devices_ = std::move(*devices);
  if (const auto lacks = devices_.unusable.find(options_.backend); lacks != devices_.unusable.end()) {
    return Error{ErrorKind::kSystem, "use the simulator: " + lacks->second, {}, 0};
  }
  if (devices_.pool.empty()) {
    return Error{ErrorKind::kSystem,
                 "use the simulator: " +
                     (devices_.warnings.empty() ? "it has no device" : devices_.warnings.front().text),
                 {},
                 0};
  }
  use_cuda_runtime(devices_.cuda_runtime, Installation().directory(), plan_);
  return {};
}

Result<void> SelftestCommand::check_listed_faults() const {
  for (const auto& row : matrix_.rows) {
    if (row.fault.empty()) continue;
    auto checked = check_sim_faults(row.fault, &machine_->simulation()->topology);
    if (checked) continue;
    Error error = checked.error();
    error.what = "plan the self-test: " + matrix_.checks[row.check].id + ": " + error.what;
    return error;
  }
  return {};
}

Result<void> SelftestCommand::set_up_directory() {
  const auto containment = machine_->containment();
  if (!containment) return containment.error();
  const auto scratch = machine_->scratch();
  if (!scratch) return scratch.error();
  auto directory = create_run_directory(options_.out, info_.id);
  if (!directory) return directory.error();
  out_ = std::move(*directory);
  auto record = RunRecordFiles::write(
      describe_this_run(info_.id, out_, (*containment)->run_cgroup(), (*scratch)->paths()));
  if (!record) return record.error();
  record_.emplace(std::move(*record));
  info_.started = utc_now();
  info_.backend = options_.backend;
  info_.topology = machine_->simulation()->topology.name;
  info_.mode = options_.matrix.full ? "full" : "quick";
  return {};
}

// Each row has its own machine, so no row waits for a device of another row.
Result<std::vector<std::string>> SelftestCommand::environment_of(const Case& test, const SimSession& session,
                                                                 int rank) {
  const auto all = static_cast<std::size_t>(std::max(test.devices, 0));
  if (all > devices_.pool.size()) {
    return Error::refused(test.id + " needs " + std::to_string(all) + " devices, more than --sim " +
                          machine_->simulation()->topology.name + " has");
  }
  std::vector<std::string> ids;
  const auto each = all / static_cast<std::size_t>(std::max(test.ranks, 1));
  const auto first = each * static_cast<std::size_t>(rank);
  for (std::size_t i = first; i < first + each; ++i) ids.push_back(devices_.pool[i].device.id);
  auto environments = machine_->environments(devices_, options_.plan.extent, session);
  if (!environments) return environments.error();
  auto environment = environments->of(plan_.suites[test.suite], ids);
  return environment ? Result(std::move(environment->variables)) : environment.error();
}

// Prints the progress, only on a terminal. A log has the table at the end.
void SelftestCommand::show_progress(const SelftestRow& row, const SelftestResult& result) {
  ++done_;
  if (!output_.is_smart()) return;
  output_.write("\r\x1b[K" + std::to_string(done_) + "/" + std::to_string(matrix_.rows.size()) + "  " +
                plan_.cases[result.test].id + (row.fault.empty() ? "" : "  " + row.fault));
}

// Records processes that could not be ended, so that `finish` or the next run tries again.
void SelftestCommand::keep_record_of(const std::vector<LeakedProcess>& left) {
  if (left.empty()) return;
  std::vector<int> pids;
  for (const LeakedProcess& leaked : left) {
    pids.push_back(leaked.pid);
    std::fprintf(stderr, "proctor: warning: process %d (%s) could not be ended\n", leaked.pid,
                 shown(leaked.command).c_str());
  }
  if (auto kept = record_->keep(pids); !kept)
    std::fprintf(stderr, "proctor: warning: failed to %s\n", shown(kept.error().what).c_str());
}

int SelftestCommand::run() {
  const auto containment = machine_->containment();
  if (!containment) return fail(containment.error());
  const auto scratch = machine_->scratch();
  if (!scratch) return fail(scratch.error());
  RowRunnerSetup setup;
  setup.plan = &plan_;
  setup.containment = *containment;
  setup.scratch = *scratch;
  setup.environment = [this](const Case& test, const SimSession& session, int rank) {
    return environment_of(test, session, rank);
  };
  setup.rank_supervisor = Installation().program();
  setup.out = out_;
  setup.jobs = options_.jobs > 0 ? options_.jobs : usable_cores();
  setup.on_result = [this](const SelftestRow& row, const SelftestResult& result) {
    show_progress(row, result);
  };
  const auto started = Clock::now();
  const auto results = run_rows(setup, matrix_.rows);
  info_.duration_ms = std::chrono::duration_cast<Milliseconds>(Clock::now() - started).count();
  keep_record_of((*containment)->end_rest(kSweepOfRows));

  const SelftestSummary summary = summarise(plan_, matrix_, results, exemptions_);
  if (output_.is_smart()) output_.write("\r\x1b[K");
  output_.write(selftest_table(plan_, matrix_, results));
  output_.write(selftest_words(summary));
  const std::string file = out_ + "/selftest.json";
  const auto written = replace_file(file, selftest_json(info_, plan_, matrix_, results, summary));
  output_.write(std::to_string(matrix_.rows.size()) + " rows in " +
                format_duration(Milliseconds{info_.duration_ms}) + ", " + file + "\n");
  output_.drain(Milliseconds{2'000});
  if (!written) return fail(written.error());
  return summary.problems.empty() ? kExitGreen : kExitRed;
}

}  // namespace

void add_selftest_command(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("selftest",
                         "Check that every built-in test fails under the faults that it must detect")
          ->group("");
  auto options = std::make_shared<SelftestOptions>();
  command->add_option("--backend", options->backend, "Backend to simulate: xpu (default) or cuda")
      ->type_name("BACKEND");
  command->add_option("--suite", options->plan.selection.suites, "Check only this suite; repeatable")
      ->type_name("SUITE")
      ->allow_extra_args(false);
  command
      ->add_option("--fault", options->matrix.fault, "Inject only this fault, into every test that lists it")
      ->type_name("FAULT");
  command
      ->add_option(
          "--check", options->matrix.check,
          "Check only this test (SUITE.BACKEND/Group.Name or Group.Name), under every fault that it lists")
      ->type_name("ID");
  auto* quick = command->add_flag("--quick", options->quick,
                                  "Use the cheapest fault of each test, and each fault once (default)");
  command->add_flag("--full", options->matrix.full, "Use every fault that each test lists, and more")
      ->excludes(quick);
  command
      ->add_option("--sim", options->machine.sim,
                   "Simulated devices of each row (default: xpu:4x2 or cuda:5)")
      ->type_name("DEVICES");
  add_suite_arguments(*command, options->suite_arguments, kArguments);
  command
      ->add_option("--config", options->plan.config.config_file, "Configuration file (default: proctor.toml)")
      ->type_name("FILE");
  command
      ->add_option("--containment", options->machine.containment,
                   "Containment layer of each row (default: auto)")
      ->type_name("LAYER");
  command->add_option("--jobs,-j", options->jobs, "Rows to run at once")
      ->type_name("N")
      ->check(from_to(1, 10'000));
  command->add_option("--out", options->out, "Directory for selftest.json and logs, new or empty")
      ->type_name("DIR");
  command->callback(
      [options, &action] { action = [options] { return SelftestCommand(*options).execute(); }; });
}

}  // namespace proctor::cli
