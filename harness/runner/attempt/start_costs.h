// Sums the time that processes of one case spend outside of their cases, by suite. A framework that registers or
// collects all tests to run a single one may spend most of its time there. A warning then proposes shared processes.
// CaseObserver uses it.
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
  // Adds a process of one case. It took `whole`, and the case itself `own` of this time.
  void add(const Suite& suite, Milliseconds whole, Milliseconds own);
  // Returns one warning for each suite in which shared processes would save seconds in a run of this length.
  std::vector<Warning> proposals(Milliseconds run) const;

 private:
  struct Sum {
    std::size_t processes = 0;
    Milliseconds around{};  // start, collection and end
    Milliseconds own{};
  };

  std::map<const Suite*, Sum> sums_;
};

}  // namespace proctor
