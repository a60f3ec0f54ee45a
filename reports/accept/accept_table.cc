#include "reports/accept/accept_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/core/count_text.h"
#include "harness/core/text.h"

namespace proctor {
namespace {

std::string number_text(const std::optional<double>& number) {
  return number ? fmt::format("{:.4g}", *number) : std::string();
}

std::string why_text(const AcceptStepResult& result) {
  std::vector<std::string> reasons;
  for (const auto& [reason, cases] : result.why)
    reasons.push_back(fmt::format("{}: {}", count_text(static_cast<std::size_t>(cases), "case"),
                                  reason.empty() ? "no reason" : reason));
  if (reasons.empty()) reasons.emplace_back("no case of it ran");
  if (reasons.size() > 3) reasons.resize(3);
  return fmt::format("{}", fmt::join(reasons, ", "));
}

struct Proof {
  std::vector<std::string> proven;
  std::vector<std::string> not_proven;

  std::string text() const {
    std::string text =
        fmt::format("proven: {}", proven.empty() ? "nothing" : fmt::format("{}", fmt::join(proven, ", ")));
    return text + fmt::format("; not proven: {}", fmt::join(not_proven, ", "));
  }
};

Proof proof_of(const AcceptedDevice& device, const Acceptance& acceptance) {
  Proof proof;
  for (const AcceptStepResult& result : device.steps) {
    const std::string name(result.step->name);
    if (result.proven()) {
      proof.proven.push_back(name);
    } else if (result.failed > 0) {
      proof.not_proven.push_back(fmt::format("{} ({} failed)", name, result.failed));
    } else {
      proof.not_proven.push_back(fmt::format("{} ({})", name, why_text(result)));
    }
  }
  for (const std::string& step : acceptance.left_out)
    proof.not_proven.push_back(step + " (no time in the budget)");
  proof.not_proven.emplace_back("the fabric between machines");
  return proof;
}

// Cases that were skipped beside those that were not.
bool is_mostly_skipped(const Acceptance& acceptance) {
  int skipped = 0, all = 0;
  for (const AcceptedDevice& device : acceptance.devices) {
    for (const AcceptStepResult& result : device.steps) {
      skipped += result.skipped + result.not_run;
      all += result.skipped + result.not_run + result.passed + result.failed;
    }
  }
  return skipped * 2 > all;
}

}  // namespace

std::vector<std::vector<std::string>> verdict_rows(const Acceptance& acceptance) {
  std::vector<std::vector<std::string>> rows;
  for (const AcceptedDevice& device : acceptance.devices) {
    const bool rejected = device.verdict == AcceptVerdict::kRejected;
    rows.push_back({device.id, device.model, std::string(to_string(device.verdict)),
                    rejected ? std::string(to_string(device.findings.front().rule.action)) : "",
                    clean_text(device.reason())});
  }
  return rows;
}

std::vector<std::vector<std::string>> figure_rows(const Acceptance& acceptance) {
  std::vector<std::vector<std::string>> rows;
  for (const AcceptedDevice& device : acceptance.devices) {
    for (const AcceptFigure& figure : device.figures) {
      if (!figure.judged()) continue;
      rows.push_back({figure.name, device.id, fmt::format("{:.4g} {}", figure.value, figure.unit),
                      number_text(figure.floor), number_text(figure.best), figure.low ? "low" : "good"});
    }
  }
  std::ranges::stable_sort(rows, {}, [](const std::vector<std::string>& row) { return row.front(); });
  return rows;
}

std::string figures_without_bound(const Acceptance& acceptance) {
  std::set<std::string> names;
  for (const AcceptedDevice& device : acceptance.devices) {
    for (const AcceptFigure& figure : device.figures) {
      if (!figure.judged()) names.insert(figure.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Devices with the same proof have one line.
std::vector<std::string> proof_lines(const Acceptance& acceptance) {
  std::vector<std::pair<std::string, std::vector<std::string>>> proofs;
  for (const AcceptedDevice& device : acceptance.devices) {
    if (device.steps.empty()) continue;
    const std::string text = proof_of(device, acceptance).text();
    auto same = std::ranges::find(proofs, text, &std::pair<std::string, std::vector<std::string>>::first);
    if (same == proofs.end()) same = proofs.insert(proofs.end(), {text, {}});
    same->second.push_back(device.id);
  }
  std::vector<std::string> lines;
  for (const auto& [text, ids] : proofs) lines.push_back(fmt::format("{}: {}", fmt::join(ids, ", "), text));
  return lines;
}

std::string accept_line(const Acceptance& acceptance) {
  std::string counts;
  for (const AcceptVerdict verdict :
       {AcceptVerdict::kRejected, AcceptVerdict::kIncomplete, AcceptVerdict::kAccepted}) {
    const auto count = std::ranges::count(acceptance.devices, verdict, &AcceptedDevice::verdict);
    if (count == 0) continue;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, to_string(verdict));
  }
  return fmt::format("{}: {}, level {}{}{} · exit {}", to_string(acceptance.verdict),
                     counts.empty() ? "there is no device" : counts, acceptance.level,
                     is_mostly_skipped(acceptance) ? ", more than half of its cases did not run" : "",
                     acceptance.simulated ? " · simulated: no evidence about hardware" : "",
                     exit_code(acceptance.verdict));
}

}  // namespace proctor
