// Reads a run as evidence for a gate. This reader is strict: `proctor report` tolerates a line that is not a record or
// a wrong digest, but here each of these is a flaw or an error. Everything else follows from the ResolvedRun.
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

// Why a journal is not accepted as evidence.
struct JournalFlaw {
  int line = 0;  // 0: the flaw has no single line
  std::string what{};
  std::string case_id{};  // "": the flaw has no single case
};

// A run as evidence: its journal, its flaws, and its reports.
struct GateReport {
  std::string place{};   // the path as the user entered it, for messages; never in a verdict
  std::string sha256{};  // the digest of the journal
  ResolvedRun run{};
  std::vector<JournalFlaw> flaws{};
  RenderedFiles rendered{};  // the digests that the runner recorded after the end of the run
  std::vector<std::string>
      other_files{};  // reports in its directory that differ from a rendering of the journal

  // Returns "run 20260131T120000Z-1a2b3c", or "shard 2/4 of run ...".
  std::string name() const;
  // Returns "" if the runner did not finish the journal.
  std::string finished() const { return run.ended ? run.ended->finished : ""; }
};

// Returns the other driver that the environment selects for Level Zero's loader: "/x.so, by the caller"; "" for none.
std::string other_driver_in(const std::vector<EnvironmentVariable>& environment);

// Reads a journal. The file must be a complete journal of a known version with one plan, and must match its seal.
// Otherwise it returns an error with the line. A last line without an end, or a line that is not a record, is such an
// error. `place` is for messages. Unless `whole` is set, details that no rule reads are dropped to save memory.
Result<GateReport> read_strictly(const std::filesystem::path& journal, const std::string& place,
                                 const std::optional<JournalSeal>& seal, bool whole);

// Reads a run directory. Each report must have the digest in the journal, or equal a rendering of the journal.
Result<GateReport> read_gate_report(const std::filesystem::path& run_dir, const std::string& place,
                                    const std::optional<JournalSeal>& seal = {});

}  // namespace proctor
