#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/journal/outcome_meaning.h"
#include "reports/accept/attribution.h"
#include "reports/accept/judge_acceptance.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

constexpr std::size_t kLongestWords = 200;
// The reason of a check whose helper process hangs in a query (suites/main/helper.cc).
constexpr const char* kHeld = "helper_hang";

// Returns the vendor's name or number of the error; "" if the report has none.
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

// Cases of these suites examine all devices of the machine, not only the leased ones.
bool is_about_machine(const ResolvedCase& test) { return test.planned.id.starts_with("visibility."); }

std::string suite_of(const ResolvedCase& test) {
  const std::string name = without_backend(test.planned.id);
  return name.substr(0, name.find('/'));
}

// Counts the cases of each device, and attributes each failure to a device, a connection or the software.
class CaseJudge {
 public:
  CaseJudge(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices)
      : run_(run), question_(question), devices_(devices) {
    for (auto& [id, device] : devices_) {
      for (const AcceptStep* step : question.steps.taken)
        device.steps.push_back({.name = std::string(step->name), .step = step});
    }
  }

  void judge() {
    for (const ResolvedCase& test : run_.cases) {
      if (const AcceptStep* step = step_of(test.planned.id)) count(test, *step);
    }
    for (const OfCase& found : found_) {
      for (const std::string& id : guilty_devices(found.trials)) guilty_[suite_of(*found.test)].insert(id);
    }
    for (const OfCase& found : found_) {
      if (!is_shared(found)) judge_alone(found);
    }
    for (const OfCase& found : found_) judge_trials(found);
    for (const OfCase& found : found_) {
      if (is_shared(found)) judge_shared(found);
    }
  }

 private:
  struct FailedAlone {
    const Attempt* attempt;
    std::string device;
  };
  // The failures of one case, and the trials that clear some of its devices.
  struct OfCase {
    const ResolvedCase* test;
    const AcceptStep* step;
    std::set<std::string> tried{};  // devices on which it passed or failed
    std::vector<FailedAlone> alone{};
    std::vector<TrialResult> trials{};
    std::vector<const Attempt*> failed{};  // the attempt of each failed trial, in order
  };

  AcceptStepResult* result(const std::string& id, const AcceptStep& step) {
    const auto device = devices_.find(id);
    if (device == devices_.end()) return nullptr;
    const auto found = std::ranges::find(device->second.steps, &step, &AcceptStepResult::step);
    return found == device->second.steps.end() ? nullptr : &*found;
  }

  std::vector<std::string> candidates(const ResolvedCase& test) const {
    std::vector<std::string> ids;
    for (const PlannedDevice& device : run_.plan.devices) {
      if (device.backend == test.planned.backend) ids.push_back(device.id);
    }
    return ids;
  }

  // ---- The text of a failure ----

  const Warning* warning_about(const ResolvedCase& test) const {
    const auto is_about = [&](const Warning& warning) {
      return warning.code == WarningCode::kCaseWarning &&
             warning.text.find(test.planned.id) != std::string::npos;
    };
    const auto found = std::ranges::find_if(run_.warnings, is_about);
    return found == run_.warnings.end() ? nullptr : &*found;
  }

  std::string describe(const ResolvedCase& test, const Attempt& attempt) const {
    const Warning* warning = is_bad(verdict_of(attempt).outcome) ? nullptr : warning_about(test);
    if (warning != nullptr) return one_line(warning->text, kLongestWords);
    std::string words = fmt::format("{}: {}", test.planned.id, attempt.headline);
    const bool has_failure = attempt.end && !attempt.end->failures.empty();
    const Failure failure = has_failure ? attempt.end->failures.front() : Failure{};
    if (!failure.got.empty() && words.find(failure.got) == std::string::npos)
      words += fmt::format(" (expected {}, got {})", failure.expected, failure.got);
    return one_line(words, kLongestWords);
  }

  AcceptFinding finding_of(const OfCase& found, const Attempt& attempt) const {
    const std::string& id = found.test->planned.id;
    const Verdict& verdict = verdict_of(attempt);
    // A query that hangs determines the action, whichever check called it.
    const bool is_silent = verdict.reason.text() == kHeld;
    return {.step = std::string(found.step->name),
            .case_id = id,
            .words = describe(*found.test, attempt),
            .code = attempt.end ? vendor_code(*attempt.end) : "",
            .evidence = attempt.start.log,
            .rule = is_silent ? action_for("*", Outcome::kDeviceLost)
                              : action_for(without_backend(id), verdict.outcome)};
  }

  // ---- The result of each attempt ----

  void count(const ResolvedCase& test, const AcceptStep& step) {
    std::set<std::string> seen;
    OfCase found{.test = &test, .step = &step};
    for (const Attempt& attempt : test.attempts) {
      if (attempt.end && !counts(attempt) && !is_suspect(attempt)) continue;
      seen.insert(attempt.start.devices.begin(), attempt.start.devices.end());
      count(attempt, found);
    }
    if (test.planned.devices > 0) count_not_run(test, step, seen);
    if (!found.alone.empty() || !found.failed.empty()) found_.push_back(std::move(found));
  }

  void count(const Attempt& attempt, OfCase& found) {
    const ResolvedCase& test = *found.test;
    const Verdict& verdict = verdict_of(attempt);
    const bool is_known = test.verdict.outcome == Outcome::kXfail && is_bad(verdict.outcome);
    const bool is_good = !is_bad(verdict.outcome) && !is_warning_about_device(test, attempt);
    const bool is_skipped = verdict.outcome == Outcome::kSkip || is_known;
    // An error of the machine is not evidence about a device.
    const bool is_unrun = verdict.outcome == Outcome::kNotrun || verdict.outcome == Outcome::kError;
    for (const std::string& id : attempt.start.devices) {
      AcceptStepResult* own = result(id, *found.step);
      if (own == nullptr) continue;
      if (attempt.end) own->ms += attempt.end->duration_ms;
      if (is_skipped) {
        ++own->skipped;
        ++own->why_skipped[is_known ? "known failure" : verdict.reason.text()];
      } else if (is_good) {
        ++own->passed;
        if (attempt.end) note_coverage(attempt, *own);
      } else if (is_unrun) {
        ++own->not_run;
        ++own->why_not_run[to_string(verdict)];
      }
    }
    if (is_skipped || is_unrun) return;
    found.tried.insert(attempt.start.devices.begin(), attempt.start.devices.end());
    add_trials(attempt, is_good, found);
  }

  // Counts the case for each device that did not take part in it. A device cannot take part without its partners.
  void count_not_run(const ResolvedCase& test, const AcceptStep& step, const std::set<std::string>& seen) {
    const Verdict& verdict = test.verdict;
    const bool is_skip = verdict.outcome == Outcome::kSkip;
    const bool is_unrun = verdict.outcome == Outcome::kNotrun;
    const bool by_partner =
        test.planned.devices > 1 &&
        (!is_unrun || verdict.reason == Reason::kDeviceUnhealthy || verdict.reason == Reason::kDeviceLost);
    for (const std::string& id : candidates(test)) {
      AcceptStepResult* own = seen.contains(id) ? nullptr : result(id, step);
      if (own == nullptr) continue;
      ++(is_skip || by_partner ? own->skipped : own->not_run);
      auto& why = is_skip || by_partner ? own->why_skipped : own->why_not_run;
      // The verdict of the case belongs to other devices, unless the case was not run at all.
      ++why[is_skip ? verdict.reason.text() : is_unrun ? to_string(verdict) : "notrun(device_unhealthy)"];
    }
  }

  // Reads "covered.memory", and "covered.memory.tile0" and so on for a card with tiles.
  static void note_coverage(const Attempt& attempt, AcceptStepResult& own) {
    for (const Measure& measure : attempt.end->measures) {
      if (measure.name.starts_with("covered.memory"))
        own.covered_percent = std::min(own.covered_percent.value_or(100), measure.value);
    }
  }

  // Adds the trials of a check. If the check reports none, all devices of the attempt are equals.
  void add_trials(const Attempt& attempt, bool is_good, OfCase& found) {
    bool has_failed_trial = false;
    if (attempt.end) {
      for (const Trial& trial : attempt.end->trials) {
        TrialResult result{.ok = trial.ok, .parts = parts_of(trial)};
        // A failed trial in a check that passed counts against no device.
        if (result.parts.empty() || (is_good && !trial.ok)) continue;
        has_failed_trial = has_failed_trial || !trial.ok;
        if (!trial.ok) found.failed.push_back(&attempt);
        found.trials.push_back(std::move(result));
      }
    }
    const std::vector<std::string>& devices = attempt.start.devices;
    if (has_failed_trial || devices.empty()) return;
    if (devices.size() == 1) {
      if (!is_good) found.alone.push_back({&attempt, devices.front()});
      return;
    }
    TrialResult all{.ok = is_good, .parts = {}};
    for (const std::string& id : devices) all.parts.push_back({.device = id, .role = ""});
    found.trials.push_back(std::move(all));
    if (!is_good) found.failed.push_back(&attempt);
  }

  // Returns no parts if one of the devices is unknown, because otherwise the other devices would be suspected alone.
  std::vector<TrialPart> parts_of(const Trial& trial) const {
    std::vector<TrialPart> parts;
    for (const TrialDevice& named : trial.devices) {
      const auto ids = devices_named(named.device);
      if (ids.empty()) return {};
      for (const std::string& id : ids) parts.push_back({.device = id, .role = named.role});
    }
    return parts;
  }

  // Returns the devices that a text names by address, UUID or id. A text with the address of one device and the UUID of
  // another names both. Sub-devices of a card share one address, which names none of them.
  std::set<std::string> devices_named(const std::string& text) const {
    const auto& planned = run_.plan.devices;
    std::set<std::string> named;
    for (const auto member : {&PlannedDevice::pci, &PlannedDevice::uuid, &PlannedDevice::id}) {
      for (const PlannedDevice& device : planned) {
        const std::string& word = device.*member;
        const bool is_named = !word.empty() && text.find(word) != std::string::npos;
        if (is_named && std::ranges::count(planned, word, member) == 1) named.insert(device.id);
      }
    }
    return named;
  }

  // On hardware a check without a normative source only warns. An acceptance counts such a warning like a failure.
  static bool is_warning_about_device(const ResolvedCase& test, const Attempt& attempt) {
    const AcceptStep* step = step_of(test.planned.id);
    const bool is_about_device = step != nullptr && (step->name == "inventory" || step->name == "links");
    return is_about_device && attempt.end &&
           std::ranges::find(attempt.end->marks, Mark::kWarn) != attempt.end->marks.end();
  }

  // ---- The attribution of failures ----

  static std::set<std::string> failed_alone(const OfCase& found) {
    std::set<std::string> failed;
    for (const FailedAlone& alone : found.alone) failed.insert(alone.device);
    return failed;
  }

  // A case about the whole machine counts against no single device, if there are several.
  bool is_shared(const OfCase& found) const {
    return is_about_machine(*found.test) && candidates(*found.test).size() > 1;
  }

  void judge_alone(const OfCase& found) {
    const auto failed = failed_alone(found);
    const bool on_all = failed.size() > 1 && failed.size() == found.tried.size();
    for (const FailedAlone& alone : found.alone) {
      AcceptStepResult* own = result(alone.device, *found.step);
      if (own == nullptr) continue;
      ++own->failed;
      if (!on_all) guilty_[suite_of(*found.test)].insert(alone.device);
      AcceptFinding finding = finding_of(found, *alone.attempt);
      if (on_all) {
        finding.rule.action = AcceptAction::kFixSoftware;
        finding.words += "; all devices fail it";
      }
      devices_.at(alone.device).findings.push_back(std::move(finding));
    }
  }

  void judge_shared(const OfCase& found) {
    const std::string suite = suite_of(*found.test);
    const auto failed = failed_alone(found);
    const bool is_explained = guilty_.contains(suite) || open_.contains(suite);
    for (const std::string& id : failed) {
      if (is_explained) {
        skip_explained(id, *found.step);
      } else {
        leave_open({id}, found,
                   fmt::format("the software or one of {} is at fault: {}", fmt::join(failed, ", "),
                               describe(*found.test, *found.alone.front().attempt)),
                   "fix the software, or take one device out of the machine");
      }
    }
  }

  void judge_trials(const OfCase& found) {
    const auto is_guilty = [&](const std::string& id) { return explains(id, suite_of(*found.test)); };
    const auto attributions = attribute(found.trials, is_guilty);
    std::set<std::pair<Attribution::Kind, std::vector<std::string>>> written;
    for (std::size_t i = 0; i < attributions.size(); ++i) {
      const Attribution& attribution = attributions[i];
      if (!written.emplace(attribution.kind, attribution.devices).second) continue;
      apply(attribution, *found.failed[i], found);
    }
  }

  void apply(const Attribution& attribution, const Attempt& attempt, const OfCase& found) {
    using Kind = Attribution::Kind;
    const std::string words = describe(*found.test, attempt);
    if (attribution.kind == Kind::kDevice) {
      const std::string& id = attribution.devices.front();
      if (AcceptStepResult* own = result(id, *found.step)) {
        ++own->failed;
        devices_.at(id).findings.push_back(finding_of(found, attempt));
        devices_.at(id).findings.back().words += partners_of(id, found);
      }
    } else if (attribution.kind == Kind::kExplained) {
      for (const std::string& id : attribution.devices) {
        if (!explains(id, suite_of(*found.test))) skip_explained(id, *found.step);
      }
    } else {
      leave_open(attribution.devices, found, open_words(attribution, found, words),
                 repair_of(attribution, found));
    }
  }

  static std::string open_words(const Attribution& attribution, const OfCase& found,
                                const std::string& words) {
    const std::string all = fmt::format("{}", fmt::join(attribution.devices, " and "));
    const bool is_connection =
        attribution.kind == Attribution::Kind::kConnection && !is_about_machine(*found.test);
    if (is_connection) return fmt::format("{} fail together, and each works with others: {}", all, words);
    return fmt::format("one of {} or their connection is at fault, and no other trial shows which: {}", all,
                       words);
  }

  static std::string repair_of(const Attribution& attribution, const OfCase& found) {
    const std::string all = fmt::format("{}", fmt::join(attribution.devices, " and "));
    if (is_about_machine(*found.test)) return fmt::format("fix the software, or take one of {} out", all);
    return attribution.kind == Attribution::Kind::kConnection
               ? fmt::format("reseat the connection of {}", all)
               : fmt::format("exchange one of {} for a device that passes", all);
  }

  // Returns the partners of the device in its failed trials: "; with cuda-sim:0, cuda-sim:1".
  static std::string partners_of(const std::string& id, const OfCase& found) {
    std::set<std::string> partners;
    for (const TrialResult& trial : found.trials) {
      const bool is_in = std::ranges::find(trial.parts, id, &TrialPart::device) != trial.parts.end();
      if (trial.ok || !is_in) continue;
      for (const TrialPart& part : trial.parts) {
        if (part.device != id) partners.insert(part.device);
      }
    }
    return partners.empty() ? "" : fmt::format("; with {}", fmt::join(partners, ", "));
  }

  // Returns whether a known fault of the device explains a failure between devices: a failed health check, wrong bytes
  // or results, or a finding of the same suite.
  bool explains(const std::string& id, const std::string& suite) const {
    const auto in = [&](const std::string& name) {
      const auto guilty = guilty_.find(name);
      return guilty != guilty_.end() && guilty->second.contains(id);
    };
    const auto device = devices_.find(id);
    const bool is_unhealthy =
        device != devices_.end() && std::ranges::any_of(device->second.findings, [](const auto& finding) {
          return finding.step == "health";
        });
    return is_unhealthy || in(suite) || in("memory") || in("kernels");
  }

  void skip_explained(const std::string& id, const AcceptStep& step) {
    AcceptStepResult* own = result(id, step);
    if (own == nullptr) return;
    ++own->skipped;
    ++own->why_skipped["the other device failed"];
  }

  // Marks the devices as undecided. `repair` is the text of what to do before the next acceptance.
  void leave_open(const std::vector<std::string>& ids, const OfCase& found, const std::string& words,
                  const std::string& repair) {
    open_.insert(suite_of(*found.test));
    for (const std::string& id : ids) {
      AcceptStepResult* own = result(id, *found.step);
      if (own == nullptr) continue;
      ++own->undecided;
      devices_.at(id).gaps.push_back(words);
      if (devices_.at(id).next.empty())
        devices_.at(id).next = fmt::format("{}, then: {}", repair, question_.again);
    }
  }

  const ResolvedRun& run_;
  const AcceptQuestion& question_;
  JudgedDevices& devices_;
  std::vector<OfCase> found_;
  std::map<std::string, std::set<std::string>> guilty_;  // by suite
  std::set<std::string> open_;  // suites with a failure that is attributed to no device
};

}  // namespace

void judge_cases(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices) {
  CaseJudge(run, question, devices).judge();
}

}  // namespace proctor
