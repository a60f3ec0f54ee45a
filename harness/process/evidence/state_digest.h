// What the child that gathers evidence reports to the runner (harness/cli/gather_evidence.cc), as it knows it at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/events.h"

namespace proctor {

struct EvidenceDigest {
  std::vector<std::string> lines{};   // at most ten
  std::optional<StackFrame> frame{};  // own_frame.h
  std::string core_program{};         // the executable of a core that is kept, where it is known
};

// As the child prints it; several may follow each other, and the last complete one counts.
std::string to_text(const EvidenceDigest& digest);
EvidenceDigest last_digest(std::string_view text);

}  // namespace proctor
