// How often each case failed in a run of --repeat 2h, and what a run of --repeat 99%:1% excludes.
#include <algorithm>
#include <string>
#include <vector>

#include "reports/page/page_parts.h"
#include "reports/page/page_sections.h"
#include "reports/resolve/failure_rates.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRateBytes = 100'000;

void add_rate_parts(const std::string& heading, const std::vector<RatePart>& parts, std::string& text) {
  for (const RatePart& part : parts)
    text += (text.empty() ? "" : "; ") + heading + part.of + ": " + to_string(part.rate);
}

// Those that failed come first.
json rates_table(const ResolvedRun& run) {
  std::vector<const ResolvedCase*> cases;
  for (const ResolvedCase& test : run.cases) {
    if (test.rates) cases.push_back(&test);
  }
  std::ranges::stable_sort(cases, std::less<>(),
                           [](const ResolvedCase* test) { return test->rates->all.failures == 0; });
  PageTable table({"Case", "#Runs", "#Failed", "Failure rate", "By device and order"}, kMostRateBytes);
  for (const ResolvedCase* test : cases) {
    const CaseRates& rates = *test->rates;
    std::string parts;
    if (rates.all.failures > 0) {
      add_rate_parts("on ", rates.by_device, parts);
      add_rate_parts("", rates.by_order, parts);
    }
    table.add({case_cell(test->planned.id), rates.all.runs, rates.all.failures, rates.text, parts});
  }
  return table.view();
}

}  // namespace

json rates_section(const PageView& view) {
  json list = json::array();
  for (std::size_t i = 0; i < view.request.runs.size(); ++i) {
    const json table = rates_table(view.request.runs[i].resolved);
    if (!table.is_null()) list.push_back({{"name", view.run_name(i)}, {"table", table}});
  }
  return listed(std::move(list));
}

}  // namespace proctor
