// What processes of one case each cost beside their cases, by suite. A framework that registers or collects everything
// to run a single test may spend more time there than in the tests: then sharing processes is proposed, in the words to
// write: those of a file where the framework has files, else a batch.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "harness/core/duration.h"
#include "harness/core/events.h"
#include "harness/plan/plan.h"

namespace proctor {

class StartCosts {
 public:
  // A process that ran one case alone took `whole`, and the case itself `own` of it.
  void add(const Suite& suite, const Case& test, Milliseconds whole, Milliseconds own);
  // In the order of the plan's suites' addition: one for each suite that would be quicker by seconds.
  std::vector<Warning> proposals() const;

 private:
  struct Sum {
    std::size_t processes = 0;
    Milliseconds around{};  // start, collection, and the end
    Milliseconds own{};
    std::set<std::string_view> files = {};  // of the plan's ids
  };

  std::map<const Suite*, Sum> sums_;
};

}  // namespace proctor
