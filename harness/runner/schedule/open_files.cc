#include "harness/runner/schedule/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace proctor {
namespace {

// The runner's own: loop, journal, console, monitors, locks; and for the moment of a spawn both ends of everything that
// a case gets, above number 64 (harness/process/spawn.cc).
constexpr int kOwn = 96;
// Of each running case: its guard and the list of its children, its pipes or the connection of its results, its log,
// its cgroup with two of its files, its leases; once more for who gathers its evidence.
constexpr int kOfACase = 15;
constexpr int kOfARank = 8;  // in the supervisor of the ranks

// What setrlimit(2) calls RLIMIT_NOFILE, and shells `ulimit -n`.
int limit_of_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

}  // namespace

int open_files_needed(int jobs, int ranks) { return kOwn + std::max(kOfACase * jobs, kOfARank * ranks); }

int most_jobs_with_open_files() { return (limit_of_open_files() - kOwn) / kOfACase; }

Result<void> check_open_files(int jobs, int ranks) {
  const int has = limit_of_open_files();
  const int needed = open_files_needed(jobs, ranks);
  if (has >= needed) return {};
  const int fewer = most_jobs_with_open_files();
  const bool fewer_help = fewer > 0 && fewer < jobs && has >= open_files_needed(fewer, ranks);
  return Error::usage(fmt::format("run {} case{} at once: that needs {} open files, and the limit is {}",
                                  jobs, jobs == 1 ? "" : "s", needed, has),
                      fmt::format("Raise it: ulimit -n {}{}.", needed,
                                  fewer_help ? fmt::format("; or run fewer at once: --jobs {}", fewer) : ""));
}

}  // namespace proctor
