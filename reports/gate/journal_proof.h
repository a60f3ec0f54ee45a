// A run as evidence for a gate. The journal is read here as nowhere else: what `report` forgives, a line that is no record or
// a digest that does not fit, is named here and never forgiven. What follows from the records is the ResolvedRun.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/journal/journal_chain.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// Why a journal cannot be believed.
struct JournalFlaw {
  int line = 0;  // 0: of no one line
  std::string what{};
  std::string case_id{};  // "": of none
};

struct GateReport {
  std::string place{};   // as the user named it: for messages, and never in a verdict
  std::string sha256{};  // of the journal
  ResolvedRun run{};
  std::vector<JournalFlaw> flaws{};
  RenderedFiles rendered{};                // as its runner says behind the end of the run
  std::vector<std::string> other_files{};  // of its directory: not what the journal renders to

  // "run 20260131T120000Z-1a2b3c", "shard 2/4 of run ...".
  std::string name() const;
  // "": its runner has not said all.
  std::string finished() const { return run.ended ? run.ended->finished : ""; }
};

// The other driver that Level Zero's loader was told to take: "/x.so, by the caller"; "" none.
std::string other_driver_in(const std::vector<EnvironmentVariable>& environment);

// An error, with its line: a journal that is none, is empty, ends within a record, has a line that is no record or a second
// plan, is of a newer version, or is not what its runner wrote. `place` is for messages. Unless `whole`, what no rule asks is
// left out of the run, to save memory.
Result<GateReport> read_strictly(const std::filesystem::path& journal, const std::string& place,
                                 const std::optional<JournalSeal>& seal, bool whole);

// Of a run directory. A report in it has the digest that the journal says, or is what the journal renders to.
Result<GateReport> read_gate_report(const std::filesystem::path& run_dir, const std::string& place,
                                    const std::optional<JournalSeal>& seal = {});

}  // namespace proctor
