// One case per row of mask_rows.cc: given a value of the mask, which devices are left, in which order.
#include <set>
#include <sstream>

#include "suites/main/check.h"
#include "suites/visibility/cuda/mask_rows.h"
#include "suites/visibility/cuda/observed.h"
#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {
namespace {

std::vector<std::string> selected(std::string_view selects, const Pool& pool) {
  if (selects == "none") return {};
  if (selects == "all") return pool.names.pool;
  std::vector<std::string> names;
  std::istringstream positions{std::string(selects)};
  for (std::size_t position = 0; positions >> position;) names.push_back(pool.uuid(position));
  return names;
}

class CudaMaskRowCheck final : public suite::Check {
 public:
  explicit CudaMaskRowCheck(const CudaMaskRow& row) : row_(row) {}

 private:
  std::optional<std::string> value_in(const Pool& pool) const {
    if (row_.value == nullptr) return std::nullopt;
    const auto made = mask_value(row_.value, pool.names);
    if (const auto* lacking = std::get_if<Lacking>(&made)) suite::skip(lacking->what);
    return std::get<std::string>(made);
  }

  // In the words of the row, which mean the same on every machine.
  std::string question() const {
    const auto name = std::string(kMask);
    return row_.value == nullptr ? name + " unset" : name + "='" + row_.value + "'";
  }

  void body() override {
    const auto pool = pool_of();
    if (row_.whole_machine_only && !pool.is_whole_machine()) suite::skip("needs:whole_machine");
    const auto value = value_in(pool);
    const auto shown = value ? "'" + *value + "'" : std::string("unset");
    suite::step("given CUDA_VISIBLE_DEVICES " + shown);
    const auto seen = enumerate({{kOrder, kByBus}, {kMask, value}});

    const bool is_open = row_.severity != suite::kGate;
    if (is_open || seen.devices.empty()) observe_selection(question(), seen, pool);

    if (std::string_view(row_.selects) != "once") {
      if (is_open && !suite::on_simgpu()) return;
      suite::expect_same("CUDA_VISIBLE_DEVICES " + shown + " selects",
                         expected_text(selected(row_.selects, pool)), text_of(seen));
      return;
    }
    std::set<std::string> once;
    for (const auto& uuid : uuids(seen)) {
      suite::expect_true(once.insert(uuid).second, uuid + " is listed once under " + shown);
    }
  }

  const CudaMaskRow& row_;
};

[[maybe_unused]] const bool kAdded = [] {
  for (const CudaMaskRow& row : cuda_mask_rows()) {
    suite::add_check({"MaskRow", row.name, row.rule, row.source, row.severity, __FILE__, __LINE__,
                      suite::CheckTraits{.faults = {row.fault}}},
                     [&row] { return new CudaMaskRowCheck(row); });
  }
  return true;
}();

}  // namespace
}  // namespace proctor::visibility
