#include "reports/resolve/device_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kMostNamed = 3;    // unhealthy devices in the sentence
constexpr std::size_t kMostDevices = 8;  // healthy devices in the sentence
constexpr std::size_t kEvidenceBytes = 200;

// The evidence against one device.
struct Finding {
  std::string device{};
  std::string why{};
  std::string evidence{};
  bool is_lost = false;
  bool is_logged = false;  // the kernel logged an error
};

// Unhealthy and suspect devices, in the order of RunPlanned::devices.
struct Findings {
  std::vector<Finding> bad{};
  std::vector<Finding> suspect{};

  bool has(const std::string& device) const {
    const auto is_it = [&](const Finding& finding) { return finding.device == device; };
    return std::ranges::any_of(bad, is_it) || std::ranges::any_of(suspect, is_it);
  }
};

bool ran_on(const ResolvedCase& test, const std::string& device) {
  return std::ranges::any_of(test.attempts, [&](const Attempt& attempt) {
    return std::ranges::find(attempt.start.devices, device) != attempt.start.devices.end();
  });
}

// Returns " after s/a", or " before s/a" if the case was not run on the device.
std::string when(const ResolvedRun& run, const DeviceHealth& health) {
  if (health.case_id.empty()) return "";
  const ResolvedCase* test = run.find(health.case_id);
  const bool ran = test != nullptr && ran_on(*test, health.device);
  return (ran ? " after " : " before ") + clean_text(health.case_id);
}

// Splits "memory_missing: 12 MiB are missing" into "memory_missing" and "12 MiB are missing".
std::pair<std::string, std::string> drain_words(const std::string& evidence) {
  const std::size_t colon = evidence.find(": ");
  if (colon == evidence.npos) return {evidence, evidence};
  return {evidence.substr(0, colon), evidence.substr(colon + 2)};
}

Finding finding_of(const ResolvedRun& run, const DeviceHealth& health) {
  const bool is_drain = health.what == HealthFact::kDrained;
  const auto [reason, words] =
      is_drain ? drain_words(health.evidence) : std::pair(std::string(), health.evidence);
  Finding finding{.device = health.device, .why = {}, .evidence = words, .is_lost = false};
  finding.is_lost = health.what == HealthFact::kLost || reason == to_string(HealthFact::kLost);
  if (finding.is_lost) {
    finding.why = "it was lost" + when(run, health);
  } else if (health.what == HealthFact::kProbeFailed) {
    finding.why = "its health probe failed" + when(run, health);
  } else if (reason == to_string(HealthFact::kMemoryMissing)) {
    finding.why = "its memory was not released" + when(run, health);
  } else {
    finding.why = clean_text(words);
    finding.evidence = "";
  }
  return finding;
}

// Returns the findings of the health checks by device. A later successful probe, after a
// reset, removes earlier findings.
std::map<std::string, Finding> findings_of_health(const ResolvedRun& run) {
  std::map<std::string, Finding> found;
  for (const DeviceHealth& health : run.health) {
    if (health.what == HealthFact::kProbePassed) found.erase(health.device);
    if (health.what == HealthFact::kProbeFailed || health.what == HealthFact::kLost ||
        health.what == HealthFact::kDrained)
      found.try_emplace(health.device, finding_of(run, health));
  }
  return found;
}

// Adds the first error of each device in the kernel log. A later successful probe does not remove it.
void add_logged(const ResolvedRun& run, std::map<std::string, Finding>& found) {
  for (const DeviceHealth& health : run.health) {
    if (health.what != HealthFact::kKernelLog) continue;
    const std::string at = health.case_id.empty() ? "" : " at " + clean_text(health.case_id);
    found.try_emplace(health.device, Finding{.device = health.device,
                                             .why = "the kernel logged an error of it" + at,
                                             .evidence = health.evidence,
                                             .is_logged = true});
  }
}

void add_lost(const ResolvedRun& run, std::map<std::string, Finding>& found) {
  for (const ResolvedCase& test : run.cases) {
    for (const Attempt& attempt : test.attempts) {
      if (verdict_of(attempt).outcome != Outcome::kDeviceLost || attempt.start.devices.size() != 1) continue;
      const std::string& device = attempt.start.devices.front();
      found.try_emplace(
          device,
          Finding{.device = device, .why = "it was lost in " + clean_text(test.planned.id), .is_lost = true});
    }
  }
}

// The evidence of cases against one device. Most devices have several cases with equal evidence.
struct Against {
  std::size_t cases = 0;
  std::string first{};  // set if there is only one case
  double p = 0;
};
using AgainstDevices = std::map<std::string, Against>;

std::string compared(const ResolvedCase& test, const std::string& device) {
  const DeviceRow& row = *test.by_device;
  const DeviceCount here = row.counts.at(device);
  DeviceCount elsewhere;
  for (const auto& [id, count] : row.counts) {
    if (id == device) continue;
    elsewhere.bad += count.bad;
    elsewhere.good += count.good;
  }
  return fmt::format("{} failed there {} of {} times, and {} of {} times elsewhere",
                     clean_text(test.planned.id), thousands(here.bad), thousands(here.bad + here.good),
                     thousands(elsewhere.bad), thousands(elsewhere.bad + elsewhere.good));
}

void add(AgainstDevices& against, const std::string& device, const std::string& sentence, double p) {
  Against& it = against[device];
  if (it.cases++ == 0) it.first = sentence;
  it.p = std::max(it.p, p);
}

// The evidence of --each-device: rows in which a device is at fault, and rows with too few attempts
// in which only one device fails.
struct Rows {
  AgainstDevices blamed{};
  AgainstDevices unclear{};
  std::vector<const ResolvedCase*> code{};
  std::vector<const ResolvedCase*> scattered{};  // unclear, with failures on several devices
};

Rows rows_of(const ResolvedRun& run) {
  Rows rows;
  for (const ResolvedCase& test : run.cases) {
    const DeviceRow* row = test.by_device.get();
    // A failure on a set of devices is not evidence against one of them.
    if (row == nullptr || row->counts.size() < 2 ||
        (test.planned.devices > 1 && row->suspect != Suspect::kCode))
      continue;
    if (row->suspect == Suspect::kDevice) {
      for (const std::string& device : row->devices) add(rows.blamed, device, compared(test, device), row->p);
    } else if (row->suspect == Suspect::kCode) {
      rows.code.push_back(&test);
    } else {
      std::vector<std::string> failing;
      for (const auto& [device, count] : row->counts) {
        if (count.bad > 0) failing.push_back(device);
      }
      if (failing.size() == 1) add(rows.unclear, failing.front(), compared(test, failing.front()), row->p);
      if (failing.size() > 1) rows.scattered.push_back(&test);
    }
  }
  return rows;
}

AgainstDevices moves_of(const ResolvedRun& run) {
  AgainstDevices moves;
  for (const ResolvedCase& test : run.cases) {
    const Move move = move_of(test);
    if (move.from.empty()) continue;
    add(moves, move.from,
        fmt::format("{} failed there and passed on {}", clean_text(test.planned.id), clean_text(move.to)), 0);
  }
  return moves;
}

std::string blamed_text(const Against& against) {
  if (against.cases == 1) return fmt::format("{} (p = {:.1g})", against.first, against.p);
  return fmt::format("{} fail there more often than chance explains (p = {:.1g} or less)",
                     count_text(against.cases, "case"), against.p);
}

std::string unclear_text(const Against& against) {
  if (against.cases == 1)
    return fmt::format("{}, which chance can explain (p = {:.2g})", against.first, against.p);
  return fmt::format("{} failed there alone, each of which chance can explain (p = {:.2g})",
                     count_text(against.cases, "case"), against.p);
}

std::string moved_text(const Against& against) {
  if (against.cases == 1) return against.first;
  return count_text(against.cases, "case") + " failed there and passed on another device";
}

Findings findings_of(const ResolvedRun& run, const Rows& rows) {
  std::map<std::string, Finding> bad = findings_of_health(run);
  add_lost(run, bad);
  for (const auto& [device, against] : rows.blamed)
    bad.try_emplace(device, Finding{.device = device, .why = blamed_text(against)});
  std::map<std::string, Finding> suspect;
  add_logged(run, suspect);
  for (const DeviceShare& share : run.device_shares) {
    if (share.is_outlier) suspect.try_emplace(share.device, Finding{.device = share.device});
  }
  for (const DeviceSuspicionText& suspicion : run.device_suspicions) {
    const auto found = suspect.find(suspicion.device);
    if (found != suspect.end() && !found->second.is_logged)
      found->second.why = suspicion.sentence.substr(0, suspicion.sentence.size() - 1);
  }
  for (const auto& [device, against] : moves_of(run))
    suspect.try_emplace(device, Finding{.device = device, .why = moved_text(against)});
  for (const auto& [device, against] : rows.unclear)
    suspect.try_emplace(device, Finding{.device = device, .why = unclear_text(against)});
  Findings findings;
  for (auto& [device, finding] : suspect) {
    if (!bad.contains(device)) findings.suspect.push_back(std::move(finding));
  }
  for (auto& [device, finding] : bad) findings.bad.push_back(std::move(finding));
  return findings;
}

// Returns "GPU a is unhealthy: WHY", or "2 GPUs are unhealthy: a (WHY), b (WHY)".
std::string accusation(const std::vector<Finding>& findings, std::string_view word) {
  if (findings.size() == 1)
    return fmt::format("GPU {} is {}: {}.", clean_text(findings[0].device), word, findings[0].why);
  std::vector<std::string> each;
  for (std::size_t i = 0; i < std::min(findings.size(), kMostNamed); ++i)
    each.push_back(fmt::format("{} ({})", clean_text(findings[i].device), findings[i].why));
  const std::size_t left = findings.size() - each.size();
  return fmt::format("{} are {}: {}{}.", count_text(findings.size(), "GPU"), word, joined(each, ", "),
                     left == 0 ? "" : fmt::format(" and {} more", thousands(left)));
}

// Returns "cuda-sim:0, 1, 3": devices that differ only in their number share the prefix.
std::string device_list(const std::vector<std::string>& devices) {
  if (devices.size() > kMostDevices) return count_text(devices.size(), "other device");
  std::string text;
  std::string kind;
  for (const std::string& device : devices) {
    const std::size_t colon = device.find(':');
    const std::string its_kind = device.substr(0, colon + 1);
    const bool is_number =
        colon != device.npos && device.find_first_not_of("0123456789", colon + 1) == device.npos;
    text += (text.empty() ? "" : ", ") + (is_number && its_kind == kind ? device.substr(colon + 1) : device);
    kind = is_number ? its_kind : "";
  }
  return clean_text(text);
}

// Returns the other devices on which a case passed.
std::vector<std::string> healthy_devices(const ResolvedRun& run, const Findings& findings) {
  std::set<std::string> passed;
  for (const ResolvedCase& test : run.cases) {
    for (const Attempt& attempt : test.attempts) {
      const Outcome outcome = verdict_of(attempt).outcome;
      const bool good = !is_bad(outcome) && outcome != Outcome::kSkip && counts(attempt);
      if (good) passed.insert(attempt.start.devices.begin(), attempt.start.devices.end());
    }
  }
  std::vector<std::string> devices;
  for (const PlannedDevice& device : run.plan.devices) {
    if (passed.contains(device.id) && !findings.has(device.id)) devices.push_back(device.id);
  }
  return devices;
}

// Returns whether an unhealthy or suspect device alone explains the failure of the case.
bool is_by_device(const ResolvedCase& test, const Findings& findings) {
  const Attempt* attempt = test.telling;
  return attempt != nullptr && std::ranges::any_of(attempt->start.devices, [&](const std::string& device) {
           return findings.has(device);
         });
}

// Returns " The code passed on cuda-sim:0, 1, 3.", if that is the case.
std::string code_sentence(const ResolvedRun& run, const Findings& findings) {
  std::size_t by_device = 0;
  std::size_t others = 0;
  std::size_t passed = 0;
  for (const ResolvedCase& test : run.cases) {
    if (test.verdict.outcome == Outcome::kPass) ++passed;
    if (!test.bad || test.verdict.outcome == Outcome::kNotrun) continue;
    if (run.plan.rules.each_device && test.fault_of_devices) continue;  // it passed on the other devices
    ++(is_by_device(test, findings) ? by_device : others);
  }
  if (others > 0) return fmt::format(" {} failed.", count_text(others, "other case"));
  const std::vector<std::string> healthy = healthy_devices(run, findings);
  if (healthy.empty()) return run.plan.devices.size() > 1 ? " No case passed on another device." : "";
  if (by_device == 0) return fmt::format(" The code passed on {}.", device_list(healthy));
  return passed > 0 ? fmt::format(" All other cases passed on {}.", device_list(healthy)) : "";
}

void add_evidence(const std::vector<Finding>& findings, DeviceVerdict& verdict) {
  for (std::size_t i = 0; i < std::min(findings.size(), kMostNamed); ++i) {
    const std::string device = clean_text(findings[i].device);
    const std::string evidence = one_line(clean_text(findings[i].evidence), kEvidenceBytes);
    if (evidence.empty()) continue;
    verdict.more.push_back(evidence.starts_with(device) ? evidence : device + ": " + evidence);
  }
}

void add_moves(const ResolvedRun& run, DeviceVerdict& verdict) {
  std::size_t count = 0;
  std::string first;
  for (const ResolvedCase& test : run.cases) {
    const Move move = move_of(test);
    if (move.from.empty() || ++count > 1) continue;
    first = fmt::format("{} moved from {} to {} and passed there.", test.planned.id, move.from, move.to);
  }
  if (count == 1) verdict.more.push_back(clean_text(first));
  if (count > 1)
    verdict.more.push_back(count_text(count, "case") + " moved to another device and passed there.");
}

// Adds only the number of cases that were not run.
void add_not_run(const ResolvedRun& run, DeviceVerdict& verdict) {
  std::size_t without_device = 0;
  std::map<std::string, std::size_t> not_tried;
  for (const ResolvedCase& test : run.cases) {
    if (is_device_lost(test.verdict)) ++without_device;
    for (const std::string& device : test.not_tried) ++not_tried[device];
  }
  for (const auto& [device, count] : not_tried)
    verdict.more.push_back(fmt::format("{} {} not run on {}.", count_text(count, "case"),
                                       plural(count, "was", "were"), clean_text(device)));
  if (without_device > 0) {
    verdict.more.push_back(fmt::format("{} {} no result: no other device was left.",
                                       count_text(without_device, "case"),
                                       plural(without_device, "has", "have")));
  }
}

// `elsewhere`: the passed cases did not use the devices in the verdict.
std::string exit_words(const ResolvedRun& run, bool elsewhere) {
  if (run.plan.exec || run.ending_signal != 0) return "";
  switch (run.exit_code) {
    case kExitMachine:
      return "Exit code 75: a retry on another machine is useful.";
    case kExitRed:
      return "Exit code 1: a failure counts against the code.";
    case kExitGreen:
      return "Exit code 0: every case passed" + std::string(elsewhere ? " on another device." : ".");
    default:
      return "";
  }
}

// In a merged run of several hosts, a device is HOST/ID.
void advise(const ResolvedRun& run, const Finding& first, DeviceVerdict& verdict) {
  const std::size_t slash = first.device.find('/');
  const std::string host = slash == first.device.npos ? "" : " " + first.device.substr(0, slash);
  const std::string device = slash == first.device.npos ? first.device : first.device.substr(slash + 1);
  if (first.is_lost) {
    verdict.advice =
        fmt::format("Drain the node{}, then read the kernel log and what the doctor finds:", host);
    verdict.command = "proctor doctor";
    return;
  }
  verdict.advice = fmt::format("Drain the node{}, then test the device:", host);
  verdict.command = "proctor accept --devices " + shell_quote(device);
  if (run.plan.sim) verdict.command += " --sim " + shell_quote(run.plan.sim->topology);
}

// Returns the verdict of --each-device if no device is unhealthy or suspect.
std::optional<DeviceVerdict> verdict_of_rows(const Rows& rows) {
  if (!rows.scattered.empty()) {
    const ResolvedCase& test = *rows.scattered.front();
    return DeviceVerdict{
        .sentence = fmt::format("Code or device is unclear: {} failed on several devices (p = {:.2g}).",
                                clean_text(test.planned.id), test.by_device->p)};
  }
  if (rows.code.empty()) return std::nullopt;
  const std::string what = rows.code.size() == 1 ? clean_text(rows.code.front()->planned.id)
                                                 : count_text(rows.code.size(), "case");
  return DeviceVerdict{.sentence = fmt::format("No GPU is at fault: {} failed on every device.", what)};
}

}  // namespace

Move move_of(const ResolvedCase& test) {
  if (!test.changes_device) return {};
  const auto devices = [](const Attempt* attempt) {
    return attempt == nullptr ? "" : joined(attempt->start.devices, "+");
  };
  return {devices(test.telling), devices(test.deciding)};
}

namespace {

std::optional<DeviceVerdict> device_verdict(const ResolvedRun& run) {
  const Rows rows = rows_of(run);
  const Findings findings = findings_of(run, rows);
  const bool is_proven = !findings.bad.empty();
  if (!is_proven && findings.suspect.empty()) return verdict_of_rows(rows);
  const std::vector<Finding>& shown = is_proven ? findings.bad : findings.suspect;
  DeviceVerdict verdict;
  verdict.sentence = accusation(shown, is_proven ? "unhealthy" : "suspect") + code_sentence(run, findings);
  add_evidence(shown, verdict);
  if (is_proven && !findings.suspect.empty()) verdict.more.push_back(accusation(findings.suspect, "suspect"));
  add_moves(run, verdict);
  add_not_run(run, verdict);
  const bool is_logged = shown.front().is_logged;
  verdict.exit = exit_words(run, !is_logged);
  if (is_proven || is_logged) {
    advise(run, shown.front(), verdict);
  } else if (!run.plan.exec) {
    verdict.advice = "Code or device?";
    verdict.command = fmt::format("proctor rerun {} --failed --each-device --repeat 5", kRunDirectory);
  }
  return verdict;
}

}  // namespace

void resolve_device_verdict(ResolvedRun& run) { run.device_verdict = device_verdict(run); }

}  // namespace proctor
