// What each section of a page says, in the order in which people ask: the verdict, why, the cases, the owners of the failures,
// what changed, and where. A section gives the fields that templates/page.html shows; null leaves it out. The script adds
// the list of all cases.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page/page_cases.h"
#include "reports/page/page_data.h"
#include "reports/page/page_request.h"
#include "reports/page/page_template.h"

namespace proctor {

struct Tally {
  Summary summary;
  StyleCounts styles{};  // counted_as()
  int failed = 0;        // cases that make the run fail
  int not_run = 0;       // cases that leave it incomplete
  int flaky = 0;
  int fresh = 0;
  std::array<int, 4> blames{};
};
// Of all runs, or of one.
Tally tally_of(const PageRequest& request, const std::vector<PageCase>& cases,
               std::optional<std::size_t> run = {});

// The verdict of a gate, if it judged a run of the page; else null.
const PageGate* gate_of_page(const PageRequest& request);

// What the page of one run of `proctor accept` says first; null for any other page.
const AcceptReport* acceptance_of_page(const PageRequest& request);

struct PageView {
  const PageRequest& request;
  const std::vector<PageCase>& cases;
  const PageData& data;
  Tally tally = tally_of(request, cases);
  std::size_t written = 0;  // of the page, so far

  bool several() const { return request.runs.size() > 1; }
  // Where there are several to tell apart.
  std::string run_name(std::size_t run) const {
    return several() ? request.runs[run].resolved.plan.run_id : "";
  }
};

// What a section says of each run of which it says something; null for none.
template <typename View>
nlohmann::json of_each_run(const PageView& view, const View& section) {
  auto list = nlohmann::json::array();
  for (std::size_t i = 0; i < view.request.runs.size(); ++i) {
    nlohmann::json said = section(view.request.runs[i], i);
    if (said.is_null()) continue;
    said["name"] = view.run_name(i);
    list.push_back(std::move(said));
  }
  return listed(std::move(list));
}

// Each has a function: title_section().
// clang-format off
#define PAGE_SECTIONS(SECTION) \
  SECTION(title) SECTION(verdict) SECTION(bar) SECTION(acceptance) SECTION(details) SECTION(causes) SECTION(gate) \
  SECTION(cases) SECTION(reports) SECTION(owner) SECTION(changes) SECTION(matrix) SECTION(rates) SECTION(devices) \
  SECTION(known) SECTION(coverage) SECTION(warnings) SECTION(where) SECTION(foot) SECTION(forms) SECTION(blocks)
// clang-format on
#define PAGE_SECTION(name) nlohmann::json name##_section(const PageView& view);
PAGE_SECTIONS(PAGE_SECTION)
#undef PAGE_SECTION

struct PageSection {
  std::string_view name;
  nlohmann::json (*view)(const PageView& view);
};
std::span<const PageSection> page_sections();

std::size_t cause_count(const PageView& view);
// How many cases were skipped or not run, by reason.
nlohmann::json reasons_of_unrun(const PageView& view);

}  // namespace proctor
