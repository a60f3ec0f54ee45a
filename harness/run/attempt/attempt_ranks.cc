// Of RunningAttempt: a case with ranks, whose leader is their supervisor (harness/ranks/).
#include <fmt/format.h>

#include "harness/ranks/rank_plan.h"
#include "harness/run/attempt/attempt.h"
#include "harness/run/attempt/attempt_files.h"

namespace proctor {

std::vector<std::string> RunningAttempt::devices_of_rank(std::size_t rank) const {
  const std::size_t each = plan_.devices.size() / plan_.ranks.size();
  const auto first = plan_.devices.begin() + static_cast<std::ptrdiff_t>(rank * each);
  return {first, first + static_cast<std::ptrdiff_t>(each)};
}

// Turns the process of the case into the supervisor of as many.
void RunningAttempt::make_rank_supervisor(ProcessSpec& spec) {
  const AttemptCase& first = plan_.cases.front();
  RankPlan plan;
  plan.argv = std::move(spec.argv);
  plan.events = spec.events;
  plan.grace = first.test->policy.grace;
  auto rendezvous = context_.scratch.new_directory();
  if (rendezvous) plan.rendezvous = rendezvous_ = *rendezvous;
  for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
    add_variables(plan_.ranks[rank]);
    const auto log = attempt_rank_log(first.test->id, first.attempt, first.repeat, static_cast<int>(rank));
    plan.ranks.push_back({.env = plan_.ranks[rank], .log = context_.run_dir + "/" + log});
  }
  rank_plan_ = context_.scratch.new_file_name();
  const auto written = rendezvous ? write_rank_plan(plan, rank_plan_) : Result<void>(rendezvous.error());
  if (!written)  // the supervisor says what it cannot read
    context_.sink.on(
        Warning{"scratch", "ranks of " + first.test->id + ": failed to " + written.error().what});
  spec.argv = supervisor_command(context_.rank_supervisor, rank_plan_);
  spec.events = true;
  spec.on_event_line = [this, alive = alive_](std::string_view line) {
    if (*alive) ranks_->add_line(line);
  };
}

void RunningAttempt::clean_rendezvous() {
  if (auto removed = remove_tree(rendezvous_); !removed)
    context_.sink.on(Warning{"scratch_left", "failed to " + removed.error().what});
}

void RunningAttempt::tell_ranks(const ProcessEnd* end, AttemptEnded& event) const {
  const AttemptCase& first = plan_.cases.front();
  event.ranks = ranks_->ends();
  for (RankEnd& rank : event.ranks) {
    rank.devices = devices_of_rank(static_cast<std::size_t>(rank.rank));
    rank.log = attempt_rank_log(first.test->id, first.attempt, first.repeat, rank.rank);
  }
  const bool by_limit =
      end != nullptr && (end->cause == EndCause::kTimeout || end->cause == EndCause::kStall);
  Failure failure;
  if (by_limit) failure.message = ranks_->who_is_left();
  if (end != nullptr && end->cause == EndCause::kExited) failure.message = ranks_->who_answers();
  if (!failure.message.empty()) event.failures.push_back(std::move(failure));
}

}  // namespace proctor
