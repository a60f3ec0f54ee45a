// Fuzzes the readers of the files that a gate and a page take in addition to journals: policy, plan, verdict of another
// gate, coverage, and the list of rendered reports.
#include "harness/fuzz/fuzz.h"
#include "reports/gate/plan_ids.h"
#include "reports/gate/policy.h"
#include "reports/page/panel_files.h"
#include "reports/render.h"

namespace {

using namespace proctor;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::give(data, size,
             {[](const std::string& text) { static_cast<void>(parse_gate_policy(text, "f")); },
              [](const std::string& text) { static_cast<void>(parse_gate_plan(text, "f")); },
              [](const std::string& text) { static_cast<void>(parse_page_gate(text, "f")); },
              [](const std::string& text) { static_cast<void>(parse_page_coverage(text, "f")); },
              [](const std::string& text) { static_cast<void>(rendered_in(text)); }});
  return 0;
}
