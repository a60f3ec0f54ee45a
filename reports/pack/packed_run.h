// Packs a run into one file for readers on other machines, NAME.tar.gz with a directory NAME, and unpacks it. The
// directory contains:
//
//   journal.jsonl      the journal, from which all reports are rendered again
//   logs/ evidence/    of each case that did not simply pass or skip; of a longer file the last kMostPackedFile bytes
//   kPackedFacts       files that suites/hardware/run.sh writes beside the journal
//
// All files have names of people and machines replaced (private_text.h). RunPlanned::subject and the variables of
// RunPlanned::narrowed are left out, because they describe the caller. Core dumps are not packed.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "harness/base/result.h"
#include "reports/pack/private_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

inline constexpr std::size_t kMostPackedFile = std::size_t{1} << 20;
inline constexpr std::size_t kMostPackedRun = std::size_t{128} << 20;     // all files together
inline constexpr std::size_t kMostPackedArchive = std::size_t{64} << 20;  // compressed
inline constexpr std::string_view kPackedEnding = ".tar.gz";

inline constexpr std::array<std::string_view, 6> kPackedFacts = {
    "devices-before.json", "devices-after.json", "probe.json",
    "libraries.txt",       "kernel.log",         "known_failures.toml"};
inline constexpr std::string_view kPackedKernelLog = "kernel.log";

// The packed file.
struct PackedRun {
  std::string name;  // "proctor-xpu-Intel_Arc_B580-25.48.36300-20261129.tar.gz"
  std::string bytes;
};

// Adds the names in a run to those of its machine: its host, its directories, and the words of its cases.
void add_names_of(const ResolvedRun& run, const std::string& run_dir, PrivateNames& names);

// Packs a run. `run` must be the run of the journal in `run_dir`.
Result<PackedRun> pack_run(const ResolvedRun& run, const std::string& run_dir, PrivateNames names);

// Returns whether the path ends with kPackedEnding and is not a directory.
bool is_packed_run(const std::string& place);

// Writes the files of the archive to `directory`, which it creates. The directory must be
// empty or contain the same run.
Result<void> unpack_run(const std::string& archive, const std::string& directory);

}  // namespace proctor
