// The [[skip]] entries of a project: cases that are skipped until a date. They are planned, reported and
// counted as skipped, and not started. An entry that has expired, or that matches no case, has only a
// warning. It skips no case.
//
//   [[skip]]
//   case    = "attention/Moe*"         # glob over the id
//   reason  = "waits for driver 580"
//   owner   = "jane"
//   expires = 2027-03-01               # the last day on which it holds
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/result.h"
#include "harness/base/toml_reader.h"
#include "harness/frameworks/suite.h"
#include "harness/journal/events.h"

namespace proctor {

// One table [[skip]].
struct WrittenOff {
  std::string cases{};  // glob for case ids
  std::string reason{};
  std::string owner{};
  Day expires{};
  std::string origin{};  // "proctor.toml:12"

  bool holds_on(Day today) const { return today <= expires; }
  // Returns "waits for driver 580 (jane, until 2027-03-01)", the value of the reason Reason::kConfig.
  std::string text() const;
};

// Returns the keys of an entry, sorted.
const std::vector<std::string>& written_off_keys();

// Reads an entry at `origin`. `reader` reads its table with these keys, and records a mistake.
WrittenOff read_written_off(TableReader& reader, const std::string& origin);

// Assigns to each case the first valid entry that matches it. Returns warnings about expired entries that
// match a case.
std::vector<Warning> write_off(const std::vector<WrittenOff>& entries, Day today, std::vector<Case>& cases);

// Clears `config_skip` of the cases whose entries have expired since the plan was made. Returns a warning for
// each entry.
std::vector<Warning> take_back_expired(Day today, std::vector<Case>& cases);

// Returns the entries that skip cases, for RunPlanned::narrowed. The gate has its own rule for skips.
std::vector<NarrowingOption> narrowing_of_skips(const std::vector<Case>& cases);

// Returns the members of an entry for JSON. All values are strings.
std::map<std::string, std::string> to_members(const WrittenOff& entry);
Result<WrittenOff> written_off_of(const std::map<std::string, std::string>& members);

}  // namespace proctor
