// Every environment variable that decides which devices a program sees: one table, which says to whom each
// belongs, what becomes of the caller's own value, and why. A suite cannot set any of them (plan/config_tables.cc),
// and what a case gets is applied after everything else (devices/environment.h). docs/reference/devices.md has the same
// table.
//
// Intel's driver also reads its variables with a prefix, NEO_L0_ or NEO_, and prefers them to the plain names. Such
// a form is as its plain name, except that no case ever gets one.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"

namespace proctor {

// What becomes of the caller's own value in a case that sees devices.
enum class CallerValue {
  kNarrows,   // it narrows what may be leased; the case gets the mask of its lease
  kDefault,   // it is the default of an option; the case gets what the option says
  kCleared,   // it could move the case to another device, so the case does not have it
  kReplaced,  // the same, and the case gets the runner's
  kRefused,   // it narrows in a way that no mask can repeat: a run with such devices is refused
  kKept,  // it belongs to the set-up: the probe saw the same devices under it, or they are none that is leased
};
std::string_view to_string(CallerValue value);  // "narrows", ...

struct VisibilityVariable {
  std::string_view name;
  Backend backend =
      Backend::kNone;  // whose devices it is about; kNone: of a vendor whose devices are not leased
  CallerValue caller = CallerValue::kCleared;
  std::string_view why;           // ends the sentence that begins with the name
  bool prefixed = false;          // Intel's driver reads it, and so its prefixed forms too
  std::string_view instead = "";  // what a suite that wants to set it writes instead; "" = nothing
};

const std::vector<VisibilityVariable>& visibility_variables();

inline constexpr std::array<std::string_view, 2> kIntelPrefixes = {"NEO_L0_", "NEO_"};
// The names under which drivers read it, those that win first; the plain one is the last.
std::vector<std::string> all_names_of(const VisibilityVariable& variable);

// The row of a name, which may be a prefixed form. Null if the name is about no devices.
const VisibilityVariable* find_visibility_variable(std::string_view name);

}  // namespace proctor
