#include "harness/runner/attempt/result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/base/number_text.h"
#include "harness/base/unique_fd.h"

namespace proctor {

ResultText read_result_file(const std::string& path, std::uint64_t most) {
  const auto refused = [](std::string why) { return ResultText{.text = {}, .refused = std::move(why)}; };
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return {};
  if (!fd && (errno == ELOOP || errno == ENXIO)) return refused("its result file is not a regular file");
  if (!fd) return refused(fmt::format("its result file cannot be opened: {}", std::strerror(errno)));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return refused("its result file is not a regular file");
  const auto too_large = [&] {
    return refused(
        fmt::format("its result file is larger than {}, the most that is read", format_memory_size(most)));
  };
  if (static_cast<std::uint64_t>(info.st_size) > most) return too_large();
  std::string text(static_cast<std::size_t>(info.st_size) + 1, '\0');
  for (std::size_t size = 0;;) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(fmt::format("its result file cannot be read: {}", std::strerror(errno)));
    size += static_cast<std::size_t>(got);
    if (size > most) return too_large();  // another process still writes to it
    if (got == 0) {
      text.resize(size);
      return {.text = std::move(text), .refused = {}};
    }
    if (size == text.size()) text.resize(2 * size);
  }
}

}  // namespace proctor
