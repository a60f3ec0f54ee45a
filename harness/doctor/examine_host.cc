#include "harness/doctor/examine_host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/stack/lock.h"

namespace proctor {
namespace {

// Reports the cards: "2 x 8086:e223 (xe)".
void say_cards(Examination& examination) {
  std::map<std::string, int> counts;
  for (const auto& card : examination.host().cards)
    ++counts[card.id + (card.driver.empty() ? " (no driver)" : " (" + card.driver + ")")];
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) words.push_back(fmt::format("{} x {}", count, name));
  examination.ok("cards",
                 words.empty() ? "no card of Intel's or NVIDIA's on the PCI bus"
                               : fmt::format("{}", fmt::join(words, ", ")),
                 "/sys/bus/pci/devices");
}

// Adds a finding for the rule. A slow or flaky combination is usable, so it is a warning; a broken one is not usable.
void say(Examination& examination, const KnownBad& rule) {
  examination.add({rule.effect == Effect::kBroken ? HostState::kBroken : HostState::kWarn,
                   "known-bad:" + rule.id,
                   fmt::format("{}: {}", to_string(rule.effect), rule.text),
                   {},
                   rule.fix,
                   rule.sources});
}

void apply(Examination& examination, const std::vector<KnownBad>& rules) {
  std::vector<std::string> undecided;
  std::set<std::string> unknown;
  for (const auto& rule : rules) {
    const RuleAnswer answer = evaluate(rule, examination.host());
    if (answer.match == Match::kYes) say(examination, rule);
    if (answer.match != Match::kUnknown) continue;
    undecided.push_back(rule.id);
    unknown.insert(answer.unknown.begin(), answer.unknown.end());
  }
  if (undecided.empty()) return;
  const bool firmware = unknown.contains("firmware.guc") || unknown.contains("firmware.huc");
  examination.add({HostState::kWarn,
                   "known-bad",
                   fmt::format("not evaluated, because {} is unknown here: {}", fmt::join(unknown, ", "),
                               fmt::join(undecided, ", ")),
                   {},
                   firmware ? "sudo proctor doctor    (only root can read the firmware's version)"
                            : "compare by hand the facts that `proctor stack capture` cannot find with "
                              "docs/reference/doctor.md",
                   {}});
}

// Reports all outdated rules in one line, because all are in one file and are reviewed together.
void say_stale(Examination& examination, const std::vector<KnownBad>& rules, const std::string& today) {
  std::vector<std::string> stale;
  for (const auto& rule : rules) {
    if (rule.recheck < today) stale.push_back(fmt::format("{} ({})", rule.id, rule.recheck));
  }
  if (stale.empty()) return;
  examination.add({HostState::kWarn,
                   "known-bad",
                   fmt::format("rule needs re-check: {}", fmt::join(stale, ", ")),
                   {},
                   "use a newer proctor, or read the rules' sources and correct rules or dates",
                   {}});
}

}  // namespace

std::string_view to_string(HostState state) {
  switch (state) {
    case HostState::kOk:
      return "ok";
    case HostState::kWarn:
      return "warn";
    case HostState::kBroken:
      return "broken";
  }
  return "?";
}

std::vector<HostMinimum> embedded_host_minima() {
  std::vector<HostMinimum> minima;
  for (const auto& lock : embedded_locks()) {
    if (lock.host) minima.push_back({lock.name, lock.host->driver, lock.host->minimum, lock.host->source});
  }
  return minima;
}

HostFindings examine_host(const Host& host, const std::vector<HostMinimum>& minima,
                          const std::vector<KnownBad>& rules, const std::string& today) {
  Examination examination(host);
  say_cards(examination);
  check_nodes(examination);
  check_permissions(examination);
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) check_device_rules(examination, backend);
  check_by_path(examination);
  check_nvidia_driver(examination);
  check_nvidia_versions(examination);
  check_host_minimum(examination, minima);
  check_cdi(examination);
  check_mig(examination);
  check_stubs(examination);
  check_level_zero(examination);
  check_intel_generations(examination);
  check_memory_use(examination);
  apply(examination, rules);
  say_stale(examination, rules, today);
  return examination.take();
}

HostFindings find_access_faults(const Host& host, Backend backend) {
  Examination examination(host);
  check_device_rules(examination, backend);
  if (backend == Backend::kCuda) {
    check_nvidia_versions(examination);
    check_cdi(examination);
    check_mig(examination);
  }
  HostFindings found = examination.take();
  // A device rule that closes one of several cards may be intended, but the missing device may be on that card.
  std::erase_if(found, [](const HostFinding& finding) {
    return finding.state == HostState::kOk ||
           (finding.state == HostState::kWarn && finding.check != "device-rules");
  });
  return found;
}

std::string to_sentence(const HostFinding& finding) {
  return fmt::format("{}{}{}{}{}", finding.what, finding.where.empty() ? "" : ", at ", finding.where,
                     finding.fix.empty() ? "" : "; to fix it: ", finding.fix);
}

std::string today_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

HostState worst_state(const HostFindings& findings) {
  HostState worst = HostState::kOk;
  for (const auto& finding : findings) worst = std::max(worst, finding.state);
  return worst;
}

std::string telling_finding(const HostFindings& findings) {
  const auto broken = std::ranges::find(findings, HostState::kBroken, &HostFinding::state);
  if (broken != findings.end())
    return broken->what + (broken->fix.empty() ? "" : "; to fix it: " + broken->fix);
  const auto cards = std::ranges::find(findings, "cards", &HostFinding::check);
  return cards == findings.end() ? "" : cards->what;
}

std::string to_json(const HostFindings& findings) {
  nlohmann::json document = {{"ok", 0}, {"warn", 0}, {"broken", 0}, {"verdicts", nlohmann::json::array()}};
  for (const auto& finding : findings) {
    const std::string state(to_string(finding.state));
    document[state] = document[state].get<int>() + 1;
    document["verdicts"].push_back({{"check", clean_text(finding.check)},
                                    {"state", state},
                                    {"what", clean_text(finding.what)},
                                    {"where", clean_text(finding.where)},
                                    {"fix", clean_text(finding.fix)},
                                    {"sources", finding.sources}});
  }
  return document.dump(2);
}

}  // namespace proctor
