// One case per row of mask_rows.cc: given a value of the mask, what zeInit answers and
// what each device still has.
#include <cstdlib>

#include "harness/core/child_protocol.h"
#include "suites/main/check.h"
#include "suites/visibility/control.h"
#include "suites/visibility/mask_model.h"
#include "suites/visibility/mask_rows.h"

namespace proctor::visibility {
namespace {

// What a simulated machine is made of is known; of a real one it is what the driver says without a mask.
std::vector<std::vector<std::uint32_t>> tiles_of_machine(const Enumeration& unmasked) {
  const char* topology = std::getenv(child::kSimTopologyVariable);
  const auto known = topology == nullptr ? std::nullopt : tiles_of_topology(topology);
  if (!known) return tiles_of(unmasked);
  if (known->size() != unmasked.devices.size()) {
    suite::fail_because("wrong_count", "the driver lists " + std::to_string(unmasked.devices.size()) +
                                           " devices of --sim " + topology);
  }
  return *known;
}

class MaskRowCheck final : public suite::Check {
 public:
  explicit MaskRowCheck(const MaskRow& row) : row_(row) {}

 private:
  void body() override {
    suite::step("enumerate without a mask");
    const auto unmasked = control();
    const auto kind = has_pci_identity(unmasked) ? IdentityKind::kPci : IdentityKind::kNone;
    suite::step("enumerate with the mask of the row");
    const auto value = row_.value == nullptr ? std::nullopt : std::optional<std::string>(row_.value);
    const auto seen = enumerate({{kMask, value}});

    const auto expected = select_devices(row_.selects, tiles_of_machine(unmasked));
    suite::expect_same(std::string("ZE_AFFINITY_MASK ") + (value ? "'" + *value + "'" : "unset") + " selects",
                       expected_text(expected, unmasked, kind), seen_text(seen, kind));
  }

  const MaskRow& row_;
};

[[maybe_unused]] const bool kAdded = [] {
  for (const MaskRow& row : mask_rows()) {
    suite::add_check({"MaskRow", row.name, row.rule, row.source, row.severity, __FILE__, __LINE__,
                      suite::CheckTraits{.faults = {row.fault}}},
                     [&row] { return new MaskRowCheck(row); });
  }
  return true;
}();

}  // namespace
}  // namespace proctor::visibility
