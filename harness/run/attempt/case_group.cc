#include "harness/run/attempt/case_group.h"

#include <algorithm>

namespace proctor {
namespace {

constexpr int kMaxNeverBegan = 2;

bool is_retry(const CaseProgress& progress) { return progress.attempt() > 1; }

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

std::vector<CaseGroup::Turn> CaseGroup::next_process() {
  const bool alone = all_are(members_, is_retry);
  std::vector<Turn> turns;
  in_process_.clear();
  for (const auto& [index, progress] : members_) {
    if (is_retry(progress) && !alone) continue;
    turns.push_back({index, progress.attempt(), progress.repeat()});
    in_process_.push_back(index);
    if (alone) break;
  }
  return turns;
}

bool CaseGroup::wants_other_devices() const {
  constexpr int kElsewhereFrom = 3;
  return pinned_to_.empty() && !members_.empty() && all_are(members_, is_retry) &&
         members_.begin()->second.counted_attempts() >= kElsewhereFrom;
}

std::optional<CaseGroup::Finished> CaseGroup::attempt_ended(std::size_t which, const Verdict& verdict,
                                                            const Marks& marks, bool expected, bool last,
                                                            const std::vector<std::string>& where) {
  const auto next = members_.at(in_process_[which]).add(verdict, marks, expected, where);
  if (next != CaseProgress::Next::kDone && !last) return std::nullopt;
  return end_now(which);
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
  auto finished = word_on(*member, "");
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
    return drop(rest, {Outcome::kError, Reason::kNoResult},
                "its process exited without running it, and Proctor had not stopped it");
  }
  if (never_began_ < kMaxNeverBegan) return {};
  return drop(rest, {Outcome::kNotrun, Reason::kStartUp},
              "its processes exited before they ran any case; see the cases before it");
}

std::vector<CaseGroup::Finished> CaseGroup::give_up(const Verdict& verdict, const std::string& note) {
  return drop(indices(), verdict, note);
}

std::vector<CaseGroup::Finished> CaseGroup::drop(const std::vector<std::size_t>& indices,
                                                 const Verdict& verdict, const std::string& note) {
  std::vector<Finished> dropped;
  for (const auto index : indices) {
    const auto member = members_.find(index);
    member->second.add(verdict, {}, /*expected=*/true);
    dropped.push_back(word_on(*member, note));
    members_.erase(member);
  }
  return dropped;
}

}  // namespace proctor
