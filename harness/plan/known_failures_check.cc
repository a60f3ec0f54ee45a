#include "harness/plan/known_failures_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

// Limit for near-miss suggestions, because the search takes some time for each id.
constexpr std::size_t kMostNearMisses = 20'000;

bool is_pattern(const std::string& glob) { return glob.find_first_of("*?") != glob.npos; }

// Returns whether the glob matches cases of a suite independent of their names: `memory.xpu/*`, `memory*`,
// `*`.
bool covers_any_name(const std::string& glob) {
  if (!is_pattern(glob)) return false;
  const auto slash = glob.find('/');
  if (slash != glob.npos) return glob.find_first_not_of("*?", slash + 1) == glob.npos;
  return glob_match(glob, glob.substr(0, glob.find_first_of("*?")) + "/\x7f");
}

class EntryCheck {
 public:
  EntryCheck(const KnownFailure& entry, const KnownFailureCheck& check,
             std::vector<KnownFailureFinding>& findings)
      : entry_(entry), check_(check), findings_(findings), today_(day_of(check.at)) {}

  void check() {
    examine_days();
    if (trimmed(entry_.owner).empty()) say("no_owner", "has no owner; write owner = \"NAME\"");
    if (trimmed(entry_.issue).empty()) say("no_issue", "has no issue; write issue = \"https://...\"");
    examine_patterns();
    if (check_.planned) examine_plan();
    // the project may have no machine with the failure, and a pass is a valid result
    if (entry_.predicted) return;
    if (check_.remembered) examine_hits();
    examine_passes();
  }

 private:
  void say(const char* code, const std::string& what) {
    findings_.push_back({.code = code,
                         .place = entry_.origin,
                         .line = entry_.line,
                         .text = fmt::format("known failure {} {}", entry_.cases_text(), what)});
  }

  void examine_days();
  void examine_patterns();
  void examine_plan();
  void examine_hits();
  void examine_passes();
  bool is_of(const std::string& id, const std::string& backend) const {
    return (entry_.backend.empty() || entry_.backend == backend) && entry_.names(id);
  }
  bool is_of(const PastEnd& end) const {
    const auto named = [&](const std::string& model) { return glob_match(entry_.device, model); };
    return is_of(end.id, end.backend) &&
           (entry_.device.empty() || end.models.empty() || std::ranges::any_of(end.models, named));
  }
  std::string why_unused() const;

  const KnownFailure& entry_;
  const KnownFailureCheck& check_;
  std::vector<KnownFailureFinding>& findings_;
  Day today_;
};

void EntryCheck::examine_days() {
  if (today_ > entry_.expires) {
    const int past = days_between(entry_.expires, today_);
    say("expired", fmt::format("expired on {}, {} ago", day_text(entry_.expires), count_text(past, "day")));
  }
  if (!entry_.added)
    return say("no_added", fmt::format("has no date `added`; write added = YYYY-MM-DD, at most "
                                       "{} days before `expires`",
                                       kLongestKnownDays));
  if (*entry_.added > today_)
    say("added_later",
        fmt::format("was added on {}, which is after {}", day_text(*entry_.added), day_text(today_)));
  const int span = days_between(*entry_.added, entry_.expires);
  if (span > kLongestKnownDays) {
    say("too_long", fmt::format("covers {}, from {} to {}; at most {} are allowed", count_text(span, "day"),
                                day_text(*entry_.added), day_text(entry_.expires), kLongestKnownDays));
  }
}

// Reports entries for a whole suite. Later additions to the suite would become known failures immediately.
void EntryCheck::examine_patterns() {
  for (const std::string& glob : entry_.cases) {
    if (covers_any_name(glob))
      return say("whole_suite", fmt::format("would cover a whole suite by `{}`; name its cases", glob));
  }
  if (!check_.planned) return;
  for (const std::string& glob : entry_.cases) {
    if (!is_pattern(glob)) continue;
    std::map<std::pair<std::string, std::string>, std::pair<int, int>>
        suites;  // number of its cases, and number of matching cases
    for (const PlannedId& test : *check_.planned) {
      if (!entry_.backend.empty() && entry_.backend != test.backend) continue;
      auto& [all, matching] = suites[{test.suite, test.backend}];
      ++all;
      if (glob_match(glob, test.id)) ++matching;
    }
    for (const auto& [suite, count] : suites) {
      if (count.first < 2 || count.first != count.second) continue;
      return say("whole_suite",
                 fmt::format("would cover the whole suite {}.{}, all {} cases of it, by `{}`; name its cases",
                             suite.first, suite.second, count.first, glob));
    }
  }
}

std::string EntryCheck::why_unused() const {
  const auto named =
      std::ranges::find_if(*check_.planned, [&](const PlannedId& test) { return entry_.names(test.id); });
  if (named != check_.planned->end()) {
    return fmt::format(": `{}` is of the backend {}, and the entry of {}", named->id, named->backend,
                       entry_.backend);
  }
  if (check_.planned->size() > kMostNearMisses) return {};
  std::vector<std::string> ids;
  for (const PlannedId& test : *check_.planned) ids.push_back(test.id);
  const std::string found = near_miss(entry_.cases.front(), ids);
  return found.empty() ? found : "; did you mean `" + found + "`?";
}

void EntryCheck::examine_plan() {
  const auto matching = static_cast<std::size_t>(std::ranges::count_if(
      *check_.planned, [&](const PlannedId& test) { return is_of(test.id, test.backend); }));
  if (matching == 0) say("unused", "matches no planned case" + why_unused());
  if (matching > kMostKnown && !entry_.broad) {
    say("too_broad",
        fmt::format("matches {} planned cases; more than {} need broad = true", matching, kMostKnown));
  }
}

// An entry that was added within kDaysWithoutHit days cannot be reported yet.
void EntryCheck::examine_hits() {
  const auto since = check_.at - std::chrono::days(kDaysWithoutHit);
  if (entry_.added && std::chrono::sys_days(*entry_.added) > since) return;
  const bool hit = std::ranges::any_of(*check_.remembered, [&](const PastEnd& end) {
    return end.when >= since && end.when <= check_.at && is_of(end) && is_hit(entry_, end.verdict);
  });
  if (!hit)
    say("not_hit",
        fmt::format("matched no failure in the {} days before {}", kDaysWithoutHit, day_text(today_)));
}

// Reports failures that no longer occur. For each case, only the newest result counts.
void EntryCheck::examine_passes() {
  std::map<std::pair<std::string, std::string>, const PastEnd*> newest;
  const auto add = [&](const PastEnd& end) {
    if (!is_of(end)) return;
    if (end.verdict.outcome != Outcome::kXpass && !is_hit(entry_, end.verdict)) return;
    const PastEnd*& known = newest[{end.id, end.where}];
    const bool later = known == nullptr || end.when > known->when;
    const bool same_and_worse =
        known != nullptr && end.when == known->when && end.verdict.outcome == Outcome::kXpass;
    if (later || same_and_worse) known = &end;
  };
  for (const PastEnd& end : check_.ends) add(end);
  if (check_.remembered) {
    for (const PastEnd& end : *check_.remembered) {
      if (end.when <= check_.at) add(end);
    }
  }
  for (const auto& [which, end] : newest) {
    if (end->verdict.outcome != Outcome::kXpass) continue;
    const std::string where = which.second.empty() ? "" : " on " + which.second;
    say("passed", fmt::format("passed: {}{} did on {}; remove the entry, or narrow it", which.first, where,
                              day_text(day_of(end->when))));
  }
}

}  // namespace

bool is_hit(const KnownFailure& entry, const Verdict& verdict) {
  if (verdict.outcome != Outcome::kXfail) return apply(&entry, verdict).outcome == Outcome::kXfail;
  return glob_match(entry.reason_glob, verdict.reason.text()) ||
         (verdict.reason.text() == to_string(entry.outcome) && glob_match(entry.reason_glob, ""));
}

std::string days_left_text(const KnownFailure& entry, Day today) {
  const int left = days_between(today, entry.expires);
  if (left == 0) return "today is the last day";
  return left > 0 ? count_text(left, "day") + " left" : "expired " + count_text(-left, "day") + " ago";
}

std::vector<KnownFailureFinding> check_known_failures(const KnownFailures& list,
                                                      const KnownFailureCheck& check) {
  std::vector<KnownFailureFinding> findings;
  const auto& entries = list.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EntryCheck(entries[i], check, findings).check();
    if (!check.max || i != static_cast<std::size_t>(std::max(*check.max, 0))) continue;
    findings.push_back({.code = "over_cap",
                        .place = entries[i].origin,
                        .line = entries[i].line,
                        .text = fmt::format("the list has {} known failures, at most {} are allowed",
                                            entries.size(), *check.max)});
  }
  return findings;
}

}  // namespace proctor
