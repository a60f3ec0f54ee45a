// The rows of the table of options (harness/request/option.h) as options of CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "harness/base/result.h"
#include "harness/cli/shared_options.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"
#include "harness/runner/machine/discover_plan.h"

namespace proctor::cli {

// The request of a command line. A bad value is refused later, with the other mistakes and in the same words.
struct TypedRequest {
  RunRequest request{};
  std::optional<Error> mistake{};  // the first one
};

// Adds the options that the command has, each below its heading. `typed` outlives the parser.
void add_options(CLI::App& command, Command which, TypedRequest& typed);

// Returns the options of a command that plans cases and starts none. Refuses the first value that could not be read.
Result<PlanOptions> plan_options(TypedRequest& typed, const AfterDashes& after_dashes);

}  // namespace proctor::cli
