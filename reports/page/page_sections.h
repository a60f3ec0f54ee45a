// What each section of a page says, in the order in which people ask: the verdict, why, the cases, whose problem it is,
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

namespace proctor {

struct Tally {
  Summary summary;
  std::size_t bad = 0;
  std::size_t flaky = 0;
  std::size_t fresh = 0;
  std::array<std::size_t, 4> blames{};
};
// Of all runs, or of one.
Tally tally_of(const PageRequest& request, const std::vector<PageCase>& cases,
               std::optional<std::size_t> run = {});

// The verdict of a gate, if it judged a run of the page; else null.
const PageGate* gate_of_page(const PageRequest& request);

// What the page of one run of `proctor accept` says first; null for any other page.
const AcceptReport* acceptance_of_page(const PageRequest& request);
std::string_view look_of_acceptance(const AcceptReport& report);

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

struct PageSection {
  std::string_view name;
  nlohmann::json (*view)(const PageView& view);
};
std::span<const PageSection> page_sections();

nlohmann::json title_section(const PageView& view);  // "Red: 37 of 10,000 cases are not good"
nlohmann::json verdict_section(const PageView& view);
nlohmann::json bar_section(const PageView& view);         // stays at the top of the window
nlohmann::json acceptance_section(const PageView& view);  // of `proctor accept`
nlohmann::json details_section(const PageView& view);     // folds the cases of an acceptance
nlohmann::json reports_section(const PageView& view);
nlohmann::json problem_section(const PageView& view);
nlohmann::json gate_section(const PageView& view);
nlohmann::json changes_section(const PageView& view);
nlohmann::json causes_section(const PageView& view);
nlohmann::json matrix_section(const PageView& view);
nlohmann::json cases_section(const PageView& view);
nlohmann::json rates_section(const PageView& view);  // of --repeat 2h and 99%:1%
nlohmann::json devices_section(const PageView& view);
nlohmann::json known_section(const PageView& view);
nlohmann::json coverage_section(const PageView& view);
nlohmann::json warnings_section(const PageView& view);
nlohmann::json where_section(const PageView& view);

std::size_t cause_count(const PageView& view);
// How many cases were skipped or not run, by reason.
nlohmann::json reasons_of_unrun(const PageView& view);

}  // namespace proctor
