#include "harness/runner/attempt/ranks_of_case.h"

#include "harness/process/ranks/rank_plan.h"
#include "harness/runner/attempt/attempt_spec.h"

namespace proctor {

std::vector<std::string> devices_of_rank(const std::vector<std::string>& devices, std::size_t rank,
                                         std::size_t ranks) {
  const std::size_t each = devices.size() / ranks;
  const auto first = devices.begin() + static_cast<std::ptrdiff_t>(rank * each);
  return {first, first + static_cast<std::ptrdiff_t>(each)};
}

void make_rank_supervisor(const AttemptSetup& setup, const AttemptPlan& plan, RunFiles& run_files,
                          AttemptFiles& files, ProcessSpec& spec) {
  RankPlan ranks;
  ranks.argv = std::move(spec.argv);
  ranks.events = spec.events;
  ranks.skip_code = plan.kind().ours() ? plan.kind().traits().skip_code : plan.suite->skip_code;
  ranks.grace = plan.first().test->policy.grace;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const auto log = run_files.log_of(plan.first(), static_cast<int>(rank));
    ranks.ranks.push_back({.env = plan.ranks[rank].variables, .log = run_files.path_of(log)});
    add_variables(setup, plan, files, ranks.ranks.back().env);
  }
  run_files.add_rank_plan(plan, std::move(ranks), files);
  spec.argv = supervisor_command(setup.own_program, files.rank_plan);
  spec.events = true;
}

void describe_ranks(const RankReports& reports, const RunFiles& run_files, const AttemptPlan& plan,
                    const ProcessEnd* end, AttemptEnded& event) {
  event.ranks = reports.ends();
  for (RankEnd& rank : event.ranks) {
    const auto number = static_cast<std::size_t>(rank.rank);
    rank.devices = devices_of_rank(plan.devices, number, plan.ranks.size());
    rank.log =
        run_files.log_that_is_there(run_files.log_of(plan.first(), rank.rank), is_bad(event.verdict.outcome));
    rank.environment = plan.ranks[number].visibility;
  }
  const bool by_limit =
      end != nullptr && (end->cause == EndCause::kTimeout || end->cause == EndCause::kStall);
  const auto words = reports.describe_answer();
  Failure failure;
  if (words || (end != nullptr && end->cause == EndCause::kExited)) failure.message = reports.who_answers();
  if (by_limit) failure.message += (failure.message.empty() ? "" : "; ") + reports.who_is_left();
  if (!failure.message.empty()) event.failures.push_back(std::move(failure));
  if (!words || !is_bad(event.verdict.outcome)) return;
  event.output.stdout_tail = words->out;  // not the later output of the other ranks
  event.output.stderr_tail = words->err;
}

}  // namespace proctor
