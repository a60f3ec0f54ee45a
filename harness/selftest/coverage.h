// What the suites cover: each rule with its checks and the faults that must make them fail, each fault of the simulator
// with the checks that must notice it, and each function of the vendors' interfaces with the checks that call it, or why
// none does.
//
// Rules, checks and faults are what the suites' programs list, and the functions those that the simulated drivers name,
// which have one of each that the interface had when they were built. Which check calls which function was recorded in a
// run on simulated devices (vendor_calls.txt, written by harness/e2e/vendor_functions.py, which a test holds to be true);
// that a suite's program names a function says only that some check may call it. The reasons alone are written by people.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/event_words.h"
#include "harness/plan/plan.h"

namespace proctor {

// What kind of document a check's rule comes from. Example: "Level Zero specification, zeMemFree" is a specification.
//
// A source is the name of a document, a comma or colon, and the place in it. Several are separated by "; ", and the
// strongest counts. A source without a place, or with a name that the table does not have, is a rule of the project, and no
// check that rests on one may gate (harness/e2e/coverage.py).

// From the strongest to the weakest.
enum class SourceKind {
  kSpecification,   // a specification, a standard, or a vendor's header
  kDocumentation,   // a vendor's guide or manual, or literature
  kImplementation,  // the source of a driver or library, or what was measured on one
  kTests,           // a test suite of others that passes on devices
  kProject,
};

inline constexpr std::array kSourceKinds{SourceKind::kSpecification, SourceKind::kDocumentation,
                                         SourceKind::kImplementation, SourceKind::kTests,
                                         SourceKind::kProject};

std::string_view to_string(SourceKind kind);
SourceKind kind_of_source(std::string_view source);

struct CoveredCheck {
  std::string id{};                   // without parameters: "memory.xpu/Copy.UnalignedCopyIsByteExact"
  std::vector<std::string> faults{};  // as it declares them
  SeverityWord severity{};
  SourceKind kind = SourceKind::kProject;  // of the source of its rule
};

struct CoveredRule {
  std::string id{};
  std::vector<std::string> sources{};
  std::vector<CoveredCheck> checks{};
};

struct CoveredFault {
  std::string name{};
  bool blanket = false;               // it fails almost any check, and so proves nothing about one
  std::vector<std::string> checks{};  // that name it
};

struct VendorFunction {
  std::string name{};
  std::string backend{};
  std::vector<std::string> suites{};  // "memory.xpu": those whose program names it
  std::vector<std::string> checks{};  // that call it: at most three, those that call least else
  std::string reason{};               // why no check calls it
};

struct Coverage {
  std::vector<CoveredRule> rules{};
  std::vector<CoveredFault> faults{};
  std::vector<VendorFunction> functions{};
};

// Rules and faults.
Coverage coverage_of(const Plan& plan);

// The names of functions of the backend's interface among the texts in a program or a library, sorted.
std::vector<std::string> functions_named_in(std::string_view bytes, Backend backend);

// What was recorded, and the reasons for the rest.
std::string_view recorded_calls();
std::string_view uncalled_functions();

// Adds to each function its checks, or the reason why it has none. The answer is what is wrong with the reasons: a
// function without one, and a name among them that no such function has.
Result<std::vector<std::string>> add_calls(std::vector<VendorFunction>& functions, std::string_view calls,
                                           std::string_view reasons);

std::string to_json(const Coverage& coverage);
// For people: what is covered by how much, and by name what is not.
std::string to_text(const Coverage& coverage);

}  // namespace proctor
