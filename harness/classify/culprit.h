// Who made a bad end: for a conformance check that failed the stack under test, and not the check
// (docs/reference/diagnosis.md). It says no other problem than the diagnosis does, and nothing where nobody knows. A
// pure function of the diagnosis and of what the run says of itself. Example:
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

// A bad attempt.
struct CulpritFacts {
  const RunPlanned& run;  // its driver stack, its devices, what it tests
  std::string_view suite;
  std::string_view kind;
  std::string_view backend;
  std::vector<std::string> devices;                               // leased ids
  std::vector<std::pair<std::string, std::string>> properties{};  // what the case recorded of itself
};

std::optional<Culprit> culprit_of(const Diagnosis& diagnosis, const CulpritFacts& facts);

// Who it is where a rule of this class is the diagnosis, in words, for `proctor explain`; "" where it is nobody.
std::string culprits_of_class(FailureOwner problem, std::string_view error_class);

}  // namespace proctor
