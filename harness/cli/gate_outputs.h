// Writes the output files of a gate. Either all files are written or none. An old file stays until all new ones are
// complete.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

struct GateOutput {
  std::string option;               // "--json"
  std::optional<std::string> file;  // none: not requested
};

// Returns a usage error if a name is empty, is used twice, is one of `inputs`, or is inside an input directory.
Result<void> check_outputs(const std::vector<GateOutput>& outputs, const std::vector<std::string>& inputs);

// `texts` has one text for each output.
Result<void> write_outputs(const std::vector<GateOutput>& outputs, const std::vector<std::string>& texts);

}  // namespace proctor::cli
