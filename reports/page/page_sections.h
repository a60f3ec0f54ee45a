// The sections of a page in their order: the verdict, its causes, the cases, the owners of the failures, the changes,
// and the environment. A section function returns the fields that templates/page.html shows. If it returns null, the
// section is omitted. The script adds the list of all cases.
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

// Counts of the cases on the page.
struct Tally {
  Summary summary;
  StyleCounts styles{};  // by counted_as()
  int failed = 0;        // cases that fail the run
  int not_run = 0;       // cases that leave the run incomplete
  int flaky = 0;
  int fresh = 0;
  std::array<int, 4> blames{};
};
// Counts all runs, or one run.
Tally tally_of(const PageRequest& request, const std::vector<PageCase>& cases,
               std::optional<std::size_t> run = {});

// Returns the verdict of the gate if it judged a run of the page; otherwise null.
const PageGate* gate_of_page(const PageRequest& request);

// Returns the acceptance if the page has one run of `proctor accept`; otherwise null.
const AcceptReport* acceptance_of_page(const PageRequest& request);

// The input of a section.
struct PageView {
  const PageRequest& request;
  const std::vector<PageCase>& cases;
  const PageData& data;
  Tally tally = tally_of(request, cases);
  std::size_t written = 0;  // bytes of the page that are already written

  bool several() const { return request.runs.size() > 1; }
  // Returns the id of the run, or "" if the page has only one run.
  std::string run_name(std::size_t run) const {
    return several() ? request.runs[run].resolved.plan.run_id : "";
  }
};

// Returns the fields of each run for which `section` does not return null; null if no run has any.
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

// Each section has a function such as title_section().
// clang-format off
#define PAGE_SECTIONS(SECTION) \
  SECTION(title) SECTION(verdict) SECTION(bar) SECTION(acceptance) SECTION(details) SECTION(causes) SECTION(gate) \
  SECTION(cases) SECTION(reports) SECTION(owner) SECTION(changes) SECTION(matrix) SECTION(rates) SECTION(devices) \
  SECTION(known) SECTION(coverage) SECTION(warnings) SECTION(where) SECTION(foot) SECTION(forms) SECTION(blocks)
// clang-format on
#define PAGE_SECTION(name) nlohmann::json name##_section(const PageView& view);
PAGE_SECTIONS(PAGE_SECTION)
#undef PAGE_SECTION

// The name of a section in the template, and its function.
struct PageSection {
  std::string_view name;
  nlohmann::json (*view)(const PageView& view);
};
std::span<const PageSection> page_sections();

std::size_t cause_count(const PageView& view);
// Returns the number of cases that were skipped or not run, by reason.
nlohmann::json reasons_of_unrun(const PageView& view);

}  // namespace proctor
