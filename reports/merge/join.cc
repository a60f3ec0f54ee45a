#include "reports/merge/join.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/digest.h"
#include "harness/base/words.h"
#include "harness/journal/machine_facts.h"
#include "reports/merge/run_parts.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

const RunPlanned& plan_of(const JoinPart& part) { return part.run.plan; }

// Returns the Unix time at which the clock of the part's journal was zero. The journal has it in whole seconds. The
// file times are more precise, unless the files were copied.
std::int64_t zero_of(const JoinPart& part) {
  constexpr std::int64_t kOneSecond = 1000;
  const std::int64_t said = unix_ms(plan_of(part).started);
  const std::int64_t seen = part.ended_ms - part.run.elapsed_ms;
  return seen > said - kOneSecond && seen < said + 2 * kOneSecond ? seen : said;
}

// Collects facts of the parts' machines. Each fact with different values gets a warning.
class Facts {
 public:
  void add(const JoinPart& part) {
    for (const auto& [name, value] : plan_of(part).stack) {
      if (name != kSimFaultsEntry) add(part, name, value);
    }
    for (const StackFact& fact : plan_of(part).fingerprint) {
      if (is_unsaid(fact)) {
        unsaid_.push_back(fact);
        continue;
      }
      if (fingerprint_names_.insert(fact.name).second) fingerprint_.push_back(fact);
      add(part, fact.name, fact.value.value_or("unknown"), /*known=*/fact.value.has_value());
    }
    if (const auto& sim = plan_of(part).sim; sim && sims_.insert(sim->topology + sim->driver).second) {
      if (!sim_) {
        sim_ = *sim;
      } else {
        sim_->topology += " + " + sim->topology;
        if (sim_->driver != sim->driver) sim_->driver += " + " + sim->driver;
      }
    }
    if (plan_of(part).sim) faults_.insert(faults_of(part));
  }

  void move_into(RunPlanned& joined, std::vector<Warning>& warnings) {
    joined.stack = std::move(stack_);
    const std::set<std::string> nowhere = {kNoFaults};
    if (!faults_.empty() && faults_ != nowhere)
      joined.stack.emplace_back(kSimFaultsEntry, proctor::joined({faults_.begin(), faults_.end()}, " + "));
    for (const auto& [name, value] : joined.stack) fingerprint_names_.insert(name);
    for (StackFact& fact : unsaid_) {  // facts that no part has
      if (fingerprint_names_.insert(fact.name).second) fingerprint_.push_back(std::move(fact));
    }
    joined.fingerprint = std::move(fingerprint_);
    joined.sim = std::move(sim_);
    warnings.insert(warnings.end(), differences_.begin(), differences_.end());
  }

 private:
  static constexpr const char* kNoFaults = "none";

  static std::string faults_of(const JoinPart& part) {
    const auto& stack = plan_of(part).stack;
    const auto found = std::ranges::find(stack, kSimFaultsEntry, &std::pair<std::string, std::string>::first);
    return found == stack.end() ? kNoFaults : found->second;
  }

  void add(const JoinPart& part, const std::string& name, const std::string& value, bool known = true) {
    const auto [first, inserted] = first_.emplace(name, std::pair(part.place, value));
    if (inserted && known) stack_.emplace_back(name, value);
    if (inserted || first->second.second == value || !reported_.insert(name).second) return;
    differences_.push_back(
        {WarningCode::kPartMismatch, fmt::format("{} is {} in {}, but {} in {}", name, first->second.second,
                                                 first->second.first, value, part.place)});
  }

  std::vector<std::pair<std::string, std::string>> stack_;
  std::vector<StackFact> fingerprint_;
  std::vector<StackFact> unsaid_;
  std::set<std::string> fingerprint_names_;
  std::map<std::string, std::pair<std::string, std::string>> first_;  // name -> place, value
  std::set<std::string> reported_;
  std::vector<Warning> differences_;
  std::set<std::string> sims_;
  std::optional<SimInfo> sim_;
  std::set<std::string> faults_;  // of the simulated parts
};

// Returns whether a flaky case fails this part. Then it fails the joined run, too.
bool forbids_flaky(const JoinPart& part) { return !part.run.flaky_cases.allowed; }

// Returns the parts that determine the verdict of some case, and the parts without cases.
// All other parts were repeated.
std::set<const JoinPart*> last_parts(const std::vector<JoinPart>& parts) {
  std::map<std::string, const JoinPart*> last;
  std::set<const JoinPart*> found;
  for (const JoinPart& part : parts) {
    if (part.run.cases.empty()) found.insert(&part);
    for (const ResolvedCase& test : part.run.cases) last[test.planned.id] = &part;
  }
  for (const auto& [id, part] : last) found.insert(part);
  return found;
}

// Returns the problems of a part that the records of its cases do not contain.
std::vector<Warning> shortages(const JoinPart& part) {
  std::vector<Warning> warnings;
  if (const std::string why = RunCopy(part.run, {part.place + "/"}).cut_short(); !why.empty())
    warnings.push_back({WarningCode::kPartIncomplete, why});
  const int executed = part.run.summary.executed();
  if (executed < plan_of(part).rules.min_executed) {
    warnings.push_back({WarningCode::kPartIncomplete, fmt::format("{} executed, --min-executed {}", executed,
                                                                  plan_of(part).rules.min_executed)});
  }
  return warnings;
}

// Adds the command that started each suite, so that each of its cases can be run again.
void add_commands(const std::vector<JoinPart>& parts, RunPlanned& joined) {
  std::set<std::string> known;
  for (const JoinPart& part : parts) {
    for (const ResolvedCase& test : part.run.cases) {
      if (!known.insert(test.planned.suite).second) continue;
      joined.stack.emplace_back(std::string(kCommandEntry) + test.planned.suite,
                                command_of_part(part.run, joined.directory));
    }
  }
}

// A rule on which the parts must agree holds for the joined run if it holds for each part.
RunRules joined_rules(const std::vector<JoinPart>& parts) {
  RunRules joined;
  for (const JoinPart& part : parts) {
    for_each_rule(
        [&](const RunRule& rule, auto& whole, const auto& value) {
          if (!rule.option.empty()) whole = &part == &parts.front() ? value : std::min(whole, value);
        },
        joined, plan_of(part).rules);
  }
  return joined;
}

RunPlanned joined_plan(const JoinRequest& request, std::vector<Warning>& warnings) {
  RunPlanned joined;
  const RunPlanned& first = plan_of(request.parts.front());
  joined.run_id = request.run_id;
  joined.command_line = request.command_line;
  joined.started = first.started;
  joined.proctor_version = first.proctor_version;
  joined.directory = first.directory;
  joined.hostname = first.hostname;
  joined.containment = first.containment;
  joined.flaky_passes = true;
  joined.max_flaky_percent = 100;
  joined.rules = joined_rules(request.parts);
  Facts facts;
  std::set<std::string> devices;
  std::set<std::string> filters;
  std::map<std::string, std::size_t> cases;
  const std::set<const JoinPart*> last = last_parts(request.parts);
  int least = 0;
  for (const JoinPart& part : request.parts) {
    const RunPlanned& plan = plan_of(part);
    joined.started = std::min(joined.started, plan.started);
    joined.jobs = std::max(joined.jobs, plan.jobs);
    joined.flaky_passes = joined.flaky_passes && !(last.contains(&part) && forbids_flaky(part));
    least = std::max(least, part.run.least_executed);
    add_lack_of_devices(plan, joined);
    if (is_weaker(plan.containment, joined.containment)) joined.containment = plan.containment;
    for (const PlannedDevice& device : plan.devices) {
      if (devices.insert(device.id).second) joined.devices.push_back(device);
    }
    filters.insert(plan.filters.begin(), plan.filters.end());
    for (const ResolvedCase& test : part.run.cases) {
      if (cases.emplace(test.planned.id, cases.size()).second) joined.cases.push_back(test.planned);
    }
    facts.add(part);
  }
  if (!joined.flaky_passes) joined.max_flaky_percent = 0;
  // A part may execute nothing if it has no device. This does not apply to parts with devices.
  if (joined.rules.allow_no_device) joined.rules.min_executed = std::max(joined.rules.min_executed, least);
  joined.filters.assign(filters.begin(), filters.end());
  std::vector<std::string> ids;
  for (const PlannedCase& test : joined.cases) ids.push_back(test.id);
  joined.plan_digest = digest_of_plan(std::move(ids), joined.filters);
  facts.move_into(joined, warnings);
  add_commands(request.parts, joined);
  return joined;
}

// Groups equal warnings, because most parts have the same ones.
std::vector<Warning> warnings_of(const std::vector<JoinPart>& parts) {
  struct Said {
    Warning warning;
    std::string place;
    std::size_t times = 0;
  };
  std::vector<Said> all;
  std::map<std::pair<WarningWord, std::string>, std::size_t> index;
  const std::set<const JoinPart*> last = last_parts(parts);
  for (const JoinPart& part : parts) {
    std::vector<Warning> warnings = part.run.warnings;
    if (last.contains(&part)) {
      for (Warning& shortage : shortages(part)) warnings.push_back(std::move(shortage));
    }
    for (const Warning& warning : warnings) {
      const auto [found, inserted] = index.emplace(std::pair(warning.code, warning.text), all.size());
      if (inserted) all.push_back({warning, part.place, 0});
      ++all[found->second].times;
    }
  }
  std::vector<Warning> warnings;
  for (Said& said : all) {
    if (said.times == parts.size()) {
      warnings.push_back(std::move(said.warning));
    } else {
      const std::string more = said.times > 1 ? fmt::format(" and {} more", said.times - 1) : "";
      warnings.push_back({said.warning.code, said.place + more + ": " + said.warning.text});
    }
  }
  return warnings;
}

std::vector<TestedPart> tested_parts(const std::vector<JoinPart>& parts) {
  std::vector<TestedPart> tested;
  for (const JoinPart& part : parts) tested.push_back({part.place, part.run});
  return tested;
}

struct Teller {
  const RunCopy* copy;
  const ResolvedCase* test;
};

// Copies one case with the attempts of all parts that contain it.
void copy_case(const std::vector<Teller>& tellers, std::vector<Event>& out) {
  int attempts = 0;
  bool was_bad = false;
  std::set<MarkWord> marks;
  for (const auto& [copy, test] : tellers) {
    copy->copy_attempts(*test, attempts, out);
    int more = 0;
    for (const Attempt& attempt : test->attempts) more = std::max(more, attempt.start.attempt);
    attempts += more;
    if (test->end) marks.insert(test->end->marks.begin(), test->end->marks.end());
    if (test != tellers.back().test) was_bad = was_bad || test->bad;
  }
  const Teller& last = tellers.back();
  if (was_bad && !last.test->bad) marks.emplace(Mark::kFlaky);
  CaseEnded end = last.copy->end_of(*last.test);
  end.marks.assign(marks.begin(), marks.end());
  out.emplace_back(std::move(end));
  if (const CasePast* past = last.test->past) out.emplace_back(*past);
}

}  // namespace

std::vector<Event> join_runs(const JoinRequest& request) {
  std::vector<Warning> warnings = request.warnings;
  RunPlanned plan = joined_plan(request, warnings);
  std::vector<std::string> order;
  for (const PlannedCase& test : plan.cases) order.push_back(test.id);
  std::int64_t began = zero_of(request.parts.front());
  for (const JoinPart& part : request.parts) began = std::min(began, zero_of(part));
  RunEnded ended{.finished = plan.started, .at_ms = 0};
  Tested tested = tested_by(tested_parts(request.parts));
  tested.move_into(plan);
  std::vector<Event> events = {std::move(plan)};
  events.insert(events.end(), tested.programs.begin(), tested.programs.end());
  for (const auto& all : {warnings, tested.warnings, warnings_of(request.parts)}) {
    for (const Warning& warning : all) events.emplace_back(warning);
  }

  std::vector<RunCopy> copies;
  copies.reserve(request.parts.size());
  std::map<std::string, std::vector<Teller>> tellers;
  for (const JoinPart& part : request.parts) {
    const std::int64_t later = zero_of(part) - began;
    copies.emplace_back(part.run, PartOrigin{.place = part.place + "/", .later_ms = later});
    for (const ResolvedCase& test : part.run.cases)
      tellers[test.planned.id].push_back({&copies.back(), &test});
    ended.at_ms = std::max(ended.at_ms, later + part.run.elapsed_ms);
    if (part.run.ended) ended.finished = std::max(ended.finished, part.run.ended->finished);
  }
  for (const std::string& id : order) copy_case(tellers.at(id), events);
  for (const RunCopy& copy : copies) {
    copy.copy_health(events);
    copy.copy_hardware(events);
  }
  events.emplace_back(std::move(ended));
  return events;
}

}  // namespace proctor
