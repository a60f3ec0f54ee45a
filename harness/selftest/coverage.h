// Lists what the built-in suites cover, for `proctor list --coverage`. Rules have their checks and the faults that must
// fail them. Faults of the simulator have the checks that must detect them. Functions of the vendors' interfaces have
// the checks that call them, or the reason why none does.
//
// Rules, checks and faults come from the lists of the suites' programs. The functions are those of the simulated
// drivers, which contain every function of the interface at build time. harness/e2e/vendor_functions.py records in
// vendor_calls.txt which check calls which function on simulated devices, and a test keeps that file current. A
// function name in a suite's program only means that a check may call it. The reasons in uncalled_functions.toml are
// written by hand.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/event_words.h"
#include "harness/plan/plan.h"

namespace proctor {

// The kind of document that a check's rule comes from. Example: "Level Zero specification, zeMemFree" is a
// specification.
//
// A source is the name of a document, a comma or colon, and a place in it. Several sources are separated by "; ", and
// the strongest one counts. A source without a place, or with an unknown document, is a project rule. A check whose
// rule has only such a source cannot gate (harness/e2e/coverage.py).

// From the strongest to the weakest.
enum class SourceKind {
  kSpecification,   // a specification, a standard, or a vendor's header
  kDocumentation,   // a vendor's guide or manual, or literature
  kImplementation,  // the source code of a driver or library, or a measurement of one
  kTests,           // an external test suite that passes on devices
  kProject,
};

inline constexpr std::array kSourceKinds{SourceKind::kSpecification, SourceKind::kDocumentation,
                                         SourceKind::kImplementation, SourceKind::kTests,
                                         SourceKind::kProject};

std::string_view to_string(SourceKind kind);
SourceKind kind_of_source(std::string_view source);

struct CoveredCheck {
  std::string id{};                   // without parameters: "memory.xpu/Copy.UnalignedCopyIsByteExact"
  std::vector<std::string> faults{};  // declared by the check
  SeverityWord severity{};
  SourceKind kind = SourceKind::kProject;  // kind of its rule's source
};

struct CoveredRule {
  std::string id{};
  std::vector<std::string> sources{};
  std::vector<CoveredCheck> checks{};
};

struct CoveredFault {
  std::string name{};
  bool blanket = false;               // true if it fails almost any check, so it proves nothing about one
  std::vector<std::string> checks{};  // checks that declare it
};

struct VendorFunction {
  std::string name{};
  std::string backend{};
  std::vector<std::string> suites{};  // suites whose program contains its name: "memory.xpu"
  std::vector<std::string>
      checks{};          // checks that call it: at most three, those that call the fewest other functions
  std::string reason{};  // why no check calls it
};

struct Coverage {
  std::vector<CoveredRule> rules{};
  std::vector<CoveredFault> faults{};
  std::vector<VendorFunction> functions{};
};

// Returns rules and faults, without functions.
Coverage coverage_of(const Plan& plan);

// Returns the sorted names of the backend's functions among the texts in a program or library.
std::vector<std::string> functions_named_in(std::string_view bytes, Backend backend);

// Return the embedded files vendor_calls.txt and uncalled_functions.toml.
std::string_view recorded_calls();
std::string_view uncalled_functions();

// Adds the checks of each function, or the reason why it has none. Returns the mistakes in the reasons: a function
// without a reason, and a name that matches no uncalled function.
Result<std::vector<std::string>> add_calls(std::vector<VendorFunction>& functions, std::string_view calls,
                                           std::string_view reasons);

std::string to_json(const Coverage& coverage);
// Returns a text for readers: how much is covered, and the names of everything that is not.
std::string to_text(const Coverage& coverage);

}  // namespace proctor
