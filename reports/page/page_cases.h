// The cases of a page with the facts that are derived from history and comparison. They are computed once, for the HTML
// of the page and for its data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page/page_request.h"
#include "reports/resolve/report_text.h"

namespace proctor {

// One case of the page.
struct PageCase {
  const ResolvedCase& test;
  std::uint32_t run = 0;           // index in PageRequest::runs
  bool odd = false;                // the case has more facts than a plain pass
  bool is_new = false;             // it failed, and did not fail in the earlier run
  std::optional<Change> change{};  // the first change in the comparison with another run, if there is one
  // Earlier results of an odd case, from the history of the page or otherwise from the journal; null if there are none.
  std::unique_ptr<CasePast> past{};

  // Returns the number of consecutive failures including this run; 0 if the case did not fail.
  int failing_runs() const { return !test.bad ? 0 : past == nullptr ? 1 : past->failing_runs + 1; }
};

std::vector<PageCase> page_cases(const PageRequest& request);

// Returns the component that caused the failure: "the device: NVIDIA H100 PCIe, cuda:GPU-1"; "" if it is unknown.
std::string culprit_of(const ResolvedCase& test);

// Returns the newest attempt that has an end; null if there is none.
const AttemptEnded* newest_end(const ResolvedCase& test);
// Returns null if the history of the page does not have the case.
const Flakiness* flakiness_of(const PageRun& run, const ResolvedCase& test);

std::string describe(Change change);  // "still failing"

// Each run has its own variants and causes. On a page both are numbered over all runs, causes from 1. A cause number of
// 0 is a case without a cause.
std::size_t variant_number(const PageRequest& request, const PageCase& shown);
std::size_t cause_number(const PageRequest& request, const PageCase& shown);

// Returns "memory.xpu", or "attention" for a suite without a backend.
std::string suite_name(const std::string& suite, const std::string& backend);

// The appearance of a result: a class of page.css with its colours, and the sign beside the text.
struct Style {
  std::string_view name;
  std::string_view sign;
};

// Ordered from failed to passed.
std::span<const Style> all_styles();
std::string_view style_of(const ResolvedCase& test);
std::string_view style_of(const Verdict& verdict);  // for an attempt
std::string_view style_of(Outcome outcome);         // for a case with this outcome
std::string_view style_of(RunVerdict verdict);
std::string_view sign_of(std::string_view style);

// The number of cases with each look.
using StyleCounts = std::map<std::string_view, std::size_t>;
// Returns the look of the most severe result. Skipped cases are the least severe.
std::string_view worst_style(const StyleCounts& counts);
std::string_view label_of_style(std::string_view style);  // "failed", "not run"

}  // namespace proctor
