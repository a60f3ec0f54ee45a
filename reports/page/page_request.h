// The input of a page.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/accept/accept_words.h"
#include "reports/compare/comparison.h"
#include "reports/page/panel_files.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_results.h"

namespace proctor {

// The maximum size of a page. The page states the number of omitted entries.
inline constexpr std::size_t kPageBytes = 20'000'000;

// The run that a run is compared with, and the result.
struct PageChanges {
  const RunResults& before;
  const Comparison& comparison;
};

// One run of a page.
struct PageRun {
  const ResolvedRun& resolved;
  std::filesystem::path run_dir{};  // the directory of its logs; "": they are not read
  std::optional<std::string>
      link{};  // from the page to the run directory: "" or "../run/"; nothing: no link is possible
  std::optional<PageChanges> changes{};
  const Past* past = nullptr;
  std::string journal_sha256{};  // only needed with a gate
  FoundAcceptReport
      accept{};  // the acceptance in its directory; empty if it is not a run of `proctor accept`
};

// Everything that a page shows.
struct PageRequest {
  std::vector<PageRun> runs{};  // one, or several for a page of a nightly run on several stacks
  std::size_t budget = kPageBytes;
  const PageGate* gate = nullptr;
  const PageCoverage* coverage = nullptr;
  std::vector<std::string_view> sibling_files{};  // files in each run directory to which the page links
};

}  // namespace proctor
