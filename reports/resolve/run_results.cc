#include "reports/resolve/run_results.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/regular_file.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/rerun.h"

namespace proctor {
namespace {

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

CaseResult result_of(const ResolvedCase& test) {
  CaseResult result{.id = test.planned.id,
                    .variant = test.variant,
                    .verdict = test.verdict,
                    .standing = test.standing,
                    .attempts = attempt_count(test),
                    .flaky = test.flaky,
                    .duration_ms = test.duration_ms,
                    .device = telling_devices(test)};
  if (test.telling != nullptr && test.telling->end) result.measures = test.telling->end->measures;
  return result;
}

void add_cases(const ResolvedRun& run, RunResults& results) {
  std::map<std::string, std::uint32_t> causes;
  results.cases.reserve(run.cases.size());
  for (const ResolvedCase& test : run.cases) {
    CaseResult& result = results.cases.emplace_back(result_of(test));
    if (test.standing == Standing::kPassing && !test.moved && !test.flaky) continue;
    const auto [found, is_new] =
        causes.try_emplace(cause_key(test), static_cast<std::uint32_t>(results.causes.size()));
    if (is_new) results.causes.push_back({found->first, test.headline});
    set_cause(results, found->second, test.headline, result);
  }
}

}  // namespace

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
  results.variants = run.variants;
  add_cases(run, results);
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
