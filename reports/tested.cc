#include "reports/tested.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace proctor {
namespace {

constexpr const char* kDiffer = "parts_differ";

const Subject& subject_of(const TestedPart& part) { return part.model->plan().subject; }

// The value on which all agree that have one.
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
    warnings.push_back({kDiffer, "what is tested, " + name + ": " + why});
    return {{}, "", why};
  }
  return subject_of(first != nullptr ? *first : parts.front()).*fact;
}

// One dirty part makes the whole dirty; it is clean where all are.
SubjectFact dirt_of(const std::vector<TestedPart>& parts) {
  SubjectFact found = subject_of(parts.front()).dirty;
  for (const TestedPart& part : parts) {
    const SubjectFact& dirty = subject_of(part).dirty;
    if (dirty.value == "true") return dirty;
    if (!dirty.value) found = dirty;
  }
  return found;
}

// The digests of one suite's program, by what they are, with the part that first has it.
std::map<std::string, std::string> digests_of(const std::vector<TestedPart>& parts,
                                              const PlannedSuite& suite) {
  std::map<std::string, std::string> digests;
  for (const TestedPart& part : parts) {
    for (const PlannedSuite& its : part.model->plan().suites) {
      if (its.name != suite.name || its.backend != suite.backend) continue;
      const ProgramRead read = part.model->program_read(its);
      if (!read.sha256.empty()) digests.emplace(read.sha256, part.name);
    }
  }
  return digests;
}

void add_program(const std::vector<TestedPart>& parts, const PlannedSuite& suite, Tested& tested) {
  if (suite.program.empty()) return;
  const auto digests = digests_of(parts, suite);
  if (digests.empty()) return;
  if (digests.size() == 1) {
    tested.programs.push_back({suite.program, digests.begin()->first, ""});
    return;
  }
  const auto& [one, in_one] = *digests.begin();
  const auto& [other, in_other] = *std::next(digests.begin());
  const std::string why = fmt::format("its SHA-256 is {} in {}, but {} in {}", one, in_one, other, in_other);
  tested.programs.push_back({suite.program, "", why});
  tested.warnings.push_back({kDiffer, fmt::format("the program of suite {}: {}", suite.name, why)});
}

}  // namespace

Tested tested_by(const std::vector<TestedPart>& parts) {
  Tested tested;
  Subject& subject = tested.subject;
  subject.commit = agreed(parts, &Subject::commit, "commit", tested.warnings);
  subject.branch = agreed(parts, &Subject::branch, "branch", tested.warnings);
  subject.repository = agreed(parts, &Subject::repository, "repository", tested.warnings);
  std::vector<Warning> of_builds;  // each shard has a job of its own
  subject.build = agreed(parts, &Subject::build, "build", of_builds);
  subject.dirty = dirt_of(parts);
  subject.checkout = subject_of(parts.front()).checkout;
  std::set<std::pair<std::string, std::string>> known;
  for (const TestedPart& part : parts) {
    for (const PlannedSuite& suite : part.model->plan().suites) {
      if (known.emplace(suite.name, suite.backend).second) tested.suites.push_back(suite);
    }
  }
  for (const PlannedSuite& suite : tested.suites) add_program(parts, suite, tested);
  return tested;
}

}  // namespace proctor
