// Tests that a project writes off for a while. They are planned, shown and counted as skipped, and not started. An entry
// that has expired, or is about no case, only warns: it hides nothing.
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

struct WrittenOff {
  std::string cases{};  // glob
  std::string reason{};
  std::string owner{};
  Day expires{};
  std::string origin{};  // "proctor.toml:12"

  bool holds_on(Day today) const { return today <= expires; }
  // "waits for driver 580 (jane, until 2027-03-01)", the value of the reason Reason::kConfig.
  std::string text() const;
};

// The keys of an entry, sorted.
const std::vector<std::string>& written_off_keys();

// `reader` reads the table of an entry at `origin` with these keys, and has the mistake, if there is one.
WrittenOff read_written_off(TableReader& reader, const std::string& origin);

// Gives each case the first entry that is about it and holds. Warns about entries that have expired.
std::vector<Warning> write_off(const std::vector<WrittenOff>& entries, Day today, std::vector<Case>& cases);

// Clears `config_skip` of the cases whose entries have expired since the plan was made, with a warning for each entry.
std::vector<Warning> take_back_expired(Day today, std::vector<Case>& cases);

// The entries that write off cases, for RunPlanned::narrowed. The gate has a rule for skips.
std::vector<NarrowingOption> narrowing_of_skips(const std::vector<Case>& cases);

// The members of an entry in JSON, in which only texts are.
std::map<std::string, std::string> to_members(const WrittenOff& entry);
Result<WrittenOff> written_off_of(const std::map<std::string, std::string>& members);

}  // namespace proctor
