// One case per row of mask_rows.cc: given a value of the mask, what zeInit answers and what each device still
// has.
#include "suites/main/check.h"
#include "suites/visibility/ask.h"
#include "suites/visibility/mask_model.h"
#include "suites/visibility/mask_rows.h"

namespace proctor::visibility {
namespace {

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

    const auto expected = select_devices(row_.selects, tiles_of(unmasked));
    suite::expect_same(std::string("ZE_AFFINITY_MASK ") + (value ? "'" + *value + "'" : "unset") + " selects",
                       expected_text(expected, unmasked, kind), seen_text(seen, kind));
  }

  const MaskRow& row_;
};

[[maybe_unused]] const bool kAdded = [] {
  for (const MaskRow& row : mask_rows()) {
    suite::add_check({"MaskRow", row.name, row.rule, row.source, row.severity, 1, __FILE__, __LINE__},
                     [&row] { return new MaskRowCheck(row); });
  }
  return true;
}();

}  // namespace
}  // namespace proctor::visibility
