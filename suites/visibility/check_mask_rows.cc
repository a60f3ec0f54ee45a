// One case per row of mask_rows.cc: given a value of the mask, what zeInit answers and
// what each device still has.
#include <cstdio>
#include <cstdlib>

#include "harness/base/words.h"
#include "harness/journal/child_protocol.h"
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

// "2.1": the tile of one device. What an entry selects that names neither is not specified.
void need_all_of(std::string_view selects, const std::vector<std::vector<std::uint32_t>>& tiles) {
  for (const auto& entry : split(selects, ',')) {
    std::size_t device = 0;
    std::size_t tile = 0;
    const int read = std::sscanf(std::string(entry).c_str(), "%zu.%zu", &device, &tile);
    if (read >= 1 && device >= tiles.size()) suite::skip("needs:devices>=" + std::to_string(device + 1));
    if (read == 2 && tile >= tiles[device].size()) suite::skip("needs:tiles>=" + std::to_string(tile + 1));
  }
}

class MaskRowCheck final : public suite::Check {
 public:
  explicit MaskRowCheck(const MaskRow& row) : row_(row) {}

 private:
  void body() override {
    suite::step("enumerate without a mask");
    const auto unmasked = control();
    const auto kind = has_pci_identity(unmasked) ? IdentityKind::kPci : IdentityKind::kNone;
    const auto tiles = tiles_of_machine(unmasked);
    if (row_.severity == suite::kGate && !suite::on_simgpu()) need_all_of(row_.selects, tiles);
    suite::step("enumerate with the mask of the row");
    const auto value = row_.value == nullptr ? std::nullopt : std::optional<std::string>(row_.value);
    const auto seen = enumerate({{kMask, value}});

    const auto expected = select_devices(row_.selects, tiles);
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
