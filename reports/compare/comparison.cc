#include "reports/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace proctor {
namespace {

constexpr std::array<std::string_view, kAllChanges.size()> kNames = {
    "regression", "fixed",       "still_failing", "new_failing", "new_passing",
    "appeared",   "disappeared", "skipped_now",   "not_run_now", "ran_again",
    "xfail_now",  "more_flaky",  "less_flaky",    "slower",      "faster"};

constexpr double kStandardErrors = 3;
constexpr double kLeastShare = 0.05;

// The number of result classes plus one for a missing case, and the index of a missing case.
constexpr std::size_t kStates = 5;
constexpr std::size_t kAway = 4;

using Row = std::array<std::optional<Change>, kStates>;
using enum Change;
constexpr std::optional<Change> kSame;

// clang-format off
constexpr std::array<Row, kStates> kTable = {
    //   passing      failing        expected   unrun        not there
    Row{kSame,       kRegression,   kXfailNow, kSkippedNow, kDisappeared},
    Row{kFixed,      kStillFailing, kXfailNow, kSkippedNow, kDisappeared},
    Row{kFixed,      kRegression,   kSame,     kSkippedNow, kDisappeared},
    Row{kRanAgain,   kNewFailing,   kRanAgain, kSame,       kDisappeared},
    Row{kNewPassing, kNewFailing,   kAppeared, kAppeared,   kSame},
};
// clang-format on

std::size_t state_of(const CaseResult* result) {
  return result == nullptr ? kAway : static_cast<std::size_t>(result->result_class);
}

std::optional<Change> change_of(const CaseResult& old, const CaseResult& now) {
  const auto change = kTable[state_of(&old)][state_of(&now)];
  return change == kSkippedNow && now.verdict.outcome == Outcome::kNotrun ? kNotRunNow : change;
}

bool ran(const CaseResult& result) { return result.result_class != ResultClass::kNotrun; }

// The direction in which values of a unit improve.
enum class Better { kUnknown, kLess, kMore };

Better better_of(std::string_view unit) {
  if (unit.ends_with("/s")) return Better::kMore;
  constexpr std::array<std::string_view, 7> kTimes = {"s", "ms", "us", "µs", "ns", "min", "h"};
  return std::ranges::find(kTimes, unit) != kTimes.end() ? Better::kLess : Better::kUnknown;
}

bool is_beyond_noise(const Measure& before, const Measure& after) {
  if (before.n < 2 || after.n < 2) return false;
  const auto variance = [](const Measure& m) { return m.spread * m.spread / static_cast<double>(m.n); };
  const double difference = std::abs(after.value - before.value);
  return difference > kStandardErrors * std::sqrt(variance(before) + variance(after)) &&
         difference > kLeastShare * std::abs(before.value);
}

// Compares two runs case by case. compare() uses it once.
class Comparer {
 public:
  Comparer(const RunResults& before, const RunResults& after) : before_(before), after_(after) {}

  Comparison compare() {
    found_.stack = moved_facts(before_.stack, after_.stack);
    compare_programs();
    old_ = side_of(before_.variants, after_.variants);
    new_ = side_of(after_.variants, before_.variants);
    compare_cases();
    found_.only_before = alone(before_.variants, old_);
    found_.only_after = alone(after_.variants, new_);
    for (std::vector<CaseChange>& changes : by_class_) {
      std::ranges::move(changes, std::back_inserter(found_.changes));
    }
    return std::move(found_);
  }

 private:
  void compare_programs() {
    std::map<std::pair<std::string_view, std::string_view>, std::string_view> then;
    for (const TestedProgram& program : before_.programs)
      then.try_emplace({program.suite, program.backend}, program.sha256);
    for (const TestedProgram& program : after_.programs) {
      const auto old = then.find({program.suite, program.backend});
      if (old == then.end() || old->second.empty() || program.sha256.empty()) continue;
      if (old->second != program.sha256)
        found_.programs.push_back({program.suite, program.backend, std::string(old->second), program.sha256});
    }
  }

  static bool goes_with(const Variant& one, const Variant& other) {
    return is_unknown(one) || is_unknown(other) || one == other;
  }

  // The variants of one run, compared with those of the other run.
  struct Side {
    std::vector<bool> is_alone;      // the other run has no such variant
    std::vector<bool> is_elsewhere;  // also, the other run has its suite in another variant
  };

  static Side side_of(const std::vector<Variant>& here, const std::vector<Variant>& there) {
    Side side;
    for (const Variant& variant : here) {
      side.is_alone.push_back(std::ranges::none_of(there, [&](const Variant& other) {
        return other == variant || is_unknown(other) || is_unknown(variant);
      }));
      side.is_elsewhere.push_back(side.is_alone.back() &&
                                  std::ranges::any_of(there, [&](const Variant& other) {
                                    return other.suite == variant.suite && other.backend == variant.backend;
                                  }));
    }
    return side;
  }

  static std::vector<Variant> alone(const std::vector<Variant>& variants, const Side& side) {
    std::vector<Variant> only;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (side.is_alone[i]) only.push_back(variants[i]);
    }
    return only;
  }

  void compare_cases() {
    std::unordered_map<std::string, std::uint32_t> then;
    then.reserve(before_.cases.size());
    for (std::uint32_t i = 0; i < before_.cases.size(); ++i) then.try_emplace(before_.cases[i].id, i);
    std::vector<bool> is_met(before_.cases.size());
    for (std::uint32_t i = 0; i < after_.cases.size(); ++i) {
      const CaseResult& now = after_.cases[i];
      const auto old = then.find(now.id);
      const bool is_there =
          old != then.end() &&
          goes_with(before_.variants[before_.cases[old->second].variant], after_.variants[now.variant]);
      if (is_there) {
        is_met[old->second] = true;
        add_pair(old->second, i);
      } else if (!new_.is_elsewhere[now.variant]) {
        add(kTable[kAway][state_of(&now)], kNotThere, i);
      }
    }
    for (std::uint32_t i = 0; i < before_.cases.size(); ++i) {
      if (!is_met[i] && !old_.is_elsewhere[before_.cases[i].variant]) add(kDisappeared, i, kNotThere);
    }
  }

  void add_pair(std::uint32_t before, std::uint32_t after) {
    const CaseResult& old = before_.cases[before];
    const CaseResult& now = after_.cases[after];
    ++found_.compared;
    bool is_changed = add(change_of(old, now), before, after);
    if (ran(old) && ran(now)) {
      if (now.flaky && !old.flaky) is_changed |= add(kFlakier, before, after);
      if (old.flaky && !now.flaky && now.result_class == ResultClass::kPassing)
        is_changed |= add(kSteadier, before, after);
      is_changed |= compare_measures(before, after);
    }
    if (!is_changed) ++found_.unchanged;
  }

  bool compare_measures(std::uint32_t before, std::uint32_t after) {
    if (after_.variants[after_.cases[after].variant].simulated) return false;
    std::vector<MeasureChange> slower, faster;
    for (const Measure& now : after_.cases[after].measures) {
      const std::vector<Measure>& measures = before_.cases[before].measures;
      const auto old = std::ranges::find_if(
          measures, [&](const Measure& m) { return m.name == now.name && m.unit == now.unit; });
      const Better better = better_of(now.unit);
      if (old == measures.end() || better == Better::kUnknown || !is_beyond_noise(*old, now)) continue;
      const bool is_faster = (now.value > old->value) == (better == Better::kMore);
      (is_faster ? faster : slower).push_back({now.name, now.unit, old->value, now.value});
    }
    const bool is_changed = !slower.empty() || !faster.empty();
    if (!slower.empty()) add(kSlower, before, after, std::move(slower));
    if (!faster.empty()) add(kFaster, before, after, std::move(faster));
    return is_changed;
  }

  bool add(std::optional<Change> change, std::uint32_t before, std::uint32_t after,
           std::vector<MeasureChange> measures = {}) {
    if (!change) return false;
    by_class_[static_cast<std::size_t>(*change)].push_back({*change, before, after, std::move(measures)});
    return true;
  }

  const RunResults& before_;
  const RunResults& after_;
  Side old_, new_;
  std::array<std::vector<CaseChange>, kAllChanges.size()> by_class_;
  Comparison found_;
};

}  // namespace

std::string_view to_string(Change change) { return kNames[static_cast<std::size_t>(change)]; }

std::optional<Change> parse_change(std::string_view text) {
  const auto found = std::ranges::find(kAllChanges, text, [](Change change) { return to_string(change); });
  return found != kAllChanges.end() ? std::optional(*found) : std::nullopt;
}

bool is_unknown(const Variant& variant) { return variant == Variant(); }

Comparison compare(const RunResults& before, const RunResults& after) {
  return Comparer(before, after).compare();
}

std::array<std::size_t, kAllChanges.size()> counts_of(const Comparison& comparison) {
  std::array<std::size_t, kAllChanges.size()> counts{};
  for (const CaseChange& change : comparison.changes) ++counts[static_cast<std::size_t>(change.change)];
  return counts;
}

}  // namespace proctor
