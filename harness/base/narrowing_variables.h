// Environment variables that change which tests a suite runs, or how they are judged, although the command is
// the same. A failing test of pytest passes with PYTEST_ADDOPTS=--trace. No program runs with
// LD_TRACE_LOADED_OBJECTS=1. A suite can need these variables, so Proctor passes them on. Each such variable
// of a suite is recorded (RunPlanned::narrowed). A gate refuses it unless the policy of the gate allows it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// One variable, or a glob for several.
struct NarrowingRow {
  std::string_view name;  // glob: "LD_*"
  std::string_view
      // kind of the suites that read it; "": all kinds. Suites of kind `command` can start any program and
      // always count.
      kind{};
  bool when_empty = false;  // an empty value has an effect, too
};
std::span<const NarrowingRow> narrowing_rows();

// Returns whether a suite of this kind may read the variable, and this value has an effect.
bool is_narrowing_variable(std::string_view name, std::string_view value, std::string_view kind);
// Returns whether any kind of suite may read the variable.
bool is_narrowing_variable(std::string_view name);

// Returns the names for a suggestion, without globs.
std::vector<std::string> narrowing_names();

}  // namespace proctor
