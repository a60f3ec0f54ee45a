// The command line of `proctor slurm run`, taken apart: what of the run's arguments makes the plan, what each task of
// the array is given, and what the options of sbatch say of the number of shards.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/console/console.h"
#include "harness/core/result.h"
#include "harness/machine/options.h"

namespace proctor::cli {

using Words = std::vector<std::string>;

// What is in a plan (suites, limits, the selection of cases) is not said to the tasks again. What is about a machine,
// as --sim, is said to both.
struct RunArguments {
  Words of_plan{};          // of `proctor plan`, without the word itself
  Words of_task{};          // of `proctor run --plan FILE --shard K/N`
  std::string plan_file{};  // --plan; "": the plan is to be made
  ConsoleOptions console{};
  AfterDashes command{};
};

// Refuses what `proctor run` refuses, and what one task of many cannot be told: --shard, --out, --junit, ...
Result<RunArguments> split_run_arguments(const Words& arguments);

// Refuses what belongs to Proctor (--array, --parsable, --wait, --wrap), and a word that is no value of an option:
// sbatch would take it for the script.
Result<void> check_sbatch_options(const Words& options);

struct ArrayShape {
  int devices = 0;  // per node, by --gres or --gpus-per-node; 0: it is not said
  int nodes = 1;    // --nodes; the larger number of a range
};

ArrayShape shape_of(const Words& sbatch_options);

// A task runs on one node: without --nodes, which has said how many tasks there are.
Words without_nodes(const Words& sbatch_options);

bool has_option(const Words& sbatch_options, const std::string& name);

}  // namespace proctor::cli
