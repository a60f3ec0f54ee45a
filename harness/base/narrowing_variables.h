// Variables by which a caller changes what a foreign suite runs, or how it judges, without a word in its command: with
// PYTEST_ADDOPTS=--trace a failing test of pytest passes, with LD_TRACE_LOADED_OBJECTS=1 no program runs at all. A suite
// may need them, so that they are passed on; but each that a suite gets is told (RunPlanned::narrowed), and a gate refuses
// it unless its policy allows it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

struct NarrowingRow {
  std::string_view name;  // glob: "LD_*"
  std::string_view
      kind{};  // of suites that read it, besides those of kind `command`, which may start anything; "": all
  bool when_empty = false;  // it changes something also where it is set to nothing
};
std::span<const NarrowingRow> narrowing_rows();

// Whether a suite of this kind may read the variable, so that this value changes something.
bool is_narrowing_variable(std::string_view name, std::string_view value, std::string_view kind);
// Whether it is one for a suite of any kind.
bool is_narrowing_variable(std::string_view name);

// Names for a suggestion; those that are globs are left out.
std::vector<std::string> narrowing_names();

}  // namespace proctor
