// What kind of document a check's rule comes from. Example: "Level Zero specification, zeMemFree" is a specification.
//
// A source is the name of a document, a comma or colon, and the place in it. Several are separated by "; ", and the
// strongest counts. A name without a place, or a name that the table does not have, is our own opinion, and no check
// that rests on one may gate (harness/e2e/coverage.py).
#pragma once

#include <array>
#include <string_view>

namespace proctor {

// From the strongest to the weakest.
enum class SourceKind {
  kSpecification,   // a specification, a standard, or a vendor's header
  kDocumentation,   // a vendor's guide or manual, or literature
  kImplementation,  // the source of a driver or library, or what was measured on one
  kTests,           // a test suite of others that passes on devices
  kOurs,
};

inline constexpr std::array kSourceKinds{SourceKind::kSpecification, SourceKind::kDocumentation,
                                         SourceKind::kImplementation, SourceKind::kTests, SourceKind::kOurs};

std::string_view to_string(SourceKind kind);
SourceKind kind_of_source(std::string_view source);

}  // namespace proctor
