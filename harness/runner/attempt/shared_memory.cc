#include "harness/runner/attempt/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

constexpr std::size_t kMostNamed = 5;
constexpr std::chrono::milliseconds kClockStep{
    20};  // the clock of files has the resolution of the kernel's timer

// Returns whether no other process has the file open or mapped. Only then the kernel grants a write lease (fcntl(2),
// F_SETLEASE).
bool is_unheld(const UniqueFd& file) {
  if (fcntl(file.get(), F_SETLEASE, F_WRLCK) != 0) return false;
  fcntl(file.get(), F_SETLEASE, F_UNLCK);
  return true;
}

std::chrono::system_clock::time_point changed_at(const struct stat& info) {
  return std::chrono::system_clock::from_time_t(info.st_ctim.tv_sec) +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(
             std::chrono::nanoseconds(info.st_ctim.tv_nsec));
}

void add_files(const std::string& directory, std::chrono::system_clock::time_point begin,
               std::vector<SharedMemory>& found) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().string();
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (changed_at(info) < begin) continue;
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!file || !is_unheld(file)) continue;
    const std::string shown = clean_text(path);
    found.push_back({shown, "rm " + shown, static_cast<std::uint64_t>(info.st_blocks) * 512});
  }
}

// Each line: key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime ... (sysvipc(7)).
void add_segments(const std::string& file, std::chrono::system_clock::time_point begin,
                  std::vector<SharedMemory>& found) {
  std::istringstream lines(read_file_or_empty(file));
  std::string line;
  std::getline(lines, line);  // the header line
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string skipped;
    long id = 0;
    std::uint64_t bytes = 0;
    long attached = 0;
    uid_t creator = 0;
    std::time_t changed = 0;
    fields >> skipped >> id >> skipped >> bytes >> skipped >> skipped >> attached >> skipped >> skipped >>
        creator >> skipped >> skipped >> skipped >> changed;
    if (!fields || attached != 0 || creator != ::geteuid()) continue;
    if (changed < std::chrono::system_clock::to_time_t(begin)) continue;
    found.push_back({fmt::format("System V segment {}", id), fmt::format("ipcrm -m {}", id), bytes});
  }
}

}  // namespace

std::vector<SharedMemory> unheld_shared_memory(std::chrono::system_clock::time_point begin,
                                               const SharedMemoryPlaces& places) {
  std::vector<SharedMemory> found;
  add_files(places.directory, begin, found);
  add_segments(places.segments, begin, found);
  std::ranges::sort(found, {}, &SharedMemory::name);
  return found;
}

std::optional<Warning> shared_memory_left(const ProcessEnd& end, const std::string& case_id,
                                          const SharedMemoryPlaces& places) {
  if (end.termination.signal_sent == 0 && !end.termination.forced && !end.exit_signal) return std::nullopt;
  const auto ran =
      std::chrono::duration_cast<std::chrono::system_clock::duration>(Clock::now() - end.started);
  const auto found = unheld_shared_memory(std::chrono::system_clock::now() - ran - kClockStep, places);
  if (found.empty()) return std::nullopt;
  std::string names;
  std::string removal;
  for (std::size_t i = 0; i < std::min(found.size(), kMostNamed); ++i) {
    names += fmt::format("{}{} ({:.1f} MiB)", i == 0 ? "" : ", ", found[i].name,
                         static_cast<double>(found[i].bytes) / (1024 * 1024));
    removal += (i == 0 ? "" : "; ") + found[i].how_to_remove;
  }
  if (found.size() > kMostNamed) names += fmt::format(" and {} more", found.size() - kMostNamed);
  return Warning{
      WarningCode::kScratchNotRemoved,
      fmt::format("{} was killed, and shared memory that is new since it began is held by no process: {}. "
                  "To remove it: {}",
                  case_id, names, removal)};
}

}  // namespace proctor
