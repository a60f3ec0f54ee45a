#include "reports/merge/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/words.h"
#include "harness/journal/machine_facts.h"
#include "reports/merge/run_parts.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

using Inputs = std::vector<MergePart>;

Error refused(const std::string& why, const std::string& hint = {}) {
  return Error::usage("merge the reports: " + why, hint);
}

struct ShardNumber {
  int index = 1;
  int count = 1;
};

// A run of a whole plan counts as its only shard.
ShardNumber shard_of(const MergePart& part) {
  return part.run.plan.shard ? ShardNumber{part.run.plan.shard->index, part.run.plan.shard->count}
                             : ShardNumber{};
}

std::string shard_text(const MergePart& part) {
  return fmt::format("{}/{}", shard_of(part).index, shard_of(part).count);
}

// Returns the name for warnings of the merged run.
std::string name_of(const MergePart& part) {
  return part.run.plan.rest ? "run " + part.run.plan.run_id : "shard " + shard_text(part);
}

// Returns an error such as "host.kernel": the values in both parts.
Error differ(const MergePart& a, const MergePart& b, const std::string& what, const std::string& of_a,
             const std::string& of_b, const std::string& hint) {
  return refused(fmt::format("{}: {} in {}, but {} in {}", what, of_a, a.name, of_b, b.name), hint);
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }
std::string rule_text(bool value) { return yes_no(value); }
std::string rule_text(int value) { return std::to_string(value); }
std::string rule_text(const std::string& value) { return value; }

std::string exclusion_text(const RunPlanned& plan) {
  if (!plan.exclusion) return "none";
  return fmt::format("{:g}%:{:g}%", plan.exclusion->confidence * 100, plan.exclusion->rate * 100);
}

// Returns the rules of a run that its plan file does not contain.
std::map<std::string, std::string> rules_of(const RunPlanned& plan) {
  std::map<std::string, std::string> rules = {
      {"--repeat DURATION", yes_no(plan.stress_ms > 0)},
      {"--repeat CONFIDENCE%:RATE%", exclusion_text(plan)},
      {"--flaky", plan.flaky_passes ? fmt::format("pass, up to {} %", plan.max_flaky_percent) : "fail"}};
  for_each_rule(
      [&](const RunRule& rule, const auto& value) {
        if (!rule.option.empty()) rules.emplace(rule.option, rule_text(value));
      },
      plan.rules);
  return rules;
}

Result<void> check_same_plan(const MergePart& a, const MergePart& b) {
  const std::string hint = "Give every shard the same file of `proctor plan -o FILE`.";
  const WholePlan& one = a.run.whole_plan;
  const WholePlan& other = b.run.whole_plan;
  if (one.shards != other.shards) {
    return differ(a, b, "they are parts of different plans", "shard " + shard_text(a),
                  "shard " + shard_text(b), "");
  }
  if (one.plan_digest != other.plan_digest || one.planned != other.planned) {
    return differ(a, b, "different plans", fmt::format("{} cases, {}", one.planned, one.plan_digest),
                  fmt::format("{} cases, {}", other.planned, other.plan_digest), hint);
  }
  if (one.plan != other.plan) {
    return differ(a, b, "different plans: the same cases with other commands or limits", one.plan, other.plan,
                  hint);
  }
  const auto rules = rules_of(b.run.plan);
  for (const auto& [name, value] : rules_of(a.run.plan)) {
    if (rules.at(name) != value) return differ(a, b, "different rules: " + name, value, rules.at(name), "");
  }
  return {};
}

// Returns the facts about drivers that the runs recorded. Facts about a machine instead of its stack are removed. A
// fact that only one run recorded is not compared.
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

Result<void> check_same_stack(const MergePart& a, const MergePart& b) {
  const std::string hint = "Merge the shards of each driver stack separately.";
  const std::vector<StackFact> ours = said_facts(a.run.plan);
  const std::vector<StackFact> others = said_facts(b.run.plan);
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
  const auto probed = probed_stack(b.run.plan);
  for (const auto& [name, value] : probed_stack(a.run.plan)) {
    const auto found = probed.find(name);
    if (found != probed.end() && found->second != value)
      return differ(a, b, "different stacks: " + name, value, found->second, hint);
  }
  const auto sim = [](const RunPlanned& plan) {
    return plan.sim ? plan.sim->topology + " by " + plan.sim->driver : std::string("none");
  };
  if (sim(a.run.plan) != sim(b.run.plan))
    return differ(a, b, "different simulations", sim(a.run.plan), sim(b.run.plan), hint);
  if (a.run.plan.proctor_version != b.run.plan.proctor_version) {
    return differ(a, b, "different versions of Proctor", a.run.plan.proctor_version,
                  b.run.plan.proctor_version, "");
  }
  return {};
}

// Results of two commits do not describe one state of the sources.
Result<void> check_same_commit(const MergePart& a, const MergePart& b) {
  const auto& one = a.run.plan.subject.commit.value;
  const auto& other = b.run.plan.subject.commit.value;
  if (!one || !other || *one == *other) return {};
  return differ(a, b, "different commits", *one, *other,
                "Run all shards on one commit. If it is not detected, set it with --subject commit=...");
}

// Checks the shards of one plan: of the whole plan, or of the remaining cases of a run.
Result<void> check_numbers(const std::vector<const MergePart*>& shards) {
  const int count = shard_of(*shards.front()).count;
  std::map<int, const MergePart*> by_index;
  for (const MergePart* part : shards) {
    if (part->run.plan.shard && !is_shard_number(*part->run.plan.shard))
      return refused(
          fmt::format("shard {} of {} is not a valid shard number", shard_text(*part), part->name));
    const auto [first, inserted] = by_index.emplace(shard_of(*part).index, part);
    if (inserted) continue;
    return refused(fmt::format("shard {} is given twice: {} and {}", shard_text(*part), first->second->name,
                               part->name));
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

// The merged run identifies a device by its host name and id.
Result<void> check_machines(const Inputs& sorted) {
  std::map<std::pair<std::string, std::string>, std::pair<const MergePart*, std::string>> known;
  for (const MergePart& part : sorted) {
    for (const PlannedDevice& device : part.run.plan.devices) {
      if (device.uuid.empty()) continue;
      const auto [first, is_new] =
          known.emplace(std::pair(part.run.plan.hostname, device.id), std::pair(&part, device.uuid));
      const auto& [other, uuid] = first->second;
      if (is_new || uuid == device.uuid) continue;
      return differ(*other, part,
                    fmt::format("two machines have the name {}, or a device was replaced: {}",
                                part.run.plan.hostname, device.id),
                    uuid, device.uuid, "Give each machine a host name of its own.");
    }
  }
  return {};
}

// A run of remaining cases needs the run that left them. Otherwise the results of the other cases are unknown.
Result<void> check_runs_of_rest(const Inputs& sorted) {
  std::set<std::string> runs;
  for (const MergePart& part : sorted) runs.insert(part.run.plan.run_id);
  for (const MergePart& part : sorted) {
    if (!part.run.plan.rest) continue;
    for (const std::string& run : part.run.plan.rest->runs) {
      if (runs.contains(run)) continue;
      return refused(fmt::format("{} has what run {} left, and that run is not given", part.name, run),
                     "Give the run directories of both.");
    }
  }
  return {};
}

// Removes the shards that resume another lost shard, because they have its number.
std::vector<const MergePart*> without_resumed(const std::vector<const MergePart*>& shards) {
  std::set<std::string> runs;
  for (const MergePart* part : shards) runs.insert(part->run.plan.run_id);
  std::vector<const MergePart*> first;
  for (const MergePart* part : shards) {
    const auto& left_by = part->run.plan.rest->runs;
    if (std::ranges::none_of(left_by, [&](const std::string& run) { return runs.contains(run); }))
      first.push_back(part);
  }
  return first;
}

// A plan of `plan --remaining` may have its own shards.
Result<void> check_all_numbers(const Inputs& sorted) {
  std::vector<const MergePart*> whole;
  std::map<std::string, std::vector<const MergePart*>> of_rest;
  for (const MergePart& part : sorted) {
    if (!part.run.plan.rest) {
      whole.push_back(&part);
    } else if (part.run.plan.shard && part.run.plan.shard->plan != part.run.whole_plan.plan) {
      of_rest[part.run.plan.shard->plan].push_back(&part);
    }
  }
  if (whole.empty()) return refused("there is no shard of the whole plan");
  if (auto complete = check_numbers(whole); !complete) return complete;
  for (const auto& [plan, shards] : of_rest) {
    if (auto complete = check_numbers(without_resumed(shards)); !complete) return complete;
  }
  return check_runs_of_rest(sorted);
}

// Sets MergePart::told. A case is taken from the part with its outcome, or otherwise from the last part.
Result<void> share_cases(Inputs& sorted) {
  struct Place {
    MergePart* part = nullptr;
    std::uint32_t index = 0;
    bool proven = false;
  };
  std::map<std::string_view, Place> places;
  for (MergePart& part : sorted) {
    part.reported.resize(part.run.cases.size());
    for (const ResolvedCase& test : part.run.cases) {
      const auto [found, is_new] = places.try_emplace(test.planned.id, Place{&part, test.index});
      Place& place = found->second;
      if (!is_new && (!part.run.plan.rest || (is_proven(test) && place.proven)))
        return refused(
            fmt::format("the case {} is in both {} and {}", test.planned.id, place.part->name, part.name));
      if (!place.proven) place = {&part, test.index, is_proven(test)};
    }
  }
  std::vector<std::string> ids;
  for (const auto& [id, place] : places) {
    place.part->reported[place.index] = true;
    ids.emplace_back(id);
  }
  const MergePart& first = sorted.front();
  if (digest_of_plan(std::move(ids), first.run.plan.filters) == first.run.whole_plan.plan_digest) return {};
  return refused(fmt::format("the shards have {} cases, but not the {} of the plan", places.size(),
                             first.run.whole_plan.planned));
}

// Facts that the merged run has from all of its shards.
struct Whole {
  bool several_hosts = false;
  std::int64_t began = 0;  // Unix time in ms of the earliest start
};

Whole whole_of(const Inputs& sorted) {
  Whole whole{.began = unix_ms(sorted.front().run.plan.started)};
  for (const MergePart& part : sorted) {
    whole.several_hosts = whole.several_hosts || part.run.plan.hostname != sorted.front().run.plan.hostname;
    whole.began = std::min(whole.began, unix_ms(part.run.plan.started));
  }
  return whole;
}

std::int64_t later_ms(const MergePart& part, const Whole& whole) {
  return unix_ms(part.run.plan.started) - whole.began;
}

PartOrigin origin_of(const MergePart& part, const Whole& whole) {
  return {.place = part.place,
          .host = whole.several_hosts ? part.run.plan.hostname + "/" : "",
          .later_ms = later_ms(part, whole)};
}

// Writes the records of one run, with its own paths and device names.
void copy(const MergePart& part, const Whole& whole, EventSink& out) {
  const ResolvedRun& run = part.run;
  const RunCopy records(run, origin_of(part, whole));
  for (const Warning& warning : run.warnings)
    out.on(Warning{warning.code, name_of(part) + ": " + warning.text});
  // A case that another run executed is not missing. Then the part counts as complete.
  const bool all_reported = std::ranges::find(part.reported, false) == part.reported.end();
  if (const std::string why = records.cut_short(); !why.empty() && all_reported)
    out.on(Warning{WarningCode::kPartIncomplete, name_of(part) + ": " + why});
  std::vector<Event> events;
  for (const ResolvedCase& test : run.cases) {
    if (!part.reported[test.index]) continue;
    records.copy_attempts(test, 0, events);
    events.emplace_back(records.end_of(test));
    if (const CasePast* past = test.past) events.emplace_back(*past);
    for (const Event& event : events) out.on(event);
    events.clear();
  }
  records.copy_health(events);
  records.copy_hardware(events);
  for (const Event& event : events) out.on(event);
}

std::vector<TestedPart> tested_parts(const Inputs& sorted) {
  std::vector<TestedPart> parts;
  for (const MergePart& part : sorted) parts.push_back({name_of(part), part.run});
  return parts;
}

// Returns an id that depends on all parts, so that another set of shards is another run. It sorts with its first shard.
std::string merged_id(const Inputs& sorted) {
  const std::string& first = sorted.front().run.plan.run_id;
  if (sorted.size() == 1) return first;
  std::string ids;
  for (const MergePart& part : sorted) ids += part.run.plan.run_id + "\n";
  constexpr std::size_t kDigits = 8;
  return first + "+" + sha256_hex(ids).substr(0, kDigits);
}

// Adds the runs that the merged run consists of.
void add_runs(const Inputs& sorted, RunPlanned& merged) {
  int rests = 0;
  for (const MergePart& part : sorted) {
    const std::string number =
        part.run.plan.rest ? fmt::format("remaining.{}", ++rests) : std::to_string(shard_of(part).index);
    const std::string left = part.run.plan.rest ? " left by " + joined(part.run.plan.rest->runs, ", ") : "";
    merged.stack.emplace_back(
        "shard." + number,
        fmt::format("run {} on {}, {} cases{}, exit code {}", part.run.plan.run_id, part.run.plan.hostname,
                    part.run.cases.size(), left, part.run.shell_exit_code));
  }
}

// Adds each entry once, also if several shards have it.
void add_narrowing(const Narrowed& from, Narrowed& to) {
  const auto members = [](const auto& item) {
    if constexpr (requires { item.option; })
      return std::tie(item.option, item.value, item.covered_by);
    else
      return std::tie(item.suite, item.backend, item.name, item.value, item.by, item.covered_by);
  };
  const auto add = [&](const auto& items, auto& all) {
    for (const auto& item : items) {
      if (std::ranges::find(all, members(item), members) == all.end()) all.push_back(item);
    }
  };
  add(from.options, to.options);
  add(from.variables, to.variables);
}

RunPlanned merged_plan(const Inputs& sorted, const Whole& whole) {
  RunPlanned merged = sorted.front().run.plan;
  merged.run_id = merged_id(sorted);
  merged.shard.reset();
  merged.restrictions = {};
  merged.jobs = 0;
  merged.rules.min_executed = 0;
  merged.devices.clear();
  int least = 0;
  std::vector<std::string> hosts;
  std::set<std::string> devices;
  std::set<std::string> facts;
  for (const auto& [name, value] : merged.stack) facts.insert(name);
  for (const MergePart& part : sorted) {
    const RunPlanned& plan = part.run.plan;
    const PartOrigin origin = origin_of(part, whole);
    merged.started = std::min(merged.started, plan.started);
    merged.jobs += plan.jobs;
    merged.rules.min_executed += plan.rules.min_executed;
    add_narrowing(plan.restrictions, merged.restrictions);
    least = std::max(least, part.run.least_executed);
    add_lack_of_devices(plan, merged);
    if (is_weaker(plan.containment, merged.containment)) merged.containment = plan.containment;
    if (std::ranges::find(hosts, plan.hostname) == hosts.end()) hosts.push_back(plan.hostname);
    for (PlannedDevice device : plan.devices) {
      device.id = origin.host + device.id;
      if (devices.insert(device.id).second) merged.devices.push_back(std::move(device));
    }
    for (const auto& fact : plan.stack) {
      if (facts.insert(fact.first).second) merged.stack.push_back(fact);
    }
    for (const ResolvedCase& test : part.run.cases) {
      if (part.reported[test.index]) merged.cases.push_back(test.planned);
    }
  }
  // A shard may execute nothing if it has no device. This does not apply to shards with devices.
  if (merged.rules.allow_no_device) merged.rules.min_executed = std::max(merged.rules.min_executed, least);
  merged.hostname = joined(hosts, ", ");
  add_runs(sorted, merged);
  return merged;
}

// Sorts shards of the whole plan by number, then runs of remaining cases by their start.
void sort(Inputs& parts) {
  std::ranges::stable_sort(parts, [](const MergePart& a, const MergePart& b) {
    if (a.run.plan.rest.has_value() != b.run.plan.rest.has_value()) return b.run.plan.rest.has_value();
    if (a.run.plan.rest) return a.run.plan.started < b.run.plan.started;
    return shard_of(a).index < shard_of(b).index;
  });
  int rests = 0;
  for (MergePart& part : parts)
    part.place = part.run.plan.rest ? fmt::format("remaining-{}/", ++rests)
                                    : fmt::format("shard-{}/", shard_of(part).index);
}

// A run of the whole plan is a valid part only together with a run of its remaining cases.
Result<void> check_kinds(const Inputs& parts) {
  const bool has_rest =
      std::ranges::any_of(parts, [](const MergePart& part) { return part.run.plan.rest.has_value(); });
  for (const MergePart& part : parts) {
    if (part.run.plan.shard || part.run.plan.rest || has_rest) continue;
    return refused(part.name + " is not a shard of a plan",
                   "Run it with --shard K/N, and give all shards the same --plan FILE.");
  }
  return {};
}

Result<void> check_all_same(const Inputs& sorted) {
  for (const MergePart& part : sorted) {
    if (auto same = check_same_plan(sorted.front(), part); !same) return same;
  }
  if (auto complete = check_all_numbers(sorted); !complete) return complete;
  if (auto apart = check_machines(sorted); !apart) return apart;
  for (const MergePart& part : sorted) {
    if (auto same = check_same_stack(sorted.front(), part); !same) return same;
    if (auto same = check_same_commit(sorted.front(), part); !same) return same;
  }
  return {};
}

}  // namespace

Result<std::vector<MergePart>> read_parts(const std::vector<std::string>& names, const LoadRun& load) {
  if (names.empty()) return refused("there are none");
  std::vector<MergePart> parts;
  for (const std::string& name : names) {
    auto run = load(name);
    if (!run) return run.error();
    parts.push_back({.name = name, .place = "", .run = *std::move(run)});
  }
  if (auto known = check_kinds(parts); !known) return known.error();
  sort(parts);
  if (auto same = check_all_same(parts); !same) return same.error();
  if (auto shared = share_cases(parts); !shared) return shared.error();
  return parts;
}

void merge_parts(std::vector<MergePart> parts, EventSink& journal) {
  const Whole whole = whole_of(parts);
  Tested tested = tested_by(tested_parts(parts));
  RunPlanned plan = merged_plan(parts, whole);
  RunEnded ended;
  for (const MergePart& part : parts) {
    ended.at_ms = std::max(ended.at_ms, later_ms(part, whole) + part.run.elapsed_ms);
    if (part.run.ended) ended.finished = std::max(ended.finished, part.run.ended->finished);
  }
  if (ended.finished.empty()) ended.finished = parts.front().run.plan.started;  // no run finished
  tested.move_into(plan);
  journal.on(std::move(plan));
  for (const ProgramRead& read : tested.programs) journal.on(read);
  for (const Warning& warning : tested.warnings) journal.on(warning);
  for (MergePart& part : parts) {
    copy(part, whole, journal);
    part.run = {};  // frees memory for the merged run
  }
  journal.on(ended);
}

}  // namespace proctor
