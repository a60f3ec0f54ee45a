// The first step of a run merges the options of its command line with the keys of its files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/steps/add_options.h"
#include "harness/core/result.h"
#include "harness/machine/options.h"
#include "harness/plan/load_config.h"
#include "harness/request/option.h"
#include "harness/request/run_request.h"

namespace proctor::cli {

// A command line of a command that starts cases.
struct TypedRun {
  Command command = kForRun;
  TypedRequest typed{};
  // The command line that reruns repeat: argv of main(). `accept` has the words with which `run` does the same.
  std::vector<std::string> command_line{};
  std::vector<std::string> own_line{};  // of `accept`: argv of main()
  std::vector<int> inherited{};         // of `exec`: the caller's open descriptors, for the command
};

struct AskedRun {
  Command command = kForRun;
  RunRequest typed{};
  RunRequest keys{};     // of the files, as far as they count for the command
  RunRequest request{};  // both, the options first
  ConfigFiles files{};
  std::vector<std::string> command_line{};
  std::vector<std::string> own_line{};
  std::vector<int> inherited{};
};

// Returns whether the options select some of the cases.
bool leaves_cases_out(const SelectionOptions& chosen);

// Refuses the first value that could not be read, and files with mistakes in their keys of [run].
Result<AskedRun> ask(const TypedRun& typed, const AfterDashes& after_dashes);

}  // namespace proctor::cli
