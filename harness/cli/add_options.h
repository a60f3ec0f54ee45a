// Adds the rows of the table of options (harness/request/option.h) to a CLI11 command. All commands that start or plan
// runs use it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "harness/base/result.h"
#include "harness/cli/shared_options.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"
#include "harness/runner/machine/discover_plan.h"

namespace proctor::cli {

// The request of a command line. An invalid value is reported after parsing, together with other mistakes and with the
// same text.
struct TypedRequest {
  RunRequest request{};
  std::optional<Error> mistake{};  // the first mistake
};

// Adds the options of the command, each below its heading. `typed` must outlive the parser.
void add_options(CLI::App& command, Command which, TypedRequest& typed);

// Returns the options of a command that plans cases but starts none. Returns the first invalid value as an error.
Result<PlanOptions> plan_options(TypedRequest& typed, const AfterDashes& after_dashes);

}  // namespace proctor::cli
