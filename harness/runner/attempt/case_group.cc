#include "harness/runner/attempt/case_group.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace proctor {
namespace {

constexpr int kMaxNeverBegan = 2;

template <typename Members, typename Predicate>
bool all_are(const Members& members, Predicate predicate) {
  return std::ranges::all_of(members, [&](const auto& member) { return predicate(member.second); });
}

}  // namespace

std::vector<std::size_t> CaseGroup::indices() const {
  std::vector<std::size_t> all;
  for (const auto& [index, progress] : members_) all.push_back(index);
  return all;
}

// The repeat that is next, of those that take turns.
int CaseGroup::turn() const {
  int least = std::numeric_limits<int>::max();
  for (const auto& [index, progress] : members_) least = std::min(least, progress.repeat());
  return least;
}

bool CaseGroup::is_due(const CaseProgress& progress, int turn) {
  return !progress.takes_turns() || progress.repeat() == turn;
}

bool CaseGroup::is_turn_over() const {
  return !members_.empty() && passes_.empty() &&
         all_are(members_, [turn = turn()](const CaseProgress& progress) {
           return progress.takes_turns() && progress.is_between_repeats() && progress.repeat() == turn;
         });
}

std::vector<CaseGroup::Turn> CaseGroup::next_process() {
  const int turn = this->turn();
  const bool proves = only_proves();
  const auto waits = [&](const Members::value_type& member) {
    return passes_.contains(member.first) || (member.second.is_proving() && !proves) ||
           member.second.wants_same_order() || !is_due(member.second, turn);
  };
  const bool alone = std::ranges::all_of(
      members_, [&](const auto& member) { return waits(member) || member.second.is_alone(); });
  const bool again = std::ranges::any_of(
      members_, [&](const auto& member) { return !waits(member) && member.second.is_shared_again(); });
  std::vector<Turn> turns;
  in_process_.clear();
  order_.reset();
  begun_ = true;
  for (const auto& member : members_) {
    const auto& [index, progress] = member;
    if (waits(member) || (progress.is_alone() && !alone)) continue;
    if (again && !progress.is_shared_again()) continue;
    turns.push_back({index, progress.attempt(), progress.repeat()});
    in_process_.push_back(index);
    if (alone) break;
  }
  return turns.empty() ? repeat_order() : turns;
}

bool CaseGroup::only_proves() const {
  return !members_.empty() &&
         all_are(members_, [](const CaseProgress& progress) { return progress.is_proving(); });
}

// Repeats the order of one process up to the last case that needs it.
std::vector<CaseGroup::Turn> CaseGroup::repeat_order() {
  std::vector<Turn> turns;
  std::size_t count = 0;
  for (const auto& [index, progress] : members_) {
    if (!progress.wants_same_order()) continue;
    const Place& place = places_.at(index);
    if (!order_) order_ = place.process;
    if (place.process != order_) continue;
    provers_.insert(index);
    count = std::max(count, place.position + 1);
  }
  if (provers_.empty()) return turns;
  repeated_ = true;
  in_process_.assign(order_->begin(), order_->begin() + static_cast<std::ptrdiff_t>(count));
  for (const std::size_t index : in_process_) {
    const auto prover = provers_.contains(index) ? members_.find(index) : members_.end();
    turns.push_back(prover == members_.end()
                        ? Turn{.index = index, .attempt = 1, .repeat = 1, .silent = true}
                        : Turn{index, prover->second.attempt(), prover->second.repeat()});
  }
  return turns;
}

// Ends the cases with a proof that is not complete. A proof is not started twice.
std::vector<CaseGroup::Finished> CaseGroup::end_proofs(bool only_of_process) {
  std::vector<Finished> ended;
  std::erase_if(members_, [&](const auto& member) {
    if (!member.second.is_proving() || (only_of_process && !provers_.contains(member.first))) return false;
    ended.push_back(word_on(member, ""));
    return true;
  });
  provers_.clear();
  return ended;
}

CaseGroup CaseGroup::split(std::size_t count) {
  CaseGroup first;
  first.pinned_to_ = pinned_to_;
  first.avoids_ = avoids_;
  while (first.members_.size() < count && !members_.empty())
    first.members_.insert(members_.extract(members_.begin()));
  return first;
}

bool CaseGroup::wants_other_devices() const {
  constexpr int kElsewhereFrom = 3;
  const int turn = this->turn();
  const auto first = std::ranges::find_if(members_, [&](const auto& m) { return is_due(m.second, turn); });
  return pinned_to_.empty() && first != members_.end() &&
         all_are(members_, [&](const auto& m) { return m.is_alone() || !is_due(m, turn); }) &&
         first->second.counted_attempts() >= kElsewhereFrom;
}

std::optional<CaseGroup::Finished> CaseGroup::attempt_ended(std::size_t which, const Verdict& verdict,
                                                            const Marks& marks, bool expected, bool last,
                                                            const std::vector<std::string>& where) {
  const std::size_t index = in_process_[which];
  const bool bad = is_bad(verdict.outcome);
  if (repeated_) return take(index, verdict, marks, expected, /*last=*/true, where);
  settle_verification(index, verdict);
  if (!is_shared() || last || verdict.outcome == Outcome::kNotrun ||
      (bad && (expected || !members_.at(index).wants_confirmation())))
    return take(index, verdict, marks, expected, last, where);
  if (bad) {
    await_confirmation(which, verdict, where);
    return std::nullopt;
  }
  passes_.insert_or_assign(index, Pass{verdict, marks, where});
  return std::nullopt;
}

void CaseGroup::await_confirmation(std::size_t which, const Verdict& verdict,
                                   const std::vector<std::string>& where) {
  const std::size_t index = in_process_[which];
  if (!order_) order_ = std::make_shared<const std::vector<std::size_t>>(in_process_);
  places_.insert_or_assign(index, Place{order_, which});
  members_.at(index).doubt(verdict, where, /*behind_others=*/which > 0);
}

std::optional<CaseGroup::Finished> CaseGroup::take(std::size_t index, const Verdict& verdict,
                                                   const Marks& marks, bool expected, bool last,
                                                   const std::vector<std::string>& where) {
  const auto member = members_.find(index);
  if (member->second.add(verdict, marks, expected, where) != CaseProgress::Next::kDone && !last)
    return std::nullopt;
  auto finished = word_on(*member, "");
  members_.erase(member);
  return finished;
}

// ---- What is good beside others ----

void CaseGroup::settle_verification(std::size_t index, const Verdict& verdict) {
  if (verified_.erase(index) == 0) return;
  distrust_ = distrust_ || (is_bad(verdict.outcome) && verdict.outcome != Outcome::kNotrun);
}

void CaseGroup::verify_passes() {
  const bool all = std::exchange(distrust_, false);
  verifies_all_ = all || (verifies_all_ && !verified_.empty());
  std::erase_if(passes_, [&](const auto& pass) {
    CaseProgress& progress = members_.at(pass.first);
    if (!all && !progress.wants_verification()) return false;
    progress.doubt(pass.second.verdict, pass.second.where);
    progress.keep_marks(pass.second.marks);
    verified_.insert(pass.first);
    return true;
  });
}

// The attempt beside others has the last word.
std::vector<CaseGroup::Finished> CaseGroup::leave_unverified() {
  std::vector<Finished> ended;
  for (const std::size_t index : std::exchange(verified_, {})) {
    const auto member = members_.find(index);
    if (member->second.believe() != CaseProgress::Next::kDone) continue;
    ended.push_back(word_on(*member, ""));
    members_.erase(member);
  }
  return ended;
}

std::vector<CaseGroup::Finished> CaseGroup::release_passes() {
  std::vector<Finished> released;
  for (const auto& [index, pass] : std::exchange(passes_, {})) {
    if (auto finished = take(index, pass.verdict, pass.marks, false, false, pass.where))
      released.push_back(*std::move(finished));
  }
  return released;
}

void CaseGroup::taint() {
  for (const auto& [index, pass] : std::exchange(passes_, {})) members_.at(index).taint();
}

void CaseGroup::repeat_passes() {
  for (const auto& [index, pass] : std::exchange(passes_, {})) members_.at(index).disbelieve();
}

void CaseGroup::disbelieve(std::size_t which) { members_.at(in_process_[which]).disbelieve(); }

void CaseGroup::repeat_shared(std::size_t which) { members_.at(in_process_[which]).repeat_shared(); }

void CaseGroup::stand_alone() {
  for (auto& [index, progress] : members_) progress.stand_alone();
}

void CaseGroup::discount(std::size_t which) { members_.at(in_process_[which]).discount(); }

bool CaseGroup::has_suspect(std::size_t which) const { return members_.at(in_process_[which]).has_suspect(); }

bool CaseGroup::has_suspect() const {
  return !all_are(members_, [](const CaseProgress& progress) { return !progress.has_suspect(); });
}

CaseGroup::Finished CaseGroup::word_on(const Members::value_type& member, const std::string& note) {
  return {member.first, member.second.verdict(), member.second.marks(), note, member.second.devices()};
}

CaseGroup::Finished CaseGroup::end_now(std::size_t which) {
  const auto member = members_.find(in_process_[which]);
  if (const auto pass = passes_.extract(member->first))
    member->second.add(pass.mapped().verdict, pass.mapped().marks, false, pass.mapped().where);
  auto finished = word_on(*member, "");
  members_.erase(member);
  return finished;
}

std::vector<CaseGroup::Finished> CaseGroup::process_ended(ProcessFate fate,
                                                          const std::vector<std::size_t>& not_begun,
                                                          const std::optional<NoMore>& no_more,
                                                          bool may_verify) {
  if (std::exchange(repeated_, false)) return end_proofs(/*only_of_process=*/true);
  never_began_ = fate == ProcessFate::kNeverBegan ? never_began_ + 1 : 0;
  std::vector<std::size_t> rest;
  for (const auto which : not_begun) rest.push_back(in_process_[which]);
  std::vector<Finished> ended = end_not_begun(fate, rest, no_more);
  if (no_more) std::ranges::move(end_proofs(false), std::back_inserter(ended));
  if (!no_more) verify_passes();
  if (!may_verify && !verifies_all_) std::ranges::move(leave_unverified(), std::back_inserter(ended));
  if (no_more || verified_.empty()) std::ranges::move(release_passes(), std::back_inserter(ended));
  return ended;
}

bool CaseGroup::has_more() const {
  return is_shared() || std::ranges::any_of(members_, [&](const auto& member) {
           return member.second.has_nothing() &&
                  std::ranges::find(in_process_, member.first) == in_process_.end();
         });
}

// Those on which nothing is known, whether they were in this process or not.
std::vector<std::size_t> CaseGroup::never_ran() const {
  std::vector<std::size_t> cases;
  for (const auto& [index, progress] : members_) {
    if (progress.has_nothing() && !passes_.contains(index)) cases.push_back(index);
  }
  return cases;
}

std::vector<CaseGroup::Finished> CaseGroup::end_not_begun(ProcessFate fate,
                                                          const std::vector<std::size_t>& rest,
                                                          const std::optional<NoMore>& no_more) {
  if (no_more) return drop(never_ran(), *no_more);
  if (fate == ProcessFate::kEnded) {
    return drop(rest, {{Outcome::kError, Reason::kNoResult},
                       "its process exited without running it, and Proctor had not stopped it"});
  }
  if (never_began_ < kMaxNeverBegan) return {};
  return drop(rest, {{Outcome::kNotrun, Reason::kStartUp},
                     "its processes exited before they ran any case; see the cases before it"});
}

std::vector<CaseGroup::Finished> CaseGroup::give_up(const NoMore& why) {
  std::vector<Finished> ended = release_passes();
  std::ranges::move(end_proofs(false), std::back_inserter(ended));
  std::ranges::move(drop(indices(), why), std::back_inserter(ended));
  return ended;
}

std::vector<CaseGroup::Finished> CaseGroup::drop(const std::vector<std::size_t>& indices, const NoMore& why) {
  std::vector<Finished> dropped;
  for (const auto index : indices) {
    const auto member = members_.find(index);
    const bool stands = why.keeps && member->second.has_whole_repeat();
    if (!stands) member->second.add(why.verdict, {}, /*expected=*/true);
    dropped.push_back(word_on(*member, stands ? "" : why.note));
    members_.erase(member);
  }
  return dropped;
}

}  // namespace proctor
