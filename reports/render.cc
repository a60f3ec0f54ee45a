#include "reports/render.h"

#include <string_view>

#include "harness/core/replace_file.h"
#include "reports/junit.h"
#include "reports/report_json.h"
#include "reports/summary.h"

namespace proctor {

Result<void> render(const RunModel& model, const std::filesystem::path& run_dir) {
  std::string failed;
  const auto write = [&failed](const std::filesystem::path& path, std::string_view text) {
    const auto written = replace_file(path, text);
    if (!written) failed += (failed.empty() ? "" : "; ") + written.error().what;
  };
  write(run_dir / "report.json", report_json(model));
  write(run_dir / "junit.xml", junit_run(model));
  write(run_dir / "summary.md", summary_markdown(model));
  std::error_code error;  // a failure shows at the first file below it
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(run_dir / "junit", error)))
    std::filesystem::remove(run_dir / "junit", error);
  std::filesystem::create_directories(run_dir / "junit", error);
  for (const JunitFile& file : junit_suites(model)) write(run_dir / "junit" / file.name, file.text);
  if (!failed.empty()) return Error{ErrorKind::kSystem, failed, {}, 0};
  return {};
}

}  // namespace proctor
