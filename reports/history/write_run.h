// Adds runs to a history and removes them. Errors are thrown as SqliteFailure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/history/database.h"
#include "reports/resolve/run_results.h"

namespace proctor {

// The result of an import.
enum class Added { kNew, kReplaced, kAlreadyThere, kOlder, kPartOfMerged, kOtherMerged };
std::string_view to_string(Added added);  // as a message: "is already imported"

// Imports the run. The returned value depends on the runs that the history already has (reports/history/history.h).
Added write_run(Database& database, const RunResults& run);

// Records the shards of a merged run. It removes the runs that the merged run replaces: these shards, and merged runs
// that share a shard and have older shards. Returns false if a merged run that shares a shard has newer shards.
bool note_merged(Database& database, const std::string& merged, const std::vector<std::string>& shards);

// remove_run() leaves rows that no other row refers to any longer. remove_orphans() removes these rows.
void remove_run(Database& database, std::int64_t id);
void remove_orphans(Database& database);

}  // namespace proctor
