#include "reports/page/page_logs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <limits>

#include "reports/resolve/log_text.h"

namespace proctor {

RunFiles::RunFiles(const std::filesystem::path& run_dir) {
  if (!run_dir.empty()) directory_ = UniqueFd(::open(run_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd RunFiles::open(const std::string& file) const {
  if (!directory_ || !is_below_run_directory(file)) return {};
  UniqueFd opened;
  const std::filesystem::path path(file);
  for (auto part = path.begin(); part != path.end(); ++part) {
    const bool is_last = std::next(part) == path.end();
    const int kind = is_last ? O_NONBLOCK : O_DIRECTORY;
    opened = UniqueFd(::openat(opened ? opened.get() : directory_.get(), part->c_str(),
                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind));
    if (!opened) return {};
  }
  struct stat run {};
  struct stat status {};
  const bool ours = ::fstat(directory_.get(), &run) == 0 && ::fstat(opened.get(), &status) == 0 &&
                    S_ISREG(status.st_mode) && status.st_uid == run.st_uid;
  return ours ? std::move(opened) : UniqueFd();
}

std::optional<RunFiles::Tail> RunFiles::tail(const std::string& log, std::size_t bytes) const {
  const UniqueFd file = open(log);
  if (!file) return std::nullopt;
  const LastLines last = last_lines_of_log(file, std::numeric_limits<std::size_t>::max(), bytes);
  Tail tail{.text = {}, .is_all = last.is_all};
  for (const std::string& line : last.lines) tail.text += line + '\n';
  return tail;
}

}  // namespace proctor
