// `run --plan FILE` and `run --shard K/N`: the same plan on several machines, a part of it on each.
#include "harness/cli/run_command.h"
#include "harness/cli/run_discovery.h"
#include "harness/core/read_file.h"
#include "harness/plan/plan_file.h"
#include "harness/plan/select.h"

namespace proctor::cli {

Result<void> RunCommand::read_shard() {
  if (!options_.plan_file.empty() && after_dashes_) {
    return Error::usage("read --plan " + options_.plan_file + ": it says what is run, and so does `--`");
  }
  if (options_.shard.empty()) return {};
  const auto shard =
      options_.shard == "auto" ? shard_of_environment(caller_environment()) : parse_shard(options_.shard);
  if (!shard) return shard.error();
  shard_ = *shard;
  return {};
}

Result<PlanOutcome> RunCommand::read_plan() {
  const auto text = read_file(options_.plan_file);
  if (!text)
    return Error::usage("read --plan " + options_.plan_file + ": " + text.error().what,
                        "Make it with `proctor plan -o FILE`.");
  auto file = parse_plan_file(*text, options_.plan_file, plan_places(options_.plan.config.directory));
  if (!file) return file.error();
  options_.plan.size = file->size;
  plan_source_ = std::move(file->source);
  auto cases = select_cases(std::move(file->plan.cases), options_.plan.selection);
  if (!cases) return cases.error();
  file->plan.cases = *std::move(cases);
  return PlanOutcome{.plan = std::move(file->plan), .warnings = {}, .run = file->run};
}

// Everything that is the same on all machines has been decided; what follows may depend on this one.
Result<void> RunCommand::take_shard() {
  if (!shard_ && options_.plan_file.empty()) return {};
  const auto digest =
      plan_file_digest({.plan = plan_, .run = policy_, .size = options_.plan.size, .source = plan_source_},
                       plan_places(options_.plan.config.directory));
  if (!digest) return digest.error();
  const Shard shard = shard_.value_or(Shard{});
  part_ = PlannedShard{.index = shard.index,
                       .count = shard.count,
                       .planned = static_cast<int>(plan_.cases.size()),
                       .plan = *digest};
  whole_digest_ = plan_digest(plan_.cases);
  keep_shard(shard, plan_);
  forget_backends_without_cases(plan_, devices_);
  return {};
}

}  // namespace proctor::cli
