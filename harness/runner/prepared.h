// The fifth step of a run: it opens and creates everything that the cases need. run.cc calls it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/runner/machine/case_environment.h"
#include "harness/runner/placed.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/program_digests.h"
#include "harness/runner/record/run_record.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/stack/fingerprint.h"

namespace proctor::runner {

// The result of the fifth step. Its members refer to each other; it must not move in memory.
struct Prepared {
  Placed placed;
  std::string run_dir;
  RunStack stack;
  OrderSetup order{};
  std::optional<CaseEnvironments> environments{};
  std::optional<ProgramDigests> programs{};
  std::unique_ptr<Journal> journal{};
  std::optional<RunRecordFiles> record{};
  RunSetup setup{};
  RunPlanned planned{};  // the first record
};

Result<std::unique_ptr<Prepared>> prepare(const Checked& checked, Placed placed);

}  // namespace proctor::runner
