// How long the cases of a run took, from its journal alone and without making a ResolvedRun of it: a run reads this of
// earlier ones before its first case starts.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace proctor {

// What may still be read. Several journals share it. The beginning of each is read after this time, too, so that a busy
// machine finds the same in small ones.
struct ReadingLimit {
  std::size_t bytes = std::size_t{64} << 20;
  std::chrono::steady_clock::time_point until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
};

// In ms, by the id of the case: the sum of its attempts, except those that were skipped or not run. Of a journal that
// is torn, foreign or longer than the limit, what can be read; of one that cannot be opened, nothing.
std::map<std::string, double> journal_durations(const std::string& path, ReadingLimit& limit);

}  // namespace proctor
