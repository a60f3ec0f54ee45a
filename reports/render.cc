#include "reports/render.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "reports/junit.h"
#include "reports/report_json.h"
#include "reports/summary.h"

namespace proctor {
namespace {

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// The old file, if any, stays until the new one is complete.
Result<void> replace_file(const std::filesystem::path& path, std::string_view text) {
  const std::string part = path.string() + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Error::system("write " + path.string(), errno);
  int err = write_all(fd, text);
  if (::close(fd) != 0 && err == 0) err = errno;
  if (err == 0 && std::rename(part.c_str(), path.c_str()) != 0) err = errno;
  if (err == 0) return {};
  ::unlink(part.c_str());
  return Error::system("write " + path.string(), err);
}

}  // namespace

Result<void> render(const RunModel& model, const std::filesystem::path& run_dir) {
  std::string failed;
  const auto write = [&failed](const std::filesystem::path& path, std::string_view text) {
    const auto written = replace_file(path, text);
    if (!written) failed += (failed.empty() ? "" : "; ") + written.error().what;
  };
  write(run_dir / "report.json", report_json(model));
  write(run_dir / "junit.xml", junit_run(model));
  write(run_dir / "summary.md", summary_markdown(model));
  std::error_code error;
  std::filesystem::create_directories(run_dir / "junit",
                                      error);  // a failure shows at the first file below it
  for (const JunitFile& file : junit_suites(model)) write(run_dir / "junit" / file.name, file.text);
  if (!failed.empty()) return Error{ErrorKind::kSystem, failed, {}, 0};
  return {};
}

}  // namespace proctor
