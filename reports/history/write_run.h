// How a run gets into a history, and out of it. What goes wrong is thrown as a SqliteFailure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/history/database.h"
#include "reports/resolve/run_results.h"

namespace proctor {

enum class Added { kNew, kReplaced, kAlreadyThere, kOlder, kPartOfMerged, kOtherMerged };
std::string_view to_string(Added added);  // for people: "is already imported"

// Which of them a run is depends on what is there (reports/history/history.h).
Added write_run(Database& database, const RunResults& run);

// Remembers of which shards a merged run is, and removes what it stands for: the shards, and merged runs that share one and
// whose shards are older. Returns whether it has a place itself: no merged run that shares a shard has newer ones.
bool note_merged(Database& database, const std::string& merged, const std::vector<std::string>& shards);

// What other rows named and no row names any more stays, until remove_orphans().
void remove_run(Database& database, std::int64_t id);
void remove_orphans(Database& database);

}  // namespace proctor
