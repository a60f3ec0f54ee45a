// Implements `proctor slurm run`: a job array whose tasks run the shards of a plan, with one merged report. Slurm
// schedules the tasks; Proctor submits, watches and merges.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/named_file.h"
#include "harness/base/number_text.h"
#include "harness/base/outside_program.h"
#include "harness/base/read_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/cli/caller_signals.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/report_merge.h"
#include "harness/cli/shared_options.h"
#include "harness/cli/slurm_client.h"
#include "harness/cli/slurm_script.h"
#include "harness/cli/slurm_watch.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/shard.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_directory.h"
#include "reports/accept/accept_nodes.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

// Implements `proctor slurm accept`: runs `proctor accept` on every node of an allocation and compares the nodes.

struct SlurmAcceptRequest {
  std::string out{};  // --out; "": a new directory in proctor-out/
  std::vector<std::string> srun_options{};
};

namespace fs = std::filesystem;
constexpr const char* kPackage = "slurm-client";
constexpr Milliseconds kQuestion{30'000};
constexpr Milliseconds kLongestStep{31LL * 24 *
                                    3'600'000};  // no limit of its own: Slurm enforces the limit of the job

// Returns the node names of the allocation.
Result<Words> nodes_of_job() {
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  if (!own_slurm_job() || list == nullptr || *list == '\0') {
    return Error::refused("`proctor slurm accept` must run in a Slurm job",
                          "For example: salloc --nodes=4 --exclusive proctor slurm accept");
  }
  const auto done = run_outside_program(
      {.argv = {"scontrol", "show", "hostnames", list}, .package = kPackage, .time = kQuestion});
  if (!done) return done.error();
  Words names;
  std::istringstream lines(done->output);
  for (std::string name; lines >> name;) names.push_back(name);
  if (names.empty())
    return Error{
        ErrorKind::kSystem, fmt::format("list the nodes of the job: {}", one_line(done->errors, 200)), {}, 0};
  return names;
}

Result<std::string> make_directory(const std::string& out) {
  const fs::path path = out.empty() ? fs::path("proctor-out") / ("accept-" + new_run_id()) : fs::path(out);
  if (auto usable = check_run_directory(path.string()); !usable) return usable.error();
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (!error) fs::create_directories(absolute, error);
  if (error) return Error::system("make the directory " + path.string(), error.value());
  return absolute.string();
}

// Starts one task on each node. A failing task does not end the others.
Words srun_line(const SlurmAcceptRequest& request, const Words& nodes, const std::string& directory,
                const Words& accept) {
  Words line = {"srun",
                fmt::format("--nodes={}", nodes.size()),
                "--ntasks-per-node=1",
                "--kill-on-bad-exit=0",
                "--wait=0",
                "--output=" + directory + "/%N.out",
                "--error=" + directory + "/%N.out"};
  line.insert(line.end(), request.srun_options.begin(), request.srun_options.end());
  line.insert(line.end(), {Installation().program(), "accept", "--out", directory + "/%N", "--json",
                           directory + "/%N.json"});
  line.insert(line.end(), accept.begin(), accept.end());
  return line;
}

AcceptedNode node_of(const std::string& name, const std::string& directory) {
  const std::string file = directory + "/" + name + ".json";
  const auto text = read_file(file);
  if (!text) {
    std::string said = read_file_or_empty(directory + "/" + name + ".out");
    while (!said.empty() && said.back() == '\n') said.pop_back();
    const std::string last = said.substr(said.rfind('\n') + 1);
    return {.name = name,
            .reason = "it returned no verdict" + (last.empty() ? "" : ": " + one_line(last, 160))};
  }
  auto node = read_accepted_node(name, *text);
  return node ? *std::move(node) : AcceptedNode{.name = name, .reason = "failed to " + node.error().what};
}

int print_verdicts(std::vector<AcceptedNode> nodes, const std::string& directory) {
  compare_nodes(nodes);
  std::vector<TextRow> rows;
  RunVerdict worst = RunVerdict::kPassed;
  for (const AcceptedNode& node : nodes) {
    rows.push_back({node.name, count_text(static_cast<std::size_t>(node.devices), "device"),
                    describe(node.verdict), clean_text(node.reason)});
    worst = std::max(worst, node.verdict);
  }
  std::printf("%s\n",
              shown(text_table({"NODE", "DEVICES", "VERDICT", "REASON"}, rows, columns_of_stdout())).c_str());
  std::printf("not proven: the fabric between the nodes\n");
  std::printf("reports: %s\n", shown(directory).c_str());
  if (const std::string option = exclude_option(nodes); !option.empty())
    std::printf("to leave out what did not pass: %s\n", shown(option).c_str());
  std::printf("%s: exit %d\n", headline(worst).c_str(), exit_code_of(worst));
  return said_all(exit_code_of(worst), "the verdicts");
}

int slurm_accept(const SlurmAcceptRequest& request, const AfterDashes& after_dashes) {
  const auto nodes = nodes_of_job();
  if (!nodes) return fail(nodes.error());
  const auto directory = make_directory(request.out);
  if (!directory) return fail(directory.error());
  std::printf("%s, each tested by itself, in %s\n", count_text(nodes->size(), "node").c_str(),
              shown(*directory).c_str());
  std::fflush(stdout);
  const auto done =
      run_outside_program({.argv = srun_line(request, *nodes, *directory, after_dashes.value_or(Words{})),
                           .package = kPackage,
                           .time = kLongestStep});
  if (!done) return fail(done.error());
  if (!done->errors.empty()) std::fprintf(stderr, "%s\n", shown(done->errors).c_str());
  std::vector<AcceptedNode> judged;
  for (const std::string& name : *nodes) judged.push_back(node_of(name, *directory));
  return print_verdicts(std::move(judged), *directory);
}

namespace fs = std::filesystem;

constexpr Milliseconds kLastLinesLimit{1000};

struct SlurmRequest {
  std::string plan{};
  int shards = 0;  // 0: the number for which the plan is balanced
  std::string out{};
  bool no_wait = false;
  Words sbatch_options{};
};

// ---- End ----

// Returns the first free directory: merged, merged-2, ...
std::string place_of_merged(const std::string& directory) {
  std::string place = directory + "/merged";
  std::error_code none;
  for (int number = 2; fs::exists(place, none); ++number)
    place = fmt::format("{}/merged-{}", directory, number);
  return place;
}

// Returns the last line of the task's output.
std::string last_words(const SlurmArray& array, int shard) {
  std::string text = read_file_or_empty(fmt::format("{}/slurm-{}.out", array.directory, shard));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void report_lost(const SlurmArray& array, const SlurmTask& task, int shard, bool has_journal) {
  const std::string state = task.state.empty() ? "Slurm has no record of it" : "Slurm: " + task.state;
  const std::string place = task.nodes.empty() ? "" : " on " + task.nodes;
  std::printf("%s\n", shown(fmt::format("shard {}/{} has no {}journal ({}{})", shard, array.shards,
                                        has_journal ? "readable " : "", state, place))
                          .c_str());
  if (const std::string words = last_words(array, shard); !words.empty())
    std::printf("%s\n", shown(fmt::format("  {}/slurm-{}.out: {}", array.directory, shard, words)).c_str());
}

// Returns true for a failure of the node, which is not a failure of the code.
bool lost_its_node(const SlurmTask& task) { return task.state == "NODE_FAIL" || task.state == "BOOT_FAIL"; }

int merge_and_report(const SlurmArray& array, const Words& directories, bool lost_a_node) {
  const auto merged = merge_run_directories(directories, place_of_merged(array.directory));
  if (!merged) return fail(merged.error());
  const int code = merged->run.shell_exit_code;
  const int reported = code == kExitIncomplete && lost_a_node ? kExitMachine : code;
  std::fflush(stdout);
  ConsoleOutput output(STDOUT_FILENO);
  Console(output, {.header = false}, merged->directory, {}, true).finish(merged->run, reported, {});
  output.drain(kLastLinesLimit);
  return reported;
}

int end_of_array(const SlurmArray& array, const ArrayWatch& watch) {
  Words directories;
  std::vector<int> left;
  bool all_began = true;
  bool lost_a_node = false;
  for (int shard = 1; shard <= array.shards; ++shard) {
    const ShardRuns runs = read_shard(array.directory, shard);
    directories.insert(directories.end(), runs.directories.begin(), runs.directories.end());
    if (runs.is_complete) continue;
    left.push_back(shard);
    lost_a_node = lost_a_node || lost_its_node(watch.task(shard));
    for (const std::string& why : runs.unreadable)
      std::printf("%s\n", shown(fmt::format("shard {}/{}: {}", shard, array.shards, why)).c_str());
    if (!runs.directories.empty()) continue;
    all_began = false;
    report_lost(array, watch.task(shard), shard, !runs.unreadable.empty());
  }
  const int code = all_began ? merge_and_report(array, directories, lost_a_node) : kExitMachine;
  if (!left.empty())
    std::printf("\nTo run the remaining cases, and to merge them:\n  %s\n  %s\n",
                shown(continue_line(array, left)).c_str(),
                shown(merge_line(array, place_of_merged(array.directory))).c_str());
  return code;
}

// ---- Steps ----

// Creates the directory of the array. Returns false if an empty one existed.
Result<bool> make_directory(SlurmArray& array, const std::string& out) {
  const fs::path path = out.empty() ? fs::path("proctor-out") / ("slurm-" + new_run_id()) : fs::path(out);
  if (auto usable = check_run_directory(path.string()); !usable) return usable.error();
  std::error_code error;
  const fs::path absolute = (fs::absolute(path, error) / "").lexically_normal().parent_path();
  const bool made = !error && fs::create_directories(absolute, error);
  if (error) return Error::system("make the directory " + path.string(), error.value());
  array.directory = absolute.string();
  return made;
}

// Writes all files that the tasks need, and submits the tasks.
Result<SlurmJob, SubmitError> submit(const SlurmArray& array, const std::string& plan) {
  if (auto written = replace_file(plan_of(array), plan); !written) return SubmitError{written.error()};
  if (auto written = replace_file(script_of(array), script_text(array)); !written)
    return SubmitError{written.error()};
  return submit_job(sbatch_line(array, fmt::format("1-{}", array.shards)));
}

// Removes the files unless a job may need them, so that the user can repeat the same command.
int fail_to_submit(const SubmitError& failure, const SlurmArray& array, bool made_directory) {
  Error error = failure.error;
  std::error_code none;
  if (failure.may_run) {
    error.hint = fmt::format("Run `squeue --me` to see whether there is a job. If there is none, remove {}.",
                             array.directory);
  } else {
    for (const std::string& file : {plan_of(array), script_of(array)}) fs::remove(file, none);
    if (made_directory) fs::remove(array.directory, none);
  }
  return fail(error);
}

Result<int> count_shards(int typed, int balanced) {
  if (balanced > 0 && typed > 0 && typed != balanced)
    return Error::refused(fmt::format("--shards {}: the plan is balanced for {} shards", typed, balanced),
                          "Leave --shards out, or make another plan.");
  if (balanced > 0 || typed > 0) return balanced > 0 ? balanced : typed;
  return Error::refused("The number of shards is not known", "Give it with --shards N.");
}

int watch_to_the_end(const SlurmArray& array, const SlurmJob& job) {
  ArrayWatch watch(job, array.directory, array.shards);
  const int signal = watch.wait();
  const int code = end_of_array(array, watch);
  std::fflush(stdout);
  release_stop_signals();
  if (signal != 0) die_by_signal(signal);
  return code;
}

int slurm_run(const SlurmRequest& request, const Words& task_arguments) {
  if (auto fits = check_sbatch_options(request.sbatch_options); !fits) return fail(fits.error());
  if (auto fits = check_task_arguments(task_arguments); !fits) return fail(fits.error());
  std::error_code error;
  const std::string start = fs::current_path(error).string();
  if (error) return fail(Error::system("find the current directory", error.value()));
  const auto text = read_typed_file(request.plan, kMostPlanFile);
  if (!text) return fail(text.error());
  const auto plan = parse_plan_file(*text, request.plan, Installation().plan_directories(start));
  if (!plan) return fail(plan.error());
  const auto shards = count_shards(request.shards, plan->plan.shards);
  if (!shards) return fail(shards.error());
  SlurmArray array{.start = start,
                   .proctor = Installation().program(),
                   .shards = *shards,
                   .task_arguments = task_arguments,
                   .sbatch_options = request.sbatch_options};
  if (auto found = find_slurm(); !found) return fail(found.error());
  const auto made = make_directory(array, request.out);
  if (!made) return fail(made.error());

  hold_stop_signals();
  ignore_other_signals();
  const auto job = submit(array, *text);
  if (!job) return fail_to_submit(job.error(), array, *made);
  std::printf("job %s: %s of %s, in %s\n", job->id.c_str(),
              count_text(static_cast<std::size_t>(array.shards), "shard").c_str(),
              count_text(plan->plan.cases.size(), "case").c_str(), shown(array.directory).c_str());
  std::fflush(stdout);
  if (!request.no_wait) return watch_to_the_end(array, *job);
  std::printf("when it has ended: %s\n", shown(merge_line(array, place_of_merged(array.directory))).c_str());
  release_stop_signals();
  return kExitGreen;
}

void add_slurm_accept(CLI::App& slurm, Action& action, const AfterDashes& after_dashes) {
  auto* command =
      slurm.add_subcommand("accept", "Test each node of the allocation for acceptance")->group("");
  auto request = std::make_shared<SlurmAcceptRequest>();
  command
      ->add_option(
          "--out", request->out,
          "Directory of the reports of all nodes, on a file system that they share (default: a new one in "
          "proctor-out/)")
      ->type_name("DIR");
  command->footer(
      "Any other option before -- is given to srun. After -- are the options of `proctor accept`.");
  command->allow_extras();
  command->callback([request, command, &action, &after_dashes] {
    request->srun_options = command->remaining();
    action = [request, &after_dashes] { return slurm_accept(*request, after_dashes); };
  });
}

}  // namespace

void add_slurm_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* slurm = app.add_subcommand("slurm", "Run a plan on a Slurm cluster, or judge its nodes");
  slurm->require_subcommand(1);
  auto* command =
      slurm->add_subcommand("run", "Run a plan as a Slurm job array, and merge the reports of its tasks");
  auto request = std::make_shared<SlurmRequest>();
  command->add_option("--plan", request->plan, "Plan, which `proctor plan -o FILE` writes (required)")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--shards", request->shards,
                   "Number of tasks (default: the number for which the plan is balanced)")
      ->type_name("N")
      ->check(from_to(1, kMostShards));
  command
      ->add_option("--out", request->out,
                   "Directory of the plan, the shards and the merged run, on a file system that all nodes "
                   "share (default: a new one in proctor-out/)")
      ->type_name("DIR");
  command->add_flag("--no-wait", request->no_wait, "Submit the job, print its id, and return");
  command->footer(
      "Any other option before -- is given to sbatch. After -- are options of `proctor run` for each task.");
  command->allow_extras();
  command->callback([request, command, &action, &after_dashes] {
    request->sbatch_options = command->remaining();
    action = [request, &after_dashes] { return slurm_run(*request, after_dashes.value_or(Words{})); };
  });
  add_slurm_accept(*slurm, action, after_dashes);
}

}  // namespace proctor::cli
