// The data of a page: columns with tables of their texts, deflated, which the page's script reads (page.js).
//
// `list` is what the list of cases shows and searches. What is said of one case alone, its attempts and the ends of its
// logs, lies in blocks of their own, which are inflated when somebody looks at such a case. `index` says which of them has
// what.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/page/page_cases.h"
#include "reports/page/page_request.h"

namespace proctor {

struct PageBlock {
  std::string name{};  // "list", "past", "details3", "logs0", "index"
  std::string base64{};
};

struct PageData {
  std::vector<PageBlock> blocks{};
  // What did not fit.
  std::size_t cases_left_out = 0;
  std::size_t details_left_out = 0;
  std::size_t logs_left_out = 0;

  std::size_t bytes() const;
};

// `cases`: page_cases(). At most `budget` bytes.
PageData page_data(const PageRequest& request, const std::vector<PageCase>& cases, std::size_t budget);

}  // namespace proctor
