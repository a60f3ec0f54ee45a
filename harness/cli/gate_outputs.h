// The files to which a gate writes its verdict: all of them, or none. An old file stays until all of the new ones are there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

struct GateOutput {
  std::string option;               // "--json"
  std::optional<std::string> file;  // none: it is not asked for
};

// A usage error: a name that is empty, that another one has, or that is one of `inputs`, or lies in one that is a directory.
Result<void> check_outputs(const std::vector<GateOutput>& outputs, const std::vector<std::string>& inputs);

// One text for each output.
Result<void> write_outputs(const std::vector<GateOutput>& outputs, const std::vector<std::string>& texts);

}  // namespace proctor::cli
