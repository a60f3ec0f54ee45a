// Implements `proctor dump RUN_DIR`: shows what the cases of a live run are doing. It collects the evidence that is
// also collected before a limit ends a case. The run is not disturbed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "harness/base/clock.h"
#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/journal/child_protocol.h"
#include "harness/journal/containment_layer.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/process/evidence/gatherer.h"
#include "harness/process/guard/tree.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/record/find_runner.h"
#include "harness/runner/record/run_record.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

// A process tree of the run: its guard, and the case that it currently runs.
struct Tree {
  int guard = 0;
  std::string log;      // log of the attempt, relative to the run directory
  std::string case_id;  // "": a process for several cases that has begun none
  std::vector<std::string> devices;
  std::string file;  // relative to the run directory
  Gathered found;
};

std::string proc_text(int pid, const char* file) {
  auto text = read_file(fmt::format("/proc/{}/{}", pid, file));
  return text ? *std::move(text) : "";
}

// Returns the process whose environment identifies the tree. It is the guard and not the case, because reading the
// environment of a stuck process may block (proc(5)). The guard was started with the same environment. If an ordinary
// user cannot read the guard's environment (a guard is not dumpable), the leader is used.
int who_answers(int guard) {
  if (read_file(fmt::format("/proc/{}/environ", guard))) return guard;
  const auto children = guard::descendants(guard);
  return children.empty() ? guard : *children.begin();
}

std::string variable_of(int pid, std::string_view name) {
  const std::string wanted = '\0' + std::string(name) + '=';
  const std::string all = '\0' + proc_text(pid, "environ");
  const std::size_t at = all.find(wanted);
  if (at == all.npos) return "";
  const std::size_t begin = at + wanted.size();
  return all.substr(begin, all.find('\0', begin) - begin);
}

bool is_child_of(int pid, int parent) {
  const std::string stat = proc_text(pid, "stat");
  const std::size_t after_name = stat.rfind(") ");
  return after_name != stat.npos && std::atoi(stat.c_str() + after_name + 4) == parent;
}

std::vector<const ResolvedCase*> running_cases(const ResolvedRun& run) {
  std::vector<const ResolvedCase*> running;
  for (const ResolvedCase& test : run.cases) {
    if (!test.attempts.empty() && !test.attempts.back().end) running.push_back(&test);
  }
  return running;
}

// The name follows the log of the attempt. A process for several cases that has begun none has no log yet.
std::string dump_file(const Tree& tree) {
  std::string stem = tree.log.starts_with("logs/") ? tree.log.substr(5) : "process.log";
  stem.resize(stem.rfind('.'));
  return fmt::format("evidence/{}.dump-{}.txt", stem, tree.guard);
}

void describe(Tree& tree, const ResolvedCase& test) {
  tree.case_id = test.planned.id;
  tree.log = test.attempts.back().start.log;
  tree.devices = test.attempts.back().start.devices;
}

// Finds the runner's children that are guards of cases. The runner's helpers do not have the run directory in their
// environment.
std::vector<Tree> find_trees(const RunRecord& record, const ResolvedRun& run) {
  std::vector<const ResolvedCase*> running = running_cases(run);
  std::vector<Tree> trees;
  for (const int pid : guard::descendants(record.pid)) {
    if (!is_child_of(pid, record.pid)) continue;
    const int speaker = who_answers(pid);
    if (variable_of(speaker, child::kRunDirVariable) != record.run_dir) continue;
    Tree tree{.guard = pid, .log = {}, .case_id = {}, .devices = {}, .file = {}, .found = {}};
    const std::string id = variable_of(speaker, child::kCaseVariable);
    const auto known = std::find_if(running.begin(), running.end(),
                                    [&](const ResolvedCase* test) { return test->planned.id == id; });
    if (known != running.end()) {
      describe(tree, **known);
      running.erase(known);
    }
    trees.push_back(std::move(tree));
  }
  // A process for several cases has no case id. It runs the only case that no other process runs.
  const auto shared = [](const Tree& tree) { return tree.case_id.empty(); };
  if (running.size() == 1 && std::count_if(trees.begin(), trees.end(), shared) == 1)
    describe(*std::find_if(trees.begin(), trees.end(), shared), *running.front());
  for (Tree& tree : trees) tree.file = dump_file(tree);
  return trees;
}

// Inspects all trees at once, so that the time is that of the slowest.
void inspect_trees(std::vector<Tree>& trees, const std::string& run_dir, Containment& tools) {
  boost::asio::io_context io;
  std::vector<std::shared_ptr<ContainedProcess>> gathering;
  for (Tree& tree : trees) {
    const GatherRequest request{.program = own_program(),
                                .guard = tree.guard,
                                .devices = tree.devices,
                                .file = run_dir + "/" + tree.file,
                                .environment = to_list(caller_environment())};
    gathering.push_back(
        gather_evidence(io, tools, request, [&tree](Gathered found) { tree.found = std::move(found); }));
  }
  io.run();
}

void print(const Tree& tree, const std::string& run_dir) {
  std::printf("%s\n", shown(tree.case_id.empty() ? "a process for several cases" : tree.case_id).c_str());
  for (const std::string& line : tree.found.digest.lines) std::printf("  %s\n", shown(line).c_str());
  if (!tree.found.problem.empty()) std::printf("  this %s\n", shown(tree.found.problem).c_str());
  std::printf("  all of it: %s/%s\n", shown(run_dir).c_str(), tree.file.c_str());
}

// Returns the run's record if its runner is alive and visible here.
Result<RunRecord> living_run(const std::string& run_dir) {
  const auto record = read_run_record(run_dir);
  if (!record) return record.error();
  std::error_code unreadable;
  if (!std::filesystem::exists(run_dir + "/journal.jsonl", unreadable)) {
    return Error::refused(run_dir + " is not a Proctor run directory",
                          "Give the directory of --out, or proctor-out/latest.");
  }
  if (!*record) {
    return Error::refused("The run in " + run_dir + " has ended",
                          "The evidence of its cases is in report.json.");
  }
  const RunnerStatus status = examine_runner(**record);
  if (status.state == RunnerState::kEnded) {
    return Error::refused(
        "The runner of " + run_dir + " has ended without finishing the run",
        "Run `proctor finish " + run_dir + "` to stop its remaining processes and write its reports.");
  }
  if (status.state == RunnerState::kUnknown) {
    return Error::refused("The runner of " + run_dir + " cannot be checked from here: " + status.why,
                          "Run this command where the run was started, on " + (*record)->host + ".");
  }
  const auto runner = find_runner(**record);
  if (!runner || runner->pid() != (*record)->pid) {
    return Error::refused(
        "The runner of " + run_dir + " is in another PID namespace, or /proc does not show it",
        "Run this command in the same container.");
  }
  return **record;
}

int dump(const std::string& run_dir) {
  const auto record = living_run(run_dir);
  if (!record) return fail(record.error());
  const auto run = load_run(record->run_dir);
  if (!run) return fail(run.error());
  const auto machine = Machine::open({.containment = std::string(to_string(Layer::kSubreaper))}, "dump");
  if (!machine) return fail(machine.error());
  const auto tools = (*machine)->containment();
  if (!tools) return fail(tools.error());
  auto trees = find_trees(*record, *run);
  inspect_trees(trees, record->run_dir, **tools);
  for (const Tree& tree : trees) print(tree, record->run_dir);
  if (trees.empty()) std::printf("no case runs at this moment\n");
  return kExitGreen;
}

}  // namespace

void add_dump_command(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("dump", "Show the state of the running cases: stacks, processes, devices")
          ->group("");
  auto run_dir = std::make_shared<std::string>("proctor-out/latest");
  command->add_option("run_dir", *run_dir, "Run directory (default: proctor-out/latest)")
      ->type_name("RUN_DIR");
  command->callback([run_dir, &action] { action = [run_dir] { return dump(*run_dir); }; });
}

}  // namespace proctor::cli
