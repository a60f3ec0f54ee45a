// What a page is made of.
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

// No page is larger. What does not fit is left out, and the page says so.
inline constexpr std::size_t kPageBytes = 20'000'000;

// What a run is compared with.
struct PageChanges {
  const RunResults& before;
  const Comparison& comparison;
};

struct PageRun {
  const ResolvedRun& resolved;
  std::filesystem::path run_dir{};  // where its logs are read; "": they are not
  std::optional<std::string>
      link{};  // from the page to the run directory: "" or "../run/"; none: there is no way
  std::optional<PageChanges> changes{};
  const Past* past = nullptr;
  std::string journal_sha256{};  // where a gate is shown
  FoundAcceptReport accept{};    // in its directory; empty: it is not a run of `proctor accept`
};

struct PageRequest {
  std::vector<PageRun> runs{};  // one, or several: the page of a nightly run on several stacks
  std::size_t budget = kPageBytes;
  const PageGate* gate = nullptr;
  const PageCoverage* coverage = nullptr;
  std::vector<std::string_view> sibling_files{};  // in each run directory, to which the page links
};

}  // namespace proctor
