#include "reports/merge/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "harness/core/digest.h"
#include "harness/core/driver_fact.h"
#include "reports/merge/run_copy.h"
#include "reports/merge/tested.h"
#include "reports/model/exit_code.h"
#include "reports/model/report_place.h"

namespace proctor {
namespace {

using Inputs = std::vector<const MergeInput*>;

Error refused(const std::string& why, const std::string& hint = {}) {
  return Error::usage("merge the reports: " + why, hint);
}

const RunPlanned& plan_of(const MergeInput& input) { return input.model.plan(); }

std::string shard_text(const MergeInput& input) {
  return fmt::format("{}/{}", plan_of(input).shard->index, plan_of(input).shard->count);
}

// "host.kernel" differs: the two values.
Error differ(const MergeInput& a, const MergeInput& b, const std::string& what, const std::string& of_a,
             const std::string& of_b, const std::string& hint) {
  return refused(fmt::format("{}: {} in {}, but {} in {}", what, of_a, a.name, of_b, b.name), hint);
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

// By which rules a run was judged, beyond what its plan says.
std::map<std::string, std::string> rules_of(const RunPlanned& plan) {
  return {{"--strict", yes_no(plan.strict)},
          {"--each-device", yes_no(plan.each_device)},
          {"--flaky", plan.flaky_passes ? fmt::format("pass, up to {} %", plan.flaky_budget) : "fail"}};
}

Result<void> check_same_plan(const MergeInput& a, const MergeInput& b) {
  const RunPlanned& one = plan_of(a);
  const RunPlanned& other = plan_of(b);
  if (one.shard->count != other.shard->count) {
    return differ(a, b, "they are parts of different plans", "shard " + shard_text(a),
                  "shard " + shard_text(b), "");
  }
  if (one.plan_digest != other.plan_digest || one.shard->planned != other.shard->planned) {
    return differ(a, b, "different plans", fmt::format("{} cases, {}", one.shard->planned, one.plan_digest),
                  fmt::format("{} cases, {}", other.shard->planned, other.plan_digest),
                  "Give every shard the same file of `proctor plan -o FILE`.");
  }
  if (one.shard->plan != other.shard->plan) {
    return differ(a, b, "different plans: the same cases with other commands or limits", one.shard->plan,
                  other.shard->plan, "Give every shard the same file of `proctor plan -o FILE`.");
  }
  const auto rules = rules_of(other);
  for (const auto& [name, value] : rules_of(one)) {
    if (rules.at(name) != value) return differ(a, b, "different rules: " + name, value, rules.at(name), "");
  }
  return {};
}

// What the runs found out about their drivers. Some of it is about a machine and not about its stack; what
// only one of them had to look at tells nothing.
std::map<std::string, std::string> probed_stack(const RunPlanned& plan) {
  std::map<std::string, std::string> facts(plan.stack.begin(), plan.stack.end());
  std::erase_if(facts, [](const auto& fact) {
    return fact.first == "leases" || fact.first == "leases.scope" || fact.first.ends_with(".caller_mask");
  });
  return facts;
}

std::string fact_text(const StackFact& fact) {
  return fact.value ? *fact.value : fmt::format("unknown ({})", fact.reason);
}

std::vector<StackFact> said_facts(const RunPlanned& plan) {
  std::vector<StackFact> facts = plan.fingerprint;
  std::erase_if(facts, is_unsaid);
  return facts;
}

Result<void> check_same_stack(const MergeInput& a, const MergeInput& b) {
  const std::string hint = "Merge the shards of each driver stack separately.";
  const std::vector<StackFact> ours = said_facts(plan_of(a));
  const std::vector<StackFact> others = said_facts(plan_of(b));
  std::map<std::string, const StackFact*> theirs;
  for (const StackFact& fact : others) theirs[fact.name] = &fact;
  for (const StackFact& fact : ours) {
    const auto found = theirs.find(fact.name);
    if (found == theirs.end())
      return differ(a, b, "different stacks: " + fact.name, fact_text(fact), "nothing", hint);
    if (found->second->value != fact.value) {
      return differ(a, b, "different stacks: " + fact.name, fact_text(fact), fact_text(*found->second), hint);
    }
    theirs.erase(found);
  }
  if (!theirs.empty()) {
    return differ(a, b, "different stacks: " + theirs.begin()->first, "nothing",
                  fact_text(*theirs.begin()->second), hint);
  }
  const auto probed = probed_stack(plan_of(b));
  for (const auto& [name, value] : probed_stack(plan_of(a))) {
    const auto found = probed.find(name);
    if (found != probed.end() && found->second != value)
      return differ(a, b, "different stacks: " + name, value, found->second, hint);
  }
  const auto sim = [](const RunPlanned& plan) {
    return plan.sim ? plan.sim->topology + " by " + plan.sim->driver : std::string("none");
  };
  if (sim(plan_of(a)) != sim(plan_of(b)))
    return differ(a, b, "different simulations", sim(plan_of(a)), sim(plan_of(b)), hint);
  if (plan_of(a).proctor_version != plan_of(b).proctor_version) {
    return differ(a, b, "different versions of Proctor", plan_of(a).proctor_version,
                  plan_of(b).proctor_version, "");
  }
  return {};
}

// Results of two commits are of no one state of the sources.
Result<void> check_same_commit(const MergeInput& a, const MergeInput& b) {
  const auto& one = plan_of(a).subject.commit.value;
  const auto& other = plan_of(b).subject.commit.value;
  if (!one || !other || *one == *other) return {};
  return differ(a, b, "different commits", *one, *other,
                "Run all shards on one commit. If it is not detected, set it with --subject commit=...");
}

Result<void> check_numbers(const Inputs& sorted) {
  const int count = plan_of(*sorted.front()).shard->count;
  std::map<int, const MergeInput*> by_index;
  for (const MergeInput* input : sorted) {
    if (!is_shard_number(*plan_of(*input).shard))
      return refused(
          fmt::format("shard {} of {} is not a valid shard number", shard_text(*input), input->name));
    const auto [first, inserted] = by_index.emplace(plan_of(*input).shard->index, input);
    if (inserted) continue;
    return refused(fmt::format("shard {} is given twice: {} and {}", shard_text(*input), first->second->name,
                               input->name));
  }
  std::string missing;
  for (int index = 1; index <= count; ++index) {
    if (!by_index.contains(index))
      missing += fmt::format("{}{}/{}", missing.empty() ? "" : ", ", index, count);
  }
  if (missing.empty()) return {};
  return refused(
      fmt::format("shard {} is missing", missing),
      "Run the shard, or fetch its run directory. A skipped or cancelled job leaves no run directory.");
}

Result<void> check_cases(const Inputs& sorted) {
  std::map<std::string_view, const MergeInput*> owners;
  for (const MergeInput* input : sorted) {
    for (const CaseRecord& record : input->model.cases()) {
      const auto [first, inserted] = owners.emplace(record.planned.id, input);
      if (inserted) continue;
      return refused(fmt::format("the case {} is in both {} and {}", record.planned.id, first->second->name,
                                 input->name));
    }
  }
  std::vector<std::string> ids;
  for (const auto& [id, owner] : owners) ids.emplace_back(id);
  const RunPlanned& plan = plan_of(*sorted.front());
  if (digest_of_plan(std::move(ids), plan.filters) == plan.plan_digest) return {};
  return refused(fmt::format("the shards have {} cases, but not the {} of the plan", owners.size(),
                             plan.shard->planned));
}

// What the whole has from all of its shards.
struct Whole {
  bool several_hosts = false;
  std::int64_t began = 0;  // Unix time in ms of the earliest
};

Whole whole_of(const Inputs& sorted) {
  Whole whole{.began = unix_ms(plan_of(*sorted.front()).started)};
  for (const MergeInput* input : sorted) {
    whole.several_hosts =
        whole.several_hosts || plan_of(*input).hostname != plan_of(*sorted.front()).hostname;
    whole.began = std::min(whole.began, unix_ms(plan_of(*input).started));
  }
  return whole;
}

std::int64_t later_ms(const MergeInput& input, const Whole& whole) {
  return unix_ms(plan_of(input).started) - whole.began;
}

RunCopy copy_of(const MergeInput& input, const Whole& whole) {
  return {input.model,
          {.place = shard_directory(input),
           .host = whole.several_hosts ? plan_of(input).hostname + "/" : "",
           .later_ms = later_ms(input, whole)}};
}

// One shard's records, told apart from those of the others.
void copy(const MergeInput& input, const Whole& whole, std::vector<Event>& out) {
  const RunCopy records = copy_of(input, whole);
  const std::string shard = "shard " + shard_text(input) + ": ";
  for (const Warning& warning : input.model.warnings())
    out.emplace_back(Warning{warning.code, shard + warning.text});
  if (const std::string why = records.cut_short(); !why.empty())
    out.emplace_back(Warning{WarningCode::kPartIncomplete, shard + why});
  for (const CaseRecord& record : input.model.cases()) {
    records.copy_attempts(record, 0, out);
    out.emplace_back(records.end_of(record));
    if (const CasePast* past = input.model.past(record)) out.emplace_back(*past);
  }
  records.copy_health(out);
  records.copy_hardware(out);
}

std::vector<TestedPart> parts_of(const Inputs& sorted) {
  std::vector<TestedPart> parts;
  for (const MergeInput* input : sorted) parts.push_back({"shard " + shard_text(*input), &input->model});
  return parts;
}

// Of all of them: with another shard it is another run. Sorts with its first shard.
std::string merged_id(const Inputs& sorted) {
  const std::string& first = plan_of(*sorted.front()).run_id;
  if (sorted.size() == 1) return first;
  std::string ids;
  for (const MergeInput* input : sorted) ids += plan_of(*input).run_id + "\n";
  constexpr std::size_t kDigits = 8;
  return first + "+" + sha256_hex(ids).substr(0, kDigits);
}

RunPlanned merged_plan(const Inputs& sorted, const Whole& whole) {
  RunPlanned merged = plan_of(*sorted.front());
  merged.run_id = merged_id(sorted);
  merged.shard.reset();
  merged.narrowed.reset();  // each shard had its own
  merged.jobs = 0;
  merged.min_executed = 0;
  merged.devices.clear();
  int least = 0;
  std::vector<std::string> hosts;
  std::set<std::string> devices;
  std::set<std::string> facts;
  for (const auto& [name, value] : merged.stack) facts.insert(name);
  for (const MergeInput* input : sorted) {
    const RunPlanned& plan = plan_of(*input);
    const RunCopy names = copy_of(*input, whole);
    merged.started = std::min(merged.started, plan.started);
    merged.jobs += plan.jobs;
    merged.min_executed += plan.min_executed;
    least = std::max(least, least_executed(input->model));
    add_lack_of_devices(plan, merged);
    if (is_weaker(plan.containment, merged.containment)) merged.containment = plan.containment;
    if (std::find(hosts.begin(), hosts.end(), plan.hostname) == hosts.end()) hosts.push_back(plan.hostname);
    for (PlannedDevice device : plan.devices) {
      device.id = names.device(device.id);
      if (devices.insert(device.id).second) merged.devices.push_back(std::move(device));
    }
    for (const auto& fact : plan.stack) {
      if (facts.insert(fact.first).second) merged.stack.push_back(fact);
    }
    for (const CaseRecord& record : input->model.cases()) merged.cases.push_back(record.planned);
  }
  // That one shard may execute nothing does not hold for one that has devices.
  if (merged.allow_no_device) merged.min_executed = std::max(merged.min_executed, least);
  merged.hostname.clear();
  for (const std::string& host : hosts) merged.hostname += (merged.hostname.empty() ? "" : ", ") + host;
  for (const MergeInput* input : sorted) {
    merged.stack.emplace_back(
        "shard." + std::to_string(plan_of(*input).shard->index),
        fmt::format("run {} on {}, {} cases, exit code {}", plan_of(*input).run_id, plan_of(*input).hostname,
                    input->model.cases().size(), shell_exit_code(input->model)));
  }
  return merged;
}

}  // namespace

std::string shard_directory(const MergeInput& input) {
  return fmt::format("shard-{}/", plan_of(input).shard->index);
}

Result<std::vector<Event>> merge_runs(const std::vector<MergeInput>& inputs) {
  if (inputs.empty()) return refused("there are none");
  Inputs sorted;
  for (const MergeInput& input : inputs) {
    if (!plan_of(input).shard) {
      return refused(input.name + " is not a shard of a plan",
                     "Run it with --shard K/N, and give all shards the same --plan FILE.");
    }
    sorted.push_back(&input);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const MergeInput* a, const MergeInput* b) {
    return plan_of(*a).shard->index < plan_of(*b).shard->index;
  });
  for (const MergeInput* input : sorted) {
    if (auto same = check_same_plan(*sorted.front(), *input); !same) return same.error();
  }
  if (auto complete = check_numbers(sorted); !complete) return complete.error();
  for (const MergeInput* input : sorted) {
    if (auto same = check_same_stack(*sorted.front(), *input); !same) return same.error();
    if (auto same = check_same_commit(*sorted.front(), *input); !same) return same.error();
  }
  if (auto complete = check_cases(sorted); !complete) return complete.error();

  const Whole whole = whole_of(sorted);
  Tested tested = tested_by(parts_of(sorted));
  RunPlanned plan = merged_plan(sorted, whole);
  tested.move_into(plan);
  std::vector<Event> events = {std::move(plan)};
  events.insert(events.end(), tested.programs.begin(), tested.programs.end());
  events.insert(events.end(), tested.warnings.begin(), tested.warnings.end());
  RunEnded ended;
  for (const MergeInput* input : sorted) {
    copy(*input, whole, events);
    ended.at_ms = std::max(ended.at_ms, later_ms(*input, whole) + input->model.elapsed_ms());
    if (input->model.ended()) ended.finished = std::max(ended.finished, input->model.ended()->finished);
  }
  if (ended.finished.empty()) ended.finished = plan_of(*sorted.front()).started;  // none came to its end
  events.emplace_back(std::move(ended));
  return events;
}

}  // namespace proctor
