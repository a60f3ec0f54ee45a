#include "harness/run/attempt/ranks_of_case.h"

#include "harness/ranks/rank_plan.h"
#include "harness/run/attempt/attempt_spec.h"

namespace proctor {

std::vector<std::string> devices_of_rank(const std::vector<std::string>& devices, std::size_t rank,
                                         std::size_t ranks) {
  const std::size_t each = devices.size() / ranks;
  const auto first = devices.begin() + static_cast<std::ptrdiff_t>(rank * each);
  return {first, first + static_cast<std::ptrdiff_t>(each)};
}

void make_rank_supervisor(AttemptContext& context, const AttemptPlan& plan, AttemptFiles& files,
                          ProcessSpec& spec) {
  RankPlan ranks;
  ranks.argv = std::move(spec.argv);
  ranks.events = spec.events;
  ranks.skip_code = plan.kind().ours() ? plan.kind().traits().skip_code : plan.suite->skip_code;
  ranks.grace = plan.first().test->policy.grace;
  auto rendezvous = context.scratch.new_directory();
  if (rendezvous) ranks.rendezvous = files.rendezvous = *rendezvous;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const auto log = log_of(context.names, plan.first(), static_cast<int>(rank));
    ranks.ranks.push_back({.env = plan.ranks[rank].variables, .log = context.setup.run_dir + "/" + log});
    add_variables(context, plan, files, ranks.ranks.back().env);
  }
  files.rank_plan = context.scratch.new_file_name();
  const auto written =
      rendezvous ? write_rank_plan(ranks, files.rank_plan) : Result<void>(rendezvous.error());
  if (!written)  // the supervisor says what it cannot read
    context.sink.on(Warning{WarningCode::kScratch,
                            "ranks of " + plan.first().test->id + ": failed to " + written.error().what});
  spec.argv = supervisor_command(context.setup.own_program, files.rank_plan);
  spec.events = true;
}

void describe_ranks(const RankReports& reports, const AttemptContext& context, const AttemptPlan& plan,
                    const ProcessEnd* end, AttemptEnded& event) {
  event.ranks = reports.ends();
  for (RankEnd& rank : event.ranks) {
    const auto number = static_cast<std::size_t>(rank.rank);
    rank.devices = devices_of_rank(plan.devices, number, plan.ranks.size());
    rank.log = log_that_is_there(context.setup.run_dir, log_of(context.names, plan.first(), rank.rank),
                                 is_bad(event.verdict.outcome));
    rank.environment = plan.ranks[number].visibility;
  }
  const bool by_limit =
      end != nullptr && (end->cause == EndCause::kTimeout || end->cause == EndCause::kStall);
  const auto words = reports.words_of_answer();
  Failure failure;
  if (words || (end != nullptr && end->cause == EndCause::kExited)) failure.message = reports.who_answers();
  if (by_limit) failure.message += (failure.message.empty() ? "" : "; ") + reports.who_is_left();
  if (!failure.message.empty()) event.failures.push_back(std::move(failure));
  if (!words || !is_bad(event.verdict.outcome)) return;
  event.output.stdout_tail = words->out;  // and not what the others wrote since
  event.output.stderr_tail = words->err;
}

}  // namespace proctor
