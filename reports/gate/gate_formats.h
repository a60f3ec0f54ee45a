// Writes a verdict of the gate as gate.json (reports/schema/gate.schema.json), as Markdown for a job summary, and as an
// in-toto statement of test results, which tools such as cosign sign. Each is a pure function of its arguments. No
// output contains a path of this machine.
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

// Returns text of a run or policy for people: one line, without control sequences, and with a limited length.
std::string in_one_line(std::string_view text);

// For a terminal: one line for each cell, and below a failed cell the rules that failed.
std::string gate_text(const GateVerdict& verdict);

}  // namespace proctor
