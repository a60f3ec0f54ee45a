// Digests that make a change of a journal visible.
//
// Each record ends with the digest of all earlier bytes of the journal, including those of the record itself:
//
//   {"v":2,"type":"warning",...,"sum":"1f2e3d4c5b6a79881f2e3d4c5b6a7988"}
//
// A record that was changed, removed or inserted therefore does not fit the next one. The chain has no key,
// so it does not detect a writer who computes all following digests again. It shows damage by tests and
// accidents, not an attack. The runner has a stronger check: it keeps the length and the digest of what it
// has written, in memory and in a private file (harness/runner/record/journal.h). A journal with any other
// content is then refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/base/digest.h"

namespace proctor {

// The length and the digest of a journal at one moment.
struct JournalState {
  std::uint64_t bytes = 0;
  std::string digest;
};

// The states of a journal before and after its last record. The runner is writing this record, or has written
// it.
struct JournalSeal {
  JournalState before;
  JournalState after;
  std::string run_id{};  // of the run whose journal it is
};

// Computes the digests of a journal from its first byte on, for its writer or for a reader.
class JournalChain {
 public:
  // Adds `record` (a JSON object, without the newline) to the digest, and returns it as the next line with
  // its sum.
  std::string append(std::string_view record);
  // Adds the next line of the journal, with its newline unless it was cut off. Returns whether its sum is the
  // digest of all bytes before it.
  bool follow(std::string_view line);
  // Adds bytes of the journal to the digest.
  void add(std::string_view bytes);
  JournalState state() const { return {bytes_, digest_.hex()}; }

 private:
  Sha256 digest_;
  std::uint64_t bytes_ = 0;
};

// Returns true if the line has a sum. A record that was cut short, or that another program wrote, has none.
bool has_sum(std::string_view line);

// Returns "" if the file is what its runner wrote, complete or cut off in its last record. Else returns the
// difference: "it has 12 bytes more than its runner wrote".
std::string difference(const std::string& path, const JournalSeal& seal);

}  // namespace proctor
