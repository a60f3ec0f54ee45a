#include "harness/run/attempt/case_group.h"

#include <algorithm>

namespace proctor {
namespace {

constexpr int kMaxNeverBegan = 2;

}  // namespace

std::vector<std::size_t> CaseGroup::indices() const {
  std::vector<std::size_t> all;
  for (const auto& member : members_) all.push_back(member.index);
  return all;
}

std::vector<CaseGroup::Turn> CaseGroup::next_process() {
  const auto is_retry = [](const Member& member) { return member.progress.attempt() > 1; };
  const bool alone = std::all_of(members_.begin(), members_.end(), is_retry);
  std::vector<Turn> turns;
  in_process_.clear();
  for (const auto& member : members_) {
    if (is_retry(member) && !alone) continue;
    turns.push_back({member.index, member.progress.attempt(), member.progress.repeat()});
    in_process_.push_back(member.index);
    if (alone) break;
  }
  return turns;
}

bool CaseGroup::wants_other_devices() const {
  constexpr int kElsewhereFrom = 3;
  return pinned_to_.empty() && !members_.empty() &&
         std::all_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.progress.attempt() > 1; }) &&
         members_.front().progress.counted_attempts() >= kElsewhereFrom;
}

std::optional<CaseGroup::Finished> CaseGroup::attempt_ended(std::size_t which, const Verdict& verdict,
                                                            const std::vector<std::string>& marks,
                                                            bool expected, bool last,
                                                            const std::string& where) {
  const auto member = find(in_process_[which]);
  const auto next = member->progress.add(verdict, marks, expected, where);
  if (next != CaseProgress::Next::kDone && !last) return std::nullopt;
  return end_now(which);
}

void CaseGroup::discount(std::size_t which) { find(in_process_[which])->progress.discount(); }

bool CaseGroup::has_suspect(std::size_t which) const {
  return find(in_process_[which])->progress.has_suspect();
}

bool CaseGroup::has_suspect() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.progress.has_suspect(); });
}

CaseGroup::Finished CaseGroup::end_now(std::size_t which) {
  const auto member = find(in_process_[which]);
  Finished finished{member->index, member->progress.verdict(), member->progress.marks(), ""};
  members_.erase(member);
  return finished;
}

std::vector<CaseGroup::Finished> CaseGroup::process_ended(ProcessFate fate,
                                                          const std::vector<std::size_t>& not_begun,
                                                          const std::optional<NoMore>& no_more) {
  never_began_ = fate == ProcessFate::kNeverBegan ? never_began_ + 1 : 0;
  std::vector<std::size_t> rest;
  for (const auto which : not_begun) rest.push_back(in_process_[which]);
  if (no_more) return drop(rest, no_more->verdict, no_more->note);
  if (fate == ProcessFate::kEnded) {
    return drop(rest, {Outcome::kError, "no_result"},
                "its process ended without having run it, and nobody had ended it");
  }
  if (never_began_ < kMaxNeverBegan) return {};
  return drop(rest, {Outcome::kNotrun, "start_up"},
              "processes for it ended before they ran anything; see the cases before it");
}

std::vector<CaseGroup::Finished> CaseGroup::give_up(const Verdict& verdict, const std::string& note) {
  return drop(indices(), verdict, note);
}

std::vector<CaseGroup::Finished> CaseGroup::drop(const std::vector<std::size_t>& indices,
                                                 const Verdict& verdict, const std::string& note) {
  std::vector<Finished> dropped;
  for (const auto index : indices) {
    const auto member = find(index);
    member->progress.add(verdict, {}, /*expected=*/true);
    dropped.push_back({index, member->progress.verdict(), member->progress.marks(), note});
    members_.erase(member);
  }
  return dropped;
}

std::list<CaseGroup::Member>::iterator CaseGroup::find(std::size_t index) {
  return std::find_if(members_.begin(), members_.end(),
                      [&](const Member& member) { return member.index == index; });
}

std::list<CaseGroup::Member>::const_iterator CaseGroup::find(std::size_t index) const {
  return std::find_if(members_.begin(), members_.end(),
                      [&](const Member& member) { return member.index == index; });
}

}  // namespace proctor
