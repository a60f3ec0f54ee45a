// A verdict as gate.json (reports/schema/gate.schema.json), as Markdown for a job's summary, and as an in-toto statement of
// test results, which tools such as cosign sign. Each is a function of its arguments; no path of this machine is in any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reports/gate/gate.h"

namespace proctor {

inline constexpr int kGateSchemaVersion = 1;

std::string gate_json(const GateInputs& inputs, const GateVerdict& verdict);
std::string gate_markdown(const GateInputs& inputs, const GateVerdict& verdict);
std::string gate_statement(const GateInputs& inputs, const GateVerdict& verdict);

// Text of a run or of a policy where people see it: it begins no other line, nothing in it is obeyed by who shows it, and
// what is very long is cut.
std::string in_one_line(std::string_view text);

// For a terminal: one line of each cell, and below a failed one the rules that failed.
std::string gate_text(const GateVerdict& verdict);

}  // namespace proctor
