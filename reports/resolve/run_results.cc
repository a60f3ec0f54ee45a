#include "reports/resolve/run_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/core/digest.h"
#include "harness/core/regular_file.h"
#include "harness/core/words.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/rerun.h"

namespace proctor {
namespace {

std::string known_fact(const RunPlanned& plan, std::string_view name) {
  const auto fact = std::ranges::find(plan.fingerprint, name, &StackFact::name);
  return fact != plan.fingerprint.end() ? fact->value.value_or("") : "";
}

std::string models_of(const RunPlanned& plan, const std::string& backend) {
  std::set<std::string> models;
  for (const PlannedDevice& device : plan.devices) {
    if (device.backend == backend) models.insert(device.name);
  }
  return joined({models.begin(), models.end()}, " + ");
}

// What the files of the machine say, what drivers say of themselves, and of simulated devices what was made of them. That a
// run has no faults is known, so that one which has some differs by them.
std::vector<StackFact> stack_of(const RunPlanned& plan) {
  std::vector<StackFact> stack = plan.fingerprint;
  const auto add = [&stack](const std::string& name, std::optional<std::string> value,
                            const std::string& source) {
    const bool is_absent = !value;
    if (std::ranges::find(stack, name, &StackFact::name) == stack.end())
      stack.push_back({name, std::move(value), source, "", is_absent});
  };
  for (const auto& [name, value] : plan.stack) {
    // Which run each part of a joined one is, and how it was started, is nothing that a part stands on.
    if (!name.starts_with("shard.") && !name.starts_with(kCommandEntry)) add(name, value, "");
  }
  if (plan.sim) {
    add("sim.topology", plan.sim->topology, "--sim");
    add("sim.driver", plan.sim->driver, "--sim");
    add(kSimFaultsEntry, std::nullopt, "PROCTOR_SIM_FAULTS");
  }
  return stack;
}

// As merge_runs() says it: "run ID on HOST, ...". The only shard of a plan is no part of another run: it has its id.
std::vector<std::string> shards_of(const RunPlanned& plan) {
  std::vector<std::string> shards;
  for (const auto& [name, value] : plan.stack) {
    if (!name.starts_with("shard.") || !value.starts_with("run ")) continue;
    std::string shard = value.substr(4, value.find(' ', 4) - 4);
    if (shard != plan.run_id) shards.push_back(std::move(shard));
  }
  return shards;
}

// A device of a merged run of several hosts is called HOST/ID.
std::vector<UsedDevice> used_devices(const ResolvedRun& run) {
  std::vector<UsedDevice> devices;
  for (const PlannedDevice& planned : run.plan.devices) {
    UsedDevice device{.id = planned.id, .host = run.plan.hostname, .model = planned.name};
    if (const auto slash = planned.id.find('/'); slash != planned.id.npos) {
      device.host = planned.id.substr(0, slash);
      device.id = planned.id.substr(slash + 1);
    }
    const auto share = std::ranges::find(run.device_shares, planned.id, &DeviceShare::device);
    if (share != run.device_shares.end()) {
      device.attempts = share->all;
      device.failed_attempts = share->bad;
    }
    device.drained = std::ranges::any_of(run.health, [&](const DeviceHealth& health) {
      return health.what == HealthFact::kDrained && health.device == planned.id;
    });
    devices.push_back(std::move(device));
  }
  return devices;
}

class Collector {
 public:
  Collector(const ResolvedRun& run, RunResults& results) : run_(run), results_(results) {
    stack_ = known_fact(run.plan, "image.stack");
  }

  void add(const ResolvedCase& test) {
    CaseResult result;
    result.id = test.planned.id;
    result.variant = variant_of(test);
    result.verdict = test.verdict;
    result.standing = meaning_of(result.verdict, test.planned.kind).standing;
    result.attempts = static_cast<int>(std::ranges::count(test.attempts, false, &Attempt::confirmed_alone));
    result.flaky = test.flaky;
    const bool failed = result.standing != Standing::kPassing || test.moved;
    if (failed || result.flaky) add_cause(test, result);
    result.duration_ms = test.duration_ms;
    if (const Attempt* attempt = test.telling) {
      result.device = joined(attempt->start.devices, "+");
      if (attempt->end) result.measures = attempt->end->measures;
    }
    results_.cases.push_back(std::move(result));
  }

 private:
  std::uint32_t variant_of(const ResolvedCase& test) {
    const PlannedCase& planned = test.planned;
    const Variant variant{planned.suite, planned.backend, stack_, models(planned.backend), test.simulated};
    const auto [found, is_new] =
        variants_.try_emplace(variant, static_cast<std::uint32_t>(results_.variants.size()));
    if (is_new) results_.variants.push_back(variant);
    return found->second;
  }

  const std::string& models(const std::string& backend) {
    const auto [found, is_new] = models_.try_emplace(backend);
    if (is_new) found->second = models_of(run_.plan, backend);
    return found->second;
  }

  void add_cause(const ResolvedCase& test, CaseResult& result) {
    const auto [found, is_new] =
        causes_.try_emplace(cause_key(test), static_cast<std::uint32_t>(results_.causes.size()));
    std::string text = test.headline;
    if (is_new) results_.causes.push_back({found->first, text});
    set_cause(results_, found->second, std::move(text), result);
  }

  const ResolvedRun& run_;
  RunResults& results_;
  std::string stack_;
  std::map<std::string, std::string> models_;
  std::map<Variant, std::uint32_t> variants_;
  std::map<std::string, std::uint32_t> causes_;
};

}  // namespace

std::string to_string(const Variant& variant) {
  std::string text = variant.suite;
  if (variant.backend != "none" && !variant.backend.empty()) text += "." + variant.backend;
  if (!variant.device_model.empty()) text += " on " + variant.device_model;
  if (!variant.stack.empty()) text += ", stack " + variant.stack;
  return text + (variant.simulated ? ", simulated" : "");
}

std::string words_of(const RunResults& results, const CaseResult& result) {
  if (!result.text.empty() || result.cause == kNoCause) return result.text;
  return results.causes[result.cause].text;
}

void set_cause(const RunResults& results, std::uint32_t cause, std::string text, CaseResult& result) {
  result.cause = cause;
  if (text != results.causes[cause].text) result.text = std::move(text);
}

RunResults results_of(const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  RunResults results;
  results.run_id = plan.run_id;
  results.started = plan.started;
  results.parts = shards_of(plan);
  results.subject = plan.subject;
  results.plan_digest = plan.plan_digest;
  results.stack = stack_of(plan);
  for (const PlannedSuite& suite : plan.suites) {
    results.programs.push_back({suite.name, suite.backend, run.program_read(suite).sha256});
  }
  results.devices = used_devices(run);
  results.exit_code = run.shell_exit_code;
  results.verdict = run.verdict;
  results.simulated = run.simulated;
  results.complete = run.ended.has_value();
  results.cases.reserve(run.cases.size());
  Collector collector(run, results);
  for (const ResolvedCase& test : run.cases) collector.add(test);
  return results;
}

std::vector<FactChange> moved_facts(const std::vector<StackFact>& before,
                                    const std::vector<StackFact>& after) {
  std::map<std::string_view, const StackFact*> then;
  for (const StackFact& fact : before) then.try_emplace(fact.name, &fact);
  const auto is_known = [](const StackFact& fact) { return fact.value || fact.absent; };
  std::vector<FactChange> moved;
  for (const StackFact& fact : after) {
    const auto old = then.find(fact.name);
    if (old == then.end() || !is_known(*old->second) || !is_known(fact)) continue;
    if (old->second->value != fact.value) moved.push_back({fact.name, old->second->value, fact.value});
  }
  std::ranges::sort(moved, {}, &FactChange::name);
  return moved;
}

Result<std::string> journal_sha256(const std::filesystem::path& journal) {
  auto opened = open_regular_stream(journal.string(), kMostJournal);
  if (!opened) return opened.error();
  std::ifstream& file = *opened;
  Sha256 digest;
  std::string buffer(std::size_t{1} << 16, '\0');
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    digest.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) return Error::system("read " + journal.string(), errno);
  return digest.hex();
}

}  // namespace proctor
