// `proctor slurm run`: a plan, a job array whose tasks run its shards, and one report of them. The scheduler is Slurm;
// Proctor submits, watches and merges.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/report_merge.h"
#include "harness/cli/slurm_accept.h"
#include "harness/cli/slurm_arguments.h"
#include "harness/cli/slurm_client.h"
#include "harness/cli/slurm_plan.h"
#include "harness/cli/slurm_script.h"
#include "harness/cli/slurm_watch.h"
#include "harness/core/count_text.h"
#include "harness/core/exit_code.h"
#include "harness/core/read_file.h"
#include "harness/core/replace_file.h"
#include "harness/core/text.h"
#include "harness/machine/installation.h"
#include "harness/plan/shard.h"
#include "harness/run/record/run_directory.h"
#include "harness/run/schedule/signals.h"
#include "reports/model/exit_code.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kLastLinesLimit{1000};

struct SlurmRequest {
  int shards = 0;  // 0: as many as the plan or the options of sbatch say
  std::string balance{};
  std::string out{};
  bool no_wait = false;
  Words sbatch_options{};
};

// What is known before the job is submitted.
struct Submission {
  RunArguments arguments;
  SlurmArray array;
  RunPlanned planned{};  // of the whole, for the console
};

// ---- The directory ----

Result<std::string> make_array_directory(const std::string& out) {
  const fs::path path = out.empty() ? fs::path("proctor-out") / ("slurm-" + new_run_id()) : fs::path(out);
  if (auto usable = check_run_directory(path.string()); !usable) return usable.error();
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (!error) fs::create_directories(absolute, error);
  if (error) return Error::system("make the directory " + path.string(), error.value());
  return absolute.has_filename() ? absolute.string() : absolute.parent_path().string();
}

// The first that is free: merged, merged-2, ...
std::string place_of_merged(const std::string& directory) {
  std::string place = directory + "/merged";
  std::error_code none;
  for (int number = 2; fs::exists(place, none); ++number)
    place = fmt::format("{}/merged-{}", directory, number);
  return place;
}

Error with_plan_kept(Error error, const SlurmArray& array) {
  const std::string kept = fmt::format("The plan is kept: proctor slurm run --shards {} ... -- --plan {}",
                                       array.shards, shell_quote(plan_of(array)));
  error.hint += (error.hint.empty() ? "" : " ") + kept;
  return error;
}

// ---- The end ----

// The last line of what the task wrote.
std::string last_words(const SlurmArray& array, int shard) {
  std::string text = read_file_or_empty(fmt::format("{}/slurm-{}.out", array.directory, shard));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void tell_lost(const SlurmArray& array, const ArrayWatch& watch, const ShardJournal& journal,
               Console& console) {
  const SlurmTask task = watch.task(journal.index());
  const std::string state = task.state.empty() ? "Slurm knows nothing of it" : "Slurm: " + task.state;
  const std::string place = task.nodes.empty() ? "" : " on " + task.nodes;
  console.say(
      shown(fmt::format("shard {}/{} has no journal ({}{})", journal.index(), array.shards, state, place)));
  if (const std::string words = last_words(array, journal.index()); !words.empty())
    console.say(shown(fmt::format("  {}/slurm-{}.out: {}", array.directory, journal.index(), words)));
}

void tell_rest(const SlurmArray& array, const std::vector<int>& shards, Console& console) {
  console.say("\nTo run what is left, and to merge it:");
  console.say("  " + shown(continue_line(array, shards)));
  console.say("  " + shown(merge_line(array, place_of_merged(array.directory))));
}

// A node is no one's code.
bool lost_its_node(const SlurmTask& task) { return task.state == "NODE_FAIL" || task.state == "BOOT_FAIL"; }

int merge_and_tell(const SlurmArray& array, const ArrayWatch& watch, Console& console) {
  Words directories;
  bool lost_a_node = false;
  for (const ShardJournal& journal : watch.journals()) {
    for (const std::string& name : journal.directories()) directories.push_back(array.directory + "/" + name);
    lost_a_node = lost_a_node || (!journal.is_complete() && lost_its_node(watch.task(journal.index())));
  }
  const auto merged = merge_run_directories(directories, place_of_merged(array.directory));
  if (!merged) return fail(merged.error());
  const int code = shell_exit_code(merged->model);
  const int told = code == kExitIncomplete && lost_a_node ? kExitMachine : code;
  console.move_to(merged->directory);
  console.finish(merged->model, told, {});
  return told;
}

int end_of_watch(const SlurmArray& array, const ArrayWatch& watch, Console& console) {
  std::vector<int> left;
  bool all_began = true;
  for (const ShardJournal& journal : watch.journals()) {
    if (!journal.is_complete()) left.push_back(journal.index());
    if (journal.has_begun()) continue;
    all_began = false;
    tell_lost(array, watch, journal, console);
  }
  const int code = all_began ? merge_and_tell(array, watch, console) : kExitMachine;
  if (!left.empty()) tell_rest(array, left, console);
  return code;
}

// ---- The steps ----

Result<Submission> check_request(const SlurmRequest& request, const AfterDashes& after_dashes) {
  if (auto fits = check_sbatch_options(request.sbatch_options); !fits) return fits.error();
  auto arguments = split_run_arguments(after_dashes.value_or(Words{}));
  if (!arguments) return arguments.error();
  if (arguments->console.output == ShowOutput::kLive)
    return Error::refused("--show-output live cannot be given to the tasks of `proctor slurm run`",
                          "Use --show-output all, or follow one case: proctor log CASE DIR/shard-1 --follow");
  if (!arguments->plan_file.empty() && !request.balance.empty())
    return Error::refused("`--plan` cannot be combined with --balance",
                          "Balance the plan when it is made: proctor plan --shards N --balance FILE -o FILE");
  std::error_code error;
  const std::string start = fs::current_path(error).string();
  if (error) return Error::system("find the current directory", error.value());
  SlurmArray array{.start = start,
                   .proctor = own_program(),
                   .task_arguments = arguments->of_task,
                   .sbatch_options = without_nodes(request.sbatch_options)};
  Submission submission{.arguments = *std::move(arguments), .array = std::move(array)};
  DividedPlan plan;
  if (const std::string& file = submission.arguments.plan_file; !file.empty()) {
    auto read = read_divided_plan(file, start);
    if (!read) return read.error();
    plan = *std::move(read);
  }
  const auto shards = count_shards(request.shards, plan.shards, request.sbatch_options);
  if (!shards) return shards.error();
  submission.array.shards = *shards;
  submission.planned = std::move(plan.cases);
  return submission;
}

// Into the directory of the array; an exit code.
int provide_plan(const SlurmRequest& request, Submission& submission) {
  const std::string file = plan_of(submission.array);
  if (const std::string& typed = submission.arguments.plan_file; !typed.empty()) {
    const auto copied = copy_plan(typed, file);
    return copied ? kExitGreen : fail(copied.error());
  }
  const PlanDivision division{.shards = submission.array.shards, .balance = request.balance};
  const int code = write_divided_plan(submission.arguments, division, file);
  if (code != kExitGreen) return code;
  auto plan = read_divided_plan(file, submission.array.start);
  if (!plan) return fail(plan.error());
  submission.planned = std::move(plan->cases);
  return kExitGreen;
}

void tell_job(const Submission& submission, const SlurmJob& job) {
  const SlurmArray& array = submission.array;
  std::printf("job %s: %s of %s, in %s\n", job.id.c_str(),
              count_text(static_cast<std::size_t>(array.shards), "shard").c_str(),
              count_text(submission.planned.cases.size(), "case").c_str(), shown(array.directory).c_str());
  std::fflush(stdout);
}

int watch_to_the_end(const Submission& submission, const SlurmJob& job) {
  ConsoleOutput output(STDOUT_FILENO);
  ConsoleOptions options = submission.arguments.console;
  options.only_failed = in_ci();
  options.header = false;
  Console console(output, options, submission.array.directory, {}, false);
  console.on(submission.planned);
  ArrayWatch watch(job, submission.array.directory, submission.array.shards, console);
  const int signal = watch.wait();
  const int code = end_of_watch(submission.array, watch, console);
  output.drain(kLastLinesLimit);
  release_stop_signals();
  if (signal != 0) die_by_signal(signal);
  return code;
}

int slurm_run(const SlurmRequest& request, const AfterDashes& after_dashes) {
  auto submission = check_request(request, after_dashes);
  if (!submission) return fail(submission.error());
  SlurmArray& array = submission->array;
  const auto directory = make_array_directory(request.out);
  if (!directory) return fail(directory.error());
  array.directory = *directory;
  if (const int code = provide_plan(request, *submission); code != kExitGreen) {
    std::error_code not_empty;
    fs::remove(array.directory, not_empty);
    return code;
  }
  submission->planned.jobs = array.shards;
  if (auto written = replace_file(script_of(array), script_text(array)); !written)
    return fail(written.error());

  hold_stop_signals();
  ignore_other_signals();
  const auto job = submit_job(sbatch_line(array, fmt::format("1-{}", array.shards)));
  if (!job) return fail(with_plan_kept(job.error(), array));
  tell_job(*submission, *job);
  if (!request.no_wait) return watch_to_the_end(*submission, *job);
  std::printf("when it has ended: %s\n", shown(merge_line(array, place_of_merged(array.directory))).c_str());
  release_stop_signals();
  return kExitGreen;
}

void add_slurm_accept(CLI::App& slurm, Action& action, const AfterDashes& after_dashes) {
  auto* command = slurm.add_subcommand("accept", "Accept or reject each node of the allocation");
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
  command
      ->add_option("--shards", request->shards,
                   "Number of tasks (default: devices per node by --gres or --gpus-per-node, times --nodes)")
      ->type_name("N")
      ->check(from_to(1, kMostShards));
  command
      ->add_option("--balance", request->balance,
                   "Divide the cases evenly by their durations in this history (proctor history)")
      ->type_name("FILE");
  command
      ->add_option("--out", request->out,
                   "Directory of the plan, the shards and the merged run, on a file system that all nodes "
                   "share (default: a new one in proctor-out/)")
      ->type_name("DIR");
  command->add_flag("--no-wait", request->no_wait, "Submit the job, print its id, and return");
  command->footer(
      "Any other option before -- is given to sbatch. After -- are the options and suites of `proctor run`.");
  command->allow_extras();
  command->callback([request, command, &action, &after_dashes] {
    request->sbatch_options = command->remaining();
    action = [request, &after_dashes] { return slurm_run(*request, after_dashes); };
  });
  add_slurm_accept(*slurm, action, after_dashes);
}

}  // namespace proctor::cli
