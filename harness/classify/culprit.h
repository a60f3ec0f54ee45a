// Names the component at fault for a failed attempt. If a conformance check fails, it is the stack under test and not
// the check (docs/reference/diagnosis.md). The result is consistent with Diagnosis::problem, and absent if the
// component is unknown. It is a pure function of the diagnosis and of the recorded facts of the run. Example:
//
//   const Diagnosis diagnosis{.rule = "outcome:fail", .error_class = "test_failure", .problem = FailureOwner::kCode};
//   const RunPlanned planned{};
//   const auto culprit = culprit_of(diagnosis, {.run = planned, .suite = "memory", .kind = "proctor",
//                                               .backend = "xpu", .devices = {"xpu:0000:03:00.0"}});
//   // driver, "Level Zero driver", "26.31.34567"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/journal/events.h"

namespace proctor {

// The facts of a failed attempt.
struct CulpritFacts {
  const RunPlanned& run;  // driver stack, devices and subject of the run
  std::string_view suite;
  std::string_view kind;
  std::string_view backend;
  std::vector<std::string> devices;                               // ids of leased devices
  std::vector<std::pair<std::string, std::string>> properties{};  // recorded by the case
};

std::optional<Culprit> culprit_of(const Diagnosis& diagnosis, const CulpritFacts& facts);

// Returns the culprits for diagnoses of this class in words, for `proctor explain`; "" if there are none.
std::string culprits_of_class(FailureOwner problem, std::string_view error_class);

}  // namespace proctor
