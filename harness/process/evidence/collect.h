// Looks at a case's processes from outside, the cheapest and most certain sources first: /proc, Python
// stacks, native stacks. It runs in a process of its own that may be killed at any step; everything found
// until then is already written.
#pragma once

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/process/containment.h"
#include "harness/process/evidence/gatherer.h"

namespace proctor {

struct CollectRequest {
  int guard = 0;  // the case's processes are below it
  std::vector<std::string> devices;
  std::vector<std::string> kernel_lines{};  // of the case's time and devices
  std::string kernel_gap{};                 // why there may be more of them, or ""
  Milliseconds budget{4'500};
  std::map<std::string, std::string> environment;  // of the tools; PATH is where they are looked for,
  std::string more_tools{};                        // then these directories; "": none
};

// `text` gets everything; `digest` is called whenever it is better than before.
// `containment` holds the tools.
void collect_evidence(const CollectRequest& request, Containment& containment, std::ostream& text,
                      const std::function<void(const EvidenceDigest&)>& digest);

}  // namespace proctor
