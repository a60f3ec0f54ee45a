// What makes a change of a journal visible.
//
// Each record ends with the digest of all bytes of the journal before that digest, those of the record included:
//
//   {"v":2,"type":"warning",...,"sum":"1f2e3d4c5b6a79881f2e3d4c5b6a7988"}
//
// So a record that was changed, taken out or put in does not fit the next one. It needs no key, and whoever writes all
// that follows anew is not found out by it: it shows what tests and accidents do, and not what somebody does who knows
// it. The runner knows more: it keeps the length and the digest of what it has written, in memory and in a private
// file (harness/runner/record/journal.h), and nothing else may be in the journal then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/base/digest.h"

namespace proctor {

// What a journal is at one moment.
struct JournalState {
  std::uint64_t bytes = 0;
  std::string digest;
};

// What a runner has written: its last record is under way, or has been written.
struct JournalSeal {
  JournalState before;
  JournalState after;
  std::string run_id{};  // of the run whose journal it is
};

// Follows a journal from its first byte, as its writer or as a reader.
class JournalChain {
 public:
  // `record` (an object of JSON, without the newline) as the next line, with its digest. It is in the journal now.
  std::string append(std::string_view record);
  // `line` is the next one in the journal, with its newline unless it was cut off. Whether its digest is that of
  // everything before it.
  bool follow(std::string_view line);
  // These bytes are in the journal now.
  void add(std::string_view bytes);
  JournalState state() const { return {bytes_, digest_.hex()}; }

 private:
  Sha256 digest_;
  std::uint64_t bytes_ = 0;
};

// A record that a writer cut short, or that another program wrote, has none.
bool has_sum(std::string_view line);

// "" when the file is what its runner wrote, whole or cut off in its last record. Else what is different: "it has 12
// bytes more than its runner wrote".
std::string difference(const std::string& path, const JournalSeal& seal);

}  // namespace proctor
