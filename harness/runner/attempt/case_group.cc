#include "harness/runner/attempt/case_group.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

namespace proctor {
namespace {

constexpr int kMaxNeverBegan = 2;

bool is_due(const CaseProgress& progress, int repeat) {
  return !progress.takes_turns() || progress.repeat() == repeat;
}

template <typename Members, typename Predicate>
bool any_is(const Members& members, Predicate predicate) {
  return std::ranges::any_of(members, [&](const auto& entry) { return predicate(entry.second.progress); });
}
template <typename Members, typename Predicate>
bool all_are(const Members& members, Predicate predicate) {
  return !any_is(members, std::not_fn(predicate));
}

void append(std::vector<CaseGroup::Finished>& cases, std::vector<CaseGroup::Finished> more) {
  std::ranges::move(more, std::back_inserter(cases));
}

}  // namespace

// ---- Verification ----

std::optional<CaseGroup::Verification> CaseGroup::verification_after(Verification before,
                                                                     VerificationEvent event) {
  using enum Verification;
  using Row = std::array<std::optional<Verification>, 3>;
  constexpr std::array<Row, 3> kAfter{{
      {kFailed, kSample, kSample},
      {std::nullopt, kAll, kAll},
      {kFailed, kAll, kSample},
  }};
  return kAfter[static_cast<std::size_t>(before)][static_cast<std::size_t>(event)];
}

bool CaseGroup::any_verifies() const {
  return any_is(members_, [](const CaseProgress& progress) { return progress.stage() == Stage::kVerifying; });
}

bool CaseGroup::is_verification() const {
  const auto member = process_ && !is_shared() ? members_.find(case_of(0)) : members_.end();
  return member != members_.end() && member->second.progress.stage() == Stage::kVerifying;
}

void CaseGroup::verify_passes() {
  const bool all = verification_ == Verification::kFailed;
  for (auto& [index, member] : members_) {
    CaseProgress& progress = member.progress;
    if (progress.stage() == Stage::kHeld && (all || progress.needs_verification())) progress.verify();
  }
}

std::vector<CaseGroup::Finished> CaseGroup::accept(Stage stage) {
  std::vector<Finished> ended;
  for (auto next = members_.begin(); next != members_.end();) {
    const auto member = next++;
    CaseProgress& progress = member->second.progress;
    if (progress.stage() == stage && progress.accept() == CaseProgress::Next::kDone)
      ended.push_back(end(member));
  }
  return ended;
}

void CaseGroup::invalidate_passes(Invalid why) {
  for (auto& [index, member] : members_) {
    if (member.progress.stage() == Stage::kHeld) member.progress.invalidate(why);
  }
}

// ---- Processes ----

// Returns the lowest repeat of all members. Cases that take turns run this repeat next.
int CaseGroup::next_repeat() const {
  int least = std::numeric_limits<int>::max();
  for (const auto& [index, member] : members_) least = std::min(least, member.progress.repeat());
  return least;
}

bool CaseGroup::is_turn_over() const {
  return !members_.empty() && all_are(members_, [repeat = next_repeat()](const CaseProgress& progress) {
    return progress.takes_turns() && progress.is_between_repeats() && progress.repeat() == repeat;
  });
}

bool CaseGroup::only_proves() const {
  return !members_.empty() &&
         all_are(members_, [](const CaseProgress& progress) { return progress.is_proving(); });
}

const std::vector<CaseGroup::Execution>& CaseGroup::next_process() {
  Executions executions = ordinary_process();
  kind_ = executions.empty() ? ProcessKind::kRepeatedOrder : ProcessKind::kOrdinary;
  if (executions.empty()) executions = repeated_order();
  assert(!executions.empty());
  process_ = std::make_shared<const Executions>(std::move(executions));
  return *process_;
}

CaseGroup::Executions CaseGroup::ordinary_process() const {
  const int repeat = next_repeat();
  const bool proves = only_proves();
  const auto waits = [&](const CaseProgress& progress) {
    return progress.stage() == Stage::kHeld || progress.stage() == Stage::kOrdering ||
           (progress.stage() == Stage::kProving && !proves) || !is_due(progress, repeat);
  };
  const bool alone =
      all_are(members_, [&](const CaseProgress& progress) { return waits(progress) || progress.is_alone(); });
  const bool again = any_is(
      members_, [&](const CaseProgress& progress) { return !waits(progress) && progress.is_shared_again(); });
  Executions executions;
  for (const auto& [index, member] : members_) {
    const CaseProgress& progress = member.progress;
    if (waits(progress) || (progress.is_alone() && !alone)) continue;
    if (again && !progress.is_shared_again()) continue;
    executions.push_back({index, progress.attempt(), progress.repeat()});
    if (alone) break;
  }
  return executions;
}

// Returns the cases of an earlier process in its order, up to the last case that needs this order.
CaseGroup::Executions CaseGroup::repeated_order() const {
  std::shared_ptr<const Executions> order;
  const auto needs_it = [&](const Member& member) {
    return member.progress.stage() == Stage::kOrdering && (!order || member.order == order);
  };
  std::size_t count = 0;
  for (const auto& [index, member] : members_) {
    if (!needs_it(member)) continue;
    order = member.order;
    count = std::max(count, member.position + 1);
  }
  Executions executions;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (*order)[i].index;
    const auto found = members_.find(index);
    if (found == members_.end() || !needs_it(found->second)) {
      executions.push_back({.index = index, .attempt = 1, .repeat = 1, .silent = true});
    } else {
      const CaseProgress& progress = found->second.progress;
      executions.push_back({index, progress.attempt(), progress.repeat()});
    }
  }
  return executions;
}

CaseGroup CaseGroup::split(std::size_t count) {
  CaseGroup first;
  first.pinned_to_ = pinned_to_;
  first.avoids_ = avoids_;
  while (first.members_.size() < count && !members_.empty())
    first.members_.insert(members_.extract(members_.begin()));
  return first;
}

void CaseGroup::stand_alone() {
  for (auto& [index, member] : members_) member.progress.stand_alone();
}

bool CaseGroup::needs_other_devices() const {
  constexpr int kElsewhereFrom = 3;
  const int repeat = next_repeat();
  const auto first = std::ranges::find_if(
      members_, [&](const auto& entry) { return is_due(entry.second.progress, repeat); });
  return pinned_to_.empty() && first != members_.end() &&
         all_are(members_,
                 [&](const CaseProgress& progress) {
                   return progress.is_alone() || !is_due(progress, repeat);
                 }) &&
         first->second.progress.counted_attempts() >= kElsewhereFrom;
}

bool CaseGroup::has_suspect() const {
  return any_is(members_, [](const CaseProgress& progress) { return progress.has_suspect(); });
}

const CaseGroup::Execution* CaseGroup::execution_of(std::size_t index) const {
  if (!process_) return nullptr;
  const auto found = std::ranges::find(*process_, index, &Execution::index);
  return found == process_->end() ? nullptr : &*found;
}

bool CaseGroup::has_more() const {
  return is_shared() || std::ranges::any_of(members_, [&](const auto& entry) {
           return entry.second.progress.has_nothing() && execution_of(entry.first) == nullptr;
         });
}

// ---- Ends ----

CaseGroup::Finished CaseGroup::end(Members::iterator member, const std::string& note) {
  const CaseProgress& progress = member->second.progress;
  Finished finished{member->first, progress.verdict(), progress.marks(), note, progress.devices()};
  members_.erase(member);
  return finished;
}

std::optional<CaseGroup::Finished> CaseGroup::attempt_ended(std::size_t which, const Verdict& verdict,
                                                            const Marks& marks, bool expected, bool last,
                                                            const std::vector<std::string>& where) {
  assert(kind_ != ProcessKind::kNone);
  const auto member = members_.find(case_of(which));
  CaseProgress& progress = member->second.progress;
  const bool bad = is_bad(verdict.outcome);
  const bool cut_short = verdict.outcome == Outcome::kNotrun;
  if (progress.stage() == Stage::kVerifying && bad && !cut_short)
    verification_ = verification_after(verification_, VerificationEvent::kBad).value();
  if (kind_ == ProcessKind::kRepeatedOrder || !is_shared() || last || cut_short ||
      (bad && (expected || !progress.needs_confirmation()))) {
    const CaseProgress::Next next = progress.add(verdict, marks, expected, where);
    if (next != CaseProgress::Next::kDone && !last) return std::nullopt;
    return end(member);
  }
  if (bad) {
    member->second.order = process_;
    member->second.position = which;
  }
  progress.add_shared(verdict, marks, where, /*behind_others=*/which > 0);
  return std::nullopt;
}

CaseGroup::Finished CaseGroup::end_now(std::size_t which) {
  const auto member = members_.find(case_of(which));
  if (member->second.progress.stage() == Stage::kHeld) member->second.progress.accept();
  return end(member);
}

std::vector<CaseGroup::Finished> CaseGroup::process_ended(ProcessFate fate,
                                                          const std::vector<std::size_t>& not_begun,
                                                          const std::optional<NoMore>& no_more,
                                                          bool may_verify) {
  if (kind_ == ProcessKind::kRepeatedOrder) {  // a proof is not repeated
    return drop({}, [this](std::size_t index, const CaseProgress&) {
      const Execution* execution = execution_of(index);
      return execution != nullptr && !execution->silent;
    });
  }
  never_began_ = fate == ProcessFate::kNeverBegan ? never_began_ + 1 : 0;
  std::vector<Finished> ended = end_not_begun(fate, not_begun, no_more);
  const auto event = any_verifies() ? VerificationEvent::kProcessEnded : VerificationEvent::kLastEnded;
  if (!no_more) verify_passes();
  verification_ = verification_after(verification_, event).value();
  if (!may_verify && verification_ == Verification::kSample) append(ended, accept(Stage::kVerifying));
  if (no_more || !any_verifies()) append(ended, accept(Stage::kHeld));
  return ended;
}

std::vector<CaseGroup::Finished> CaseGroup::end_not_begun(ProcessFate fate,
                                                          const std::vector<std::size_t>& not_begun,
                                                          const std::optional<NoMore>& no_more) {
  if (no_more) {
    return drop(*no_more, [](std::size_t, const CaseProgress& progress) {
      return progress.is_proving() || (progress.has_nothing() && progress.stage() != Stage::kHeld);
    });
  }
  if (fate != ProcessFate::kEnded && never_began_ < kMaxNeverBegan) return {};
  const NoMore ended{{Outcome::kError, Reason::kNoResult},
                     "its process exited without running it, and Proctor had not stopped it"};
  const NoMore never_began{{Outcome::kNotrun, Reason::kStartupFailed},
                           "its processes exited before they ran any case; see the cases before it"};
  return drop(fate == ProcessFate::kEnded ? ended : never_began, [&](std::size_t index, const CaseProgress&) {
    return std::ranges::any_of(not_begun, [&](std::size_t which) { return case_of(which) == index; });
  });
}

std::vector<CaseGroup::Finished> CaseGroup::give_up(const NoMore& why) {
  std::vector<Finished> ended = accept(Stage::kHeld);
  append(ended, drop(why, [](std::size_t, const CaseProgress&) { return true; }));
  return ended;
}

// Ends the cases that match. A case that proves has a final verdict, and a case with a complete repeat may have one.
template <typename Predicate>
std::vector<CaseGroup::Finished> CaseGroup::drop(const NoMore& why, Predicate predicate) {
  std::vector<Finished> dropped;
  for (auto next = members_.begin(); next != members_.end();) {
    const auto member = next++;
    CaseProgress& progress = member->second.progress;
    if (!predicate(member->first, progress)) continue;
    const bool is_final = progress.is_proving() || (why.keeps && progress.has_whole_repeat());
    if (!is_final) progress.add(why.verdict, {}, /*expected=*/true);
    dropped.push_back(end(member, is_final ? "" : why.note));
  }
  return dropped;
}

}  // namespace proctor
