// What a page shows of each case beside its facts: read once, for the page's own HTML and for its data.
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

struct PageCase {
  const ResolvedCase& test;
  std::uint32_t run = 0;           // index in PageRequest::runs
  bool odd = false;                // there is more to say than that it passed
  bool is_new = false;             // failed, and not so before
  std::optional<Change> change{};  // against the run that it is compared with, the first word on it
  // What earlier runs say of it, where it is odd: those of the history of the page, else of the journal; null: none does.
  std::unique_ptr<CasePast> past{};

  // In a row until now, with this one; 0: it does not fail.
  int failing_runs() const { return !test.bad ? 0 : past == nullptr ? 1 : past->failing_runs + 1; }
};

std::vector<PageCase> page_cases(const PageRequest& request);

// What caused the failure: "the device: NVIDIA H100 PCIe, cuda:GPU-1"; "" where nobody is known.
std::string culprit_of(const ResolvedCase& test);

// The newest attempt that has an end; null for none.
const AttemptEnded* newest_end(const ResolvedCase& test);
// Null where the history of the page does not know it.
const Flakiness* flakiness_of(const PageRun& run, const ResolvedCase& test);

std::string describe(Change change);  // "still failing"

// Each run has its own variants and causes: on a page they are numbered through, causes from 1. 0: it has no cause.
std::size_t variant_number(const PageRequest& request, const PageCase& shown);
std::size_t cause_number(const PageRequest& request, const PageCase& shown);

// "memory.xpu", or "attention" where no backend is.
std::string suite_name(const std::string& suite, const std::string& backend);

// How a result looks: a class of page.css, which has its colours, and the sign beside them.
struct Style {
  std::string_view name;
  std::string_view sign;
};

// From failed to passed.
std::span<const Style> all_styles();
std::string_view style_of(const ResolvedCase& test);
std::string_view style_of(const Verdict& verdict);  // of an attempt
std::string_view style_of(Outcome outcome);         // of a case that ended so
std::string_view style_of(RunVerdict verdict);
std::string_view sign_of(std::string_view style);

// How many cases have each look.
using StyleCounts = std::map<std::string_view, std::size_t>;
// That of most weight: skipped cases show nothing of the others.
std::string_view worst_style(const StyleCounts& counts);
std::string_view label_of_style(std::string_view style);  // "failed", "not run"

}  // namespace proctor
