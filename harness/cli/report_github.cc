// Implements `proctor report render RUN_DIR --format github`: prints a run for GitHub Actions. It starts nothing, and
// all output is a function of the journal.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/base/unique_fd.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_command.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/formats/formats.h"
#include "reports/formats/github.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<void> append(const char* name, const std::string& path, const std::string& text) {
  constexpr int kAppend = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const UniqueFd fd(::open(path.c_str(), kAppend, 0644));
  const bool written = fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written) return Error::system(std::string("write the file of ") + name + ", " + path, errno);
  return {};
}

// Appends the job summary. Text that the step wrote earlier counts toward the limit.
Result<void> append_summary(const ResolvedRun& run, const std::string& path) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  const std::size_t used = absent ? 0 : static_cast<std::size_t>(size);
  const std::string text = summary_markdown(run, used < kJobSummaryBytes ? kJobSummaryBytes - used : 0);
  if (text.empty()) {
    return Error::refused("The job summary (GITHUB_STEP_SUMMARY) already has " + std::to_string(used) +
                              " bytes, and GitHub drops a summary of more than 1 MiB",
                          "Show the run in a step of its own.");
  }
  return append("GITHUB_STEP_SUMMARY", path, text);
}

// Returns the path of a report; "" if it does not exist, because the run was killed and `finish` has not written it
// yet.
std::string report_file(const std::string& run_dir, const char* name) {
  const std::filesystem::path path = std::filesystem::path(run_dir) / name;
  std::error_code absent;
  return std::filesystem::is_regular_file(path, absent) ? path.string() : "";
}

// A case that was not run is counted only in `total`.
std::string count_outputs(const ResolvedRun& run) {
  const Summary& summary = run.summary;
  return fmt::format("total={}\npassed={}\nfailed={}\nskipped={}\nflaky={}\n", summary.planned(),
                     summary[Outcome::kPass], run.failures.failed, summary[Outcome::kSkip],
                     run.failures.flaky);
}

// Appends the outputs. A value with several lines is refused, because its lines would be outputs of their own.
Result<void> append_outputs(const ResolvedRun& run, const std::string& run_dir, const std::string& path) {
  if (run_dir.find_first_of("\r\n") != run_dir.npos) {
    return Error::refused("The path of the run directory must be one line (got `" + run_dir + "`)");
  }
  const int code = run.shell_exit_code;
  std::string text = "verdict=" + std::string(to_string(run.verdict)) + "\n";
  text += "exit-code=" + std::to_string(code) + "\n";
  text += std::string("retry=") + (code == kExitMachine ? "true" : "false") + "\n";
  text += count_outputs(run);
  text += "report=" + run_dir + "\n";
  text += "junit=" + report_file(run_dir, "junit.xml") + "\n";
  text += "page=" + report_file(run_dir, "index.html") + "\n";
  return append("GITHUB_OUTPUT", path, text);
}

}  // namespace

int show_in_github(const std::string& run_dir, bool force) {
  const auto run = load_run(run_dir);
  if (!run) return fail(Error::usage_of(run.error()));
  const std::string summary = variable("GITHUB_STEP_SUMMARY");
  const std::string outputs = variable("GITHUB_OUTPUT");
  const bool annotate = force || in_github_actions();
  if (annotate) {
    for (const Annotation& annotation : annotations(*run, variable("GITHUB_WORKSPACE")))
      std::printf("%s\n", workflow_command(annotation).c_str());
    if (std::fflush(stdout) != 0) return fail(Error::system("write the annotations to stdout", errno));
  }
  if (!outputs.empty()) {
    if (auto written = append_outputs(*run, run_dir, outputs); !written) return fail(written.error());
  }
  if (!summary.empty()) {
    if (auto written = append_summary(*run, summary); !written) return fail(written.error());
  }
  if (!annotate && summary.empty() && outputs.empty()) {
    std::printf("not in a step of GitHub Actions: nothing to write; --force prints the annotations\n");
  }
  return kExitGreen;
}

}  // namespace proctor::cli
