#include "harness/cli/slurm_plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/usage_errors.h"
#include "harness/core/named_file.h"
#include "harness/core/replace_file.h"
#include "harness/machine/installation.h"
#include "harness/plan/kinds/kind.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/shard.h"

namespace proctor::cli {
namespace {

Result<std::string> text_of_plan(const std::string& file) {
  auto text = read_typed_file(file, kMostPlanFile);
  if (text) return text;
  return Error::refused("--plan " + file + ": " + text.error().message(),
                        "Make it with `proctor plan -o FILE`.");
}

RunPlanned cases_of_plan(const Plan& plan) {
  RunPlanned planned;
  for (const Case& test : plan.cases) {
    const Suite& suite = plan.suites[test.suite];
    PlannedCase& known = planned.cases.emplace_back();
    known.id = test.id;
    known.suite = suite.name;
    known.backend = to_string(suite.backend);
    known.kind = suite.kind->name();
    known.timeout_ms = test.policy.timeout.value_or(Milliseconds(0)).count();
  }
  return planned;
}

}  // namespace

Result<DividedPlan> read_divided_plan(const std::string& file, const std::string& start) {
  const auto text = text_of_plan(file);
  if (!text) return text.error();
  const auto read = parse_plan_file(*text, file, plan_directories(start));
  if (!read) return read.error();
  return DividedPlan{.cases = cases_of_plan(read->plan), .shards = read->plan.shards};
}

int write_divided_plan(const RunArguments& arguments, const PlanDivision& division, const std::string& file) {
  CLI::App app{"", "proctor"};
  Action action;
  add_plan_command(app, action, arguments.command);
  Words words = {"plan", "--output=" + file};
  if (!division.balance.empty()) {
    words.push_back(fmt::format("--shards={}", division.shards));
    words.push_back("--balance=" + division.balance);
  }
  words.insert(words.end(), arguments.of_plan.begin(), arguments.of_plan.end());
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return fail(usage_error(app, error));
  }
  return action();
}

Result<void> copy_plan(const std::string& from, const std::string& file) {
  const auto text = text_of_plan(from);
  return text ? replace_file(file, *text) : text.error();
}

Result<int> count_shards(int typed, int balanced, const Words& sbatch_options) {
  if (balanced > 0 && typed > 0 && typed != balanced)
    return Error::refused(fmt::format("--shards {}: the plan is balanced for {} shards", typed, balanced),
                          "Leave --shards out, or make another plan.");
  if (balanced > 0 || typed > 0) return balanced > 0 ? balanced : typed;
  const ArrayShape shape = shape_of(sbatch_options);
  if (shape.devices == 0)
    return Error::refused("The number of shards is not known: the options of sbatch name no devices per node",
                          "Say it with --shards N, or name them with --gres=gpu:N or --gpus-per-node=N.");
  const std::int64_t shards = std::int64_t{shape.devices} * shape.nodes;
  if (shards <= kMostShards) return static_cast<int>(shards);
  return Error::refused(fmt::format("{} devices on {} nodes are {} shards, more than {}", shape.devices,
                                    shape.nodes, shards, kMostShards),
                        "Say how many there are with --shards N.");
}

}  // namespace proctor::cli
