#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/core/outcome_meaning.h"
#include "harness/core/text.h"
#include "reports/accept/accept_parts.h"
#include "reports/model/failure_summary.h"
#include "reports/model/truncate.h"

namespace proctor {
namespace {

constexpr std::size_t kLongestWords = 200;
// The reason of a check whose second process is held by a query (suites/main/helper.cc).
constexpr const char* kHeld = "helper_hang";

// The devices that a failed case with several devices is not cleared of.
struct SharedFailure {
  const CaseRecord* record = nullptr;
  const Attempt* attempt = nullptr;
};

// The vendor's name or number of what happened, where one was told.
std::string vendor_code(const AttemptEnded& end) {
  if (end.diagnosis && end.diagnosis->rule.starts_with("xid:")) return end.diagnosis->rule;
  for (const Failure& failure : end.failures) {
    for (const std::string_view prefix : {"ZE_RESULT_", "cudaError", "NVML_ERROR_"}) {
      const auto at = failure.got.find(prefix);
      if (at != std::string::npos)
        return failure.got.substr(at, failure.got.find_first_of(" .,;:)", at) - at);
    }
  }
  return {};
}

std::string words_of(const RunModel& model, const CaseRecord& record, const Attempt& attempt) {
  const bool only_warned = !is_bad(verdict_of(attempt).outcome);
  const auto about_it = [&](const Warning& warning) {
    return warning.code == WarningCode::kCaseWarning &&
           warning.text.find(record.planned.id) != std::string::npos;
  };
  const auto warning = std::ranges::find_if(model.warnings(), about_it);
  if (only_warned && warning != model.warnings().end()) return one_line(warning->text, kLongestWords);
  std::string words = fmt::format("{}: {}", record.planned.id, headline(model, record, attempt));
  const bool told = attempt.end && !attempt.end->failures.empty();
  const Failure failure = told ? attempt.end->failures.front() : Failure{};
  if (!failure.got.empty() && words.find(failure.got) == std::string::npos)
    words += fmt::format(" (expected {}, got {})", failure.expected, failure.got);
  return one_line(words, kLongestWords);
}

AcceptFinding finding_of(const RunModel& model, const CaseRecord& record, const Attempt& attempt,
                         const AcceptStep& step) {
  const Verdict verdict = verdict_of(attempt);
  const std::string words = words_of(model, record, attempt);
  // A query that hangs says more than the check that asked.
  const bool is_silent = verdict.reason.text() == kHeld;
  AcceptFinding finding{.step = std::string(step.name),
                        .case_id = record.planned.id,
                        .words = words,
                        .code = attempt.end ? vendor_code(*attempt.end) : "",
                        .evidence = attempt.start.log,
                        .rule = is_silent ? action_for("*", {Outcome::kDeviceLost, {}})
                                          : action_for(without_backend(record.planned.id), verdict)};
  return finding;
}

class CaseJudge {
 public:
  CaseJudge(const RunModel& model, const AcceptQuestion& question, JudgedDevices& devices)
      : model_(model), devices_(devices) {
    for (auto& [id, device] : devices_) {
      for (const AcceptStep* step : question.steps.taken) device.steps.push_back({.step = step});
    }
  }

  void judge() {
    for (const CaseRecord& record : model_.cases()) {
      if (const AcceptStep* step = step_of(record.planned.id)) judge(record, *step);
    }
    for (const SharedFailure& failure : shared_) attribute(failure);
    tell_what_all_have();
  }

 private:
  AcceptStepResult* result(const std::string& id, const AcceptStep& step) {
    const auto device = devices_.find(id);
    if (device == devices_.end()) return nullptr;
    const auto found = std::ranges::find(device->second.steps, &step, &AcceptStepResult::step);
    return found == device->second.steps.end() ? nullptr : &*found;
  }

  std::vector<std::string> candidates(const CaseRecord& record) const {
    std::vector<std::string> ids;
    for (const PlannedDevice& device : model_.plan().devices) {
      if (device.backend == record.planned.backend) ids.push_back(device.id);
    }
    return ids;
  }

  void judge(const CaseRecord& record, const AcceptStep& step) {
    std::set<std::string> seen;
    for (const Attempt& attempt : record.attempts) {
      if (attempt.end && !counts(attempt) && !is_suspect(attempt)) continue;
      for (const std::string& id : attempt.start.devices) {
        seen.insert(id);
        add(record, attempt, step, id);
      }
    }
    if (record.planned.devices == 0) return;
    const Verdict& verdict = model_.verdict(record);
    for (const std::string& id : candidates(record)) {
      AcceptStepResult* own = seen.contains(id) ? nullptr : result(id, step);
      if (own == nullptr || (record.planned.devices > 1 && !seen.empty())) continue;
      // A case with several devices that another one keeps from running is no gap of this one.
      const bool is_skip = verdict.outcome == Outcome::kSkip || record.planned.devices > 1;
      ++(is_skip ? own->skipped : own->not_run);
      ++own->why[verdict.outcome == Outcome::kSkip ? verdict.reason.text() : why_not_run(verdict)];
    }
  }

  // The verdict of the case is that of another device.
  static std::string why_not_run(const Verdict& verdict) {
    return verdict.outcome == Outcome::kNotrun ? to_string(verdict) : "notrun(device_unhealthy)";
  }

  void add(const CaseRecord& record, const Attempt& attempt, const AcceptStep& step, const std::string& id) {
    AcceptStepResult* own = result(id, step);
    if (own == nullptr) return;
    const Verdict& verdict = verdict_of(attempt);
    if (attempt.end) own->ms += attempt.end->duration_ms;
    const bool alone = attempt.start.devices.size() == 1;
    const bool is_known = model_.verdict(record).outcome == Outcome::kXfail && is_bad(verdict.outcome);
    if (verdict.outcome == Outcome::kSkip || is_known) {
      ++own->skipped;
      ++own->why[is_known ? "known failure" : verdict.reason.text()];
    } else if (!is_bad(verdict.outcome) && !is_warning_about_device(record, attempt)) {
      ++own->passed;
    } else if (verdict.outcome == Outcome::kNotrun || is_not_about_device(verdict)) {
      ++own->not_run;
      ++own->why[to_string(verdict)];
    } else if (alone) {
      ++own->failed;
      devices_.at(id).findings.push_back(finding_of(model_, record, attempt, step));
      failed_alone_[record.planned.id].insert(id);
    } else if (id == attempt.start.devices.front()) {
      shared_.push_back({&record, &attempt});
    }
  }

  // On hardware a rule that no document demands only warns; for who accepts a device it is as good as any other.
  static bool is_warning_about_device(const CaseRecord& record, const Attempt& attempt) {
    const std::string name = without_backend(record.planned.id);
    const bool is_about_device =
        name.starts_with("management/Inventory.") || name.starts_with("memory/Links.");
    return is_about_device && attempt.end &&
           std::ranges::find(attempt.end->marks, Mark::kWarn) != attempt.end->marks.end();
  }

  // A machine that could not give a case what it needs says nothing about a device: not even a lease.
  static bool is_not_about_device(const Verdict& verdict) { return verdict.outcome == Outcome::kError; }

  // It counts against the one device at fault; without one, all are incomplete.
  void attribute(const SharedFailure& failure) {
    const AcceptStep& step = *step_of(failure.record->planned.id);
    std::vector<std::string> at_fault;
    for (const std::string& id : failure.attempt->start.devices) {
      if (devices_.contains(id) && !devices_.at(id).findings.empty()) at_fault.push_back(id);
    }
    if (at_fault.empty()) at_fault = named_in(*failure.attempt);
    for (const std::string& id : failure.attempt->start.devices) {
      AcceptStepResult* own = result(id, step);
      if (own == nullptr) continue;
      if (at_fault.size() == 1 && at_fault.front() == id) {
        ++own->failed;
        devices_.at(id).findings.push_back(finding_of(model_, *failure.record, *failure.attempt, step));
      } else if (at_fault.empty()) {
        ++own->not_run;
        devices_.at(id).gaps.push_back("its devices fail it together, and none alone: " +
                                       words_of(model_, *failure.record, *failure.attempt));
      }
    }
  }

  // The devices that the failures name.
  std::vector<std::string> named_in(const Attempt& attempt) const {
    std::set<std::string> named;
    for (const Failure& failure : attempt.end->failures) {
      for (const std::string& id : attempt.start.devices) {
        const auto planned = std::ranges::find(model_.plan().devices, id, &PlannedDevice::id);
        const auto names = [&](const std::string& word) {
          return !word.empty() && failure.device.find(word) != std::string::npos;
        };
        const bool is_planned = planned != model_.plan().devices.end();
        if (is_planned && (failure.device == id || names(planned->uuid) || names(planned->pci)))
          named.insert(id);
      }
    }
    return {named.begin(), named.end()};
  }

  // What fails on every device of a machine with several is not the fault of each.
  void tell_what_all_have() {
    for (const auto& [case_id, failed] : failed_alone_) {
      const CaseRecord* record = model_.find(case_id);
      const auto all = candidates(*record);
      if (all.size() < 2 || failed.size() < all.size()) continue;
      for (const std::string& id : failed) {
        for (AcceptFinding& finding : devices_.at(id).findings) {
          if (finding.case_id != case_id) continue;
          finding.rule.action = AcceptAction::kFixSoftware;
          finding.words += "; all devices fail it";
        }
      }
    }
  }

  const RunModel& model_;
  JudgedDevices& devices_;
  std::vector<SharedFailure> shared_;
  std::map<std::string, std::set<std::string>> failed_alone_;  // by case
};

// Of each device with a value, by value.
using ValuesOfDevices = std::map<std::string, std::vector<std::string>>;

void judge_common(const std::string& name, const ValuesOfDevices& values, JudgedDevices& devices) {
  if (values.size() < 2) return;
  std::size_t all = 0;
  const std::vector<std::string>* most = nullptr;
  for (const auto& [value, ids] : values) {
    all += ids.size();
    if (most == nullptr || ids.size() > most->size()) most = &ids;
  }
  const bool majority = most->size() * 2 > all;
  for (const auto& [value, ids] : values) {
    if (majority && &ids == most) continue;
    for (const std::string& id : ids) {
      const std::string words =
          fmt::format("its result of {} is not that of its siblings: {}", name, one_line(value, 80));
      if (majority) {
        devices.at(id).findings.push_back({.step = "silent errors",
                                           .case_id = {},
                                           .words = words,
                                           .code = {},
                                           .evidence = {},
                                           .rule = action_for("kernels/Cores.*", {Outcome::kFail, {}})});
      } else {
        devices.at(id).gaps.push_back(words + ", and there is no majority");
      }
    }
  }
}

// Returns the rule ("xid:48") of an error in the kernel log.
std::string rule_of_kernel(const DeviceHealth& health) {
  const bool is_logged = health.what == HealthFact::kKernelLog;
  return is_logged ? health.evidence.substr(0, health.evidence.find(": ")) : "";
}

// Wrong bytes, or no answer.
ActionRule rule_of_health(const DeviceHealth& health) {
  const bool is_wrong =
      health.what == HealthFact::kL1Fail && health.evidence.find("compare") != std::string::npos;
  return is_wrong ? action_for("memory/Contents.MostOfTheMemoryKeepsAPattern", {Outcome::kFail, {}})
                  : action_for("*", {Outcome::kDeviceLost, {}});
}

}  // namespace

void judge_cases(const RunModel& model, const AcceptQuestion& question, JudgedDevices& devices) {
  CaseJudge(model, question, devices).judge();
}

void judge_common_results(const RunModel& model, JudgedDevices& devices) {
  constexpr std::string_view kCommon = "same.";
  std::map<std::pair<std::string, std::string>, ValuesOfDevices> told;  // by model and name
  for (const CaseRecord& record : model.cases()) {
    for (const Attempt& attempt : record.attempts) {
      if (!attempt.end || attempt.start.devices.size() != 1) continue;
      const auto device = devices.find(attempt.start.devices.front());
      if (device == devices.end()) continue;
      for (const auto& [name, value] : attempt.end->properties) {
        if (!name.starts_with(kCommon)) continue;
        auto& ids = told[{device->second.model, name.substr(kCommon.size())}][value];
        if (std::ranges::find(ids, device->first) == ids.end()) ids.push_back(device->first);
      }
    }
  }
  for (const auto& [key, values] : told) judge_common(key.second, values, devices);
}

void judge_health(const RunModel& model, JudgedDevices& devices) {
  for (const DeviceHealth& health : model.health()) {
    const auto device = devices.find(health.device);
    if (device == devices.end()) continue;
    const std::string words =
        one_line(fmt::format("{}: {}", health.what.text(), health.evidence), kLongestWords);
    if (health.what == HealthFact::kLost || health.what == HealthFact::kL1Fail ||
        health.what == HealthFact::kNotBack || health.what == HealthFact::kKernelLog) {
      device->second.findings.push_back({.step = "health",
                                         .case_id = health.case_id,
                                         .words = words,
                                         .code = rule_of_kernel(health),
                                         .evidence = {},
                                         .rule = rule_of_health(health)});
    } else if (health.what == HealthFact::kForeignHolder) {
      device->second.gaps.push_back("others use it: " + words);
    }
  }
}

}  // namespace proctor
