// What processes of one case each cost beside their cases, by suite. A framework that registers or collects everything
// to run a single test may spend more time there than in the tests: then a warning proposes to share processes.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"

namespace proctor {

class StartCosts {
 public:
  // A process that ran one case alone took `whole`, and the case itself `own` of it.
  void add(const Suite& suite, Milliseconds whole, Milliseconds own);
  // One for each suite that would make a run of this length shorter by seconds.
  std::vector<Warning> proposals(Milliseconds run) const;

 private:
  struct Sum {
    std::size_t processes = 0;
    Milliseconds around{};  // start, collection, and the end
    Milliseconds own{};
  };

  std::map<const Suite*, Sum> sums_;
};

}  // namespace proctor
