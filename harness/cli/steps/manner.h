// What `proctor run`, `exec` and `accept` do in different ways. Everything else of a run is the same for all.
#pragma once

#include <memory>

#include "harness/cli/console/run_display.h"
#include "harness/core/result.h"
#include "harness/machine/options.h"
#include "harness/run/schedule/run_setup.h"

namespace proctor::cli {

class ConsoleOutput;
struct Checked;
struct FoundPlan;
struct Prepared;

struct Manner {
  // Prints why the run does not start. Returns the exit code.
  int (*refuse)(const Error& error);
  // Refuses what only this command can be told, and settles what follows from it.
  Result<void> (*check)(Checked& checked);
  Result<FoundPlan> (*find_plan)(const Checked& checked);
  // The last word on how the attempts of the run are made.
  void (*adapt)(RunSetup& setup, const Checked& checked);
  std::unique_ptr<RunDisplay> (*make_display)(const Checked& checked, const Prepared& prepared,
                                              ConsoleOutput& output);
};

}  // namespace proctor::cli
