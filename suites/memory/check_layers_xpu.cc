// What the core interface and the management interface say about the same memory.
#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::step;

constexpr const char* kAccounting =
    "intel/compute-runtime, DEVICE_MEMORY_ACCOUNTING.md; zes_mem_properties_t";

// Summed over the memory modules of a card that are its own. `physical` is 0 where one of them does not say.
struct Layers {
  std::uint64_t physical = 0, size = 0, free = 0;
};

Layers layers_of(const Device& card) {
  const xpu::ManagedDevice& managed = in_sysman(card);
  std::uint32_t count = 0;
  const Status listed = ZE_CALL(zesDeviceEnumMemoryModules, managed.handle, &count, nullptr);
  need(listed.ok() && count != 0, "unsupported:sysman_memory");
  std::vector<zes_mem_handle_t> modules(count);
  ZE_CALL(zesDeviceEnumMemoryModules, managed.handle, &count, modules.data()).or_throw();
  Layers sum;
  bool all_say = true;
  for (const zes_mem_handle_t module : modules) {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    ZE_CALL(zesMemoryGetProperties, module, &properties).or_throw();
    if (properties.location != ZES_MEM_LOC_DEVICE || !managed.has(properties)) continue;
    zes_mem_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    ZE_CALL(zesMemoryGetState, module, &state).or_throw();
    sum.physical += properties.physicalSize;
    sum.size += state.size;
    sum.free += state.free;
    all_say = all_say && properties.physicalSize != 0;
  }
  need(sum.size != 0, "needs:own_memory");
  if (!all_say) sum.physical = 0;
  return sum;
}

std::string comparison(const char* smaller, std::uint64_t a, const char* larger, std::uint64_t b) {
  return std::string(smaller) + " is at most " + larger + ": " + std::to_string(a) + " and " +
         std::to_string(b);
}

}  // namespace

PROCTOR_CHECK(Accounting, LayersAgree, "M50", kAccounting, suite::kWarn, {"sysman.size_lie"}) {
  for (const Device& card : leased_devices(1)) {
    step("given what is said of the memory of " + describe(card));
    const Layers layers = layers_of(card);
    const std::uint64_t programs = card.properties().memory;
    expect_true(programs <= layers.size,
                comparison("what programs can use", programs, "the size", layers.size));
    expect_true(layers.free <= layers.size, comparison("what is free", layers.free, "the size", layers.size));
    expect_true(layers.physical == 0 || layers.size <= layers.physical,
                comparison("the size", layers.size, "the physical size", layers.physical));
  }
}

PROCTOR_CHECK(Accounting, TileLayersAgree, "M50", kAccounting, suite::kWarn, .faults = {"sysman.size_lie"},
              .needs = {"tiles>=2"}) {
  const Device card = leased_device();
  need(card.tiles().size() >= 2, "needs:tiles>=2");
  step("given what is said of each tile of " + describe(card));
  for (const Device& tile : card.tiles()) {
    const MemoryInfo info = tile.memory();
    const std::uint64_t programs = tile.properties().memory;
    expect_true(programs <= info.total,
                comparison("what programs can use", programs, "the size", info.total));
    expect_true(info.free <= info.total, comparison("what is free", info.free, "the size", info.total));
  }
}

}  // namespace proctor::accel
