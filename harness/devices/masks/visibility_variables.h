// One table of all environment variables that affect the devices a program sees: the vendor, the treatment of
// the caller's own value, and the reason. A suite cannot set any of them (plan/config_tables.cc). The values
// for a case are applied after everything else (devices/environment.h). docs/reference/devices.md has the
// same table.
//
// Intel's driver also reads its variables with a prefix, NEO_L0_ or NEO_, and prefers these to the plain
// names. A prefixed name is treated as its plain name, except that no case ever gets it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"

namespace proctor {

// The treatment of the caller's own value in a case that sees devices.
enum class CallerValue {
  kNarrows,   // it restricts the devices for leases; the case gets the mask of its lease
  kDefault,   // it is the default of an option; the case gets the value of the option
  kCleared,   // it could move the case to another device, so the case does not get it
  kReplaced,  // like kCleared, and the case gets the runner's value
  kRefused,   // no mask can express its restriction: a run with such devices is refused
  kKept,      // it belongs to the setup: it did not change what the probe saw, or no such device is leased
};
std::string_view to_string(CallerValue value);  // "narrows", ...

// A row of the table: one variable.
struct VisibilityVariable {
  std::string_view name;
  // The backend of the devices; kNone: of a vendor whose devices are not leased.
  Backend backend = Backend::kNone;
  CallerValue caller = CallerValue::kCleared;
  std::string_view why;           // the end of a sentence that begins with the name
  bool prefixed = false;          // Intel's driver reads it, so its prefixed forms are included
  std::string_view instead = "";  // the alternative for a suite that needs to set it; "": none
};

const std::vector<VisibilityVariable>& visibility_variables();

inline constexpr std::array<std::string_view, 2> kIntelPrefixes = {"NEO_L0_", "NEO_"};
// Returns the names under which drivers read the variable. Names that take precedence come first, and the
// plain name is the last.
std::vector<std::string> all_names_of(const VisibilityVariable& variable);

// Returns the row of a name, which may be a prefixed form. Null if the name does not affect devices.
const VisibilityVariable* find_visibility_variable(std::string_view name);

}  // namespace proctor
