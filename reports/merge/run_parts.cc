#include "reports/merge/run_parts.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/journal/containment_layer.h"

namespace proctor {
namespace {

// An unknown layer counts as the weakest.
Layer layer_of(const ContainmentInfo& info) { return parse_layer(info.layer).value_or(kAllLayers.back()); }

}  // namespace

void RunCopy::copy_attempts(const ResolvedCase& test, int before, std::vector<Event>& out) const {
  for (const Attempt& attempt : test.attempts) {
    AttemptStarted start = attempt.start;
    start.case_id = test.planned.id;
    start.environment = attempt.environment();
    start.attempt += before;
    start.at_ms += origin_.later_ms;
    for (std::string& id : start.devices) id = device(id);
    move_below(start.log);
    out.emplace_back(std::move(start));
    if (!attempt.end) continue;
    AttemptEnded end = *attempt.end;
    end.case_id = test.planned.id;
    end.output.log = attempt.start.log;
    end.telemetry = attempt.telemetry();
    end.attempt += before;
    end.at_ms += origin_.later_ms;
    move_below(end.output.log);
    move_below(end.evidence.file);
    move_below(end.evidence.core.file);
    for (DeviceTelemetry& telemetry : end.telemetry.devices) telemetry.device = device(telemetry.device);
    out.emplace_back(std::move(end));
  }
}

CaseEnded RunCopy::end_of(const ResolvedCase& test) const {
  CaseEnded end = test.end.value_or(CaseEnded{{}, {}, {}, "", ""});
  end.case_id = test.planned.id;
  end.verdict = test.verdict;
  return end;
}

void RunCopy::copy_health(std::vector<Event>& out) const {
  for (DeviceHealth health : run_.health) {
    health.device = device(health.device);
    health.at_ms += origin_.later_ms;
    out.emplace_back(std::move(health));
  }
}

void RunCopy::copy_hardware(std::vector<Event>& out) const {
  for (HardwareEvidence evidence : run_.hardware) {
    evidence.id = device(evidence.id);
    evidence.at_ms += origin_.later_ms;
    out.emplace_back(std::move(evidence));
  }
}

std::string RunCopy::cut_short() const {
  if (run_.stop_signal != 0) return fmt::format("it was stopped by signal {}", run_.stop_signal);
  if (run_.stop) return "it was stopped: " + run_.stop->reason.text();
  return run_.ended ? "" : "its runner was killed";
}

void add_lack_of_devices(const RunPlanned& part, RunPlanned& whole) {
  for (const std::string& vendor : part.backends_present) {
    if (std::ranges::find(whole.backends_present, vendor) == whole.backends_present.end())
      whole.backends_present.push_back(vendor);
  }
  if (whole.rules.fail_on_skip.empty() || part.rules.fail_on_skip == "*")
    whole.rules.fail_on_skip = part.rules.fail_on_skip;
  const bool says_more =
      whole.missing_backend.empty() || (whole.rules.allow_no_device && !part.rules.allow_no_device);
  if (part.missing_backend.empty() || !says_more) return;
  whole.missing_backend = part.missing_backend;
  whole.hidden_by = part.hidden_by;
  whole.rules.allow_no_device = part.rules.allow_no_device;
}

bool is_weaker(const ContainmentInfo& one, const ContainmentInfo& other) {
  return layer_of(one) > layer_of(other);  // the best layer comes first
}

namespace {

const Subject& subject_of(const TestedPart& part) { return part.run.plan.subject; }

// Returns the value on which all parts with a value agree.
SubjectFact agreed(const std::vector<TestedPart>& parts, SubjectFact Subject::*fact, const std::string& name,
                   std::vector<Warning>& warnings) {
  const TestedPart* first = nullptr;
  for (const TestedPart& part : parts) {
    const auto& value = (subject_of(part).*fact).value;
    if (!value) continue;
    if (first == nullptr) first = &part;
    const std::string& known = *(subject_of(*first).*fact).value;
    if (*value == known) continue;
    const std::string why =
        fmt::format("it is {} in {}, but {} in {}", known, first->name, *value, part.name);
    warnings.push_back({WarningCode::kPartMismatch, "the subject, " + name + ": " + why});
    return {{}, "", why};
  }
  return subject_of(first != nullptr ? *first : parts.front()).*fact;
}

// One dirty part makes the larger run dirty. It is clean only if all parts are clean.
SubjectFact working_tree_state(const std::vector<TestedPart>& parts) {
  SubjectFact found = subject_of(parts.front()).dirty;
  for (const TestedPart& part : parts) {
    const SubjectFact& dirty = subject_of(part).dirty;
    if (dirty.value == "true") return dirty;
    if (!dirty.value) found = dirty;
  }
  return found;
}

using SuiteName = std::pair<std::string, std::string>;  // a suite and its backend

SuiteName name_of(const PlannedSuite& suite) { return {suite.name, suite.backend}; }

// The facts of all parts about one program.
struct Known {
  std::string sha256{};
  std::string where{};   // the first part with the digest
  std::string unread{};  // why a part has no digest
  std::string differ{};  // the place of a different digest

  void add(const ProgramRead& read, const std::string& part) {
    if (read.sha256.empty()) {
      if (unread.empty()) unread = fmt::format("{}: {}", part, read.reason);
    } else if (sha256.empty()) {
      sha256 = read.sha256;
      where = part;
    } else if (read.sha256 != sha256 && differ.empty()) {
      differ = fmt::format("its SHA-256 is {} in {}, but {} in {}", sha256, where, read.sha256, part);
    }
  }
};

// Returns the programs by path, which several suites may share. A suite may have another path in another part.
std::map<std::string, Known> known_programs(const std::vector<TestedPart>& parts,
                                            const std::vector<PlannedSuite>& suites) {
  std::map<std::string, Known> programs;
  std::map<SuiteName, std::string> path_of;
  for (const PlannedSuite& suite : suites) {
    if (suite.program.empty()) continue;
    programs[suite.program];
    path_of[name_of(suite)] = suite.program;
  }
  for (const TestedPart& part : parts) {
    for (const PlannedSuite& its : part.run.plan.suites) {
      const ProgramRead read = part.run.program_read(its);
      std::set<std::string> paths;
      if (programs.contains(its.program)) paths.insert(its.program);
      if (const auto found = path_of.find(name_of(its)); found != path_of.end()) paths.insert(found->second);
      for (const std::string& path : paths) programs.at(path).add(read, part.name);
    }
  }
  return programs;
}

// A program has a digest only if every part that started it recorded the same digest.
void add_programs(const std::vector<TestedPart>& parts, Tested& tested) {
  for (const auto& [path, known] : known_programs(parts, tested.suites)) {
    const std::string& why = known.differ.empty() ? known.unread : known.differ;
    tested.programs.push_back({path, why.empty() ? known.sha256 : "", why});
    if (!known.differ.empty())
      tested.warnings.push_back(
          {WarningCode::kPartMismatch, fmt::format("the program {}: {}", path, known.differ)});
  }
}

// Returns the text that all parts share; "" with a warning if they differ.
template <class TextOf>
std::string same_text(const std::vector<TestedPart>& parts, const std::string& name, const TextOf& text_of,
                      std::vector<Warning>& warnings) {
  const auto shown_text = [](const std::string& text) { return text.empty() ? "not given" : text; };
  const std::string first = text_of(parts.front().run.plan);
  for (const TestedPart& part : parts) {
    const std::string other = text_of(part.run.plan);
    if (other == first) continue;
    warnings.push_back(
        {WarningCode::kPartMismatch, fmt::format("{} is {} in {}, but {} in {}", name, shown_text(first),
                                                 parts.front().name, shown_text(other), part.name)});
    return {};
  }
  return first;
}

// Compares the lists by their digest, because each machine may have the file in another directory.
std::optional<KnownFailuresFile> same_known_failures(const std::vector<TestedPart>& parts,
                                                     std::vector<Warning>& warnings) {
  const auto digest = [](const RunPlanned& plan) {
    return plan.known_failures ? plan.known_failures->sha256 : std::string();
  };
  if (same_text(parts, "the SHA-256 of --known-failures", digest, warnings).empty()) return std::nullopt;
  return parts.front().run.plan.known_failures;
}

}  // namespace

void Tested::move_into(RunPlanned& plan) {
  plan.subject = std::move(subject);
  plan.suites = std::move(suites);
  plan.known_failures = std::move(known_failures);
  plan.size = std::move(size);
  plan.seed = seed;
  plan.profile = std::move(profile);
}

Tested tested_by(const std::vector<TestedPart>& parts) {
  Tested tested;
  Subject& subject = tested.subject;
  subject.commit = agreed(parts, &Subject::commit, "commit", tested.warnings);
  subject.branch = agreed(parts, &Subject::branch, "branch", tested.warnings);
  subject.repository = agreed(parts, &Subject::repository, "repository", tested.warnings);
  std::vector<Warning> of_builds;  // these warnings are dropped, because each shard has its own CI job
  subject.build = agreed(parts, &Subject::build, "build", of_builds);
  subject.dirty = working_tree_state(parts);
  subject.checkout = subject_of(parts.front()).checkout;
  std::set<std::pair<std::string, std::string>> known;
  for (const TestedPart& part : parts) {
    for (const PlannedSuite& suite : part.run.plan.suites) {
      if (known.emplace(suite.name, suite.backend).second) tested.suites.push_back(suite);
    }
  }
  add_programs(parts, tested);
  tested.known_failures = same_known_failures(parts, tested.warnings);
  tested.size = same_text(
      parts, "--suite-arg size", [](const RunPlanned& plan) { return plan.size; }, tested.warnings);
  const std::string seed = same_text(
      parts, "--suite-arg seed", [](const RunPlanned& plan) { return std::to_string(plan.seed); },
      tested.warnings);
  tested.seed = seed.empty() ? 0 : parts.front().run.plan.seed;
  tested.profile = same_text(
      parts, "--profile", [](const RunPlanned& plan) { return plan.profile; }, tested.warnings);
  return tested;
}

}  // namespace proctor
