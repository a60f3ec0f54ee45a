// Checks that a process sees the devices that are leased for it. The visibility suite makes the same assertions
// about masks; these checks make them in processes that also run other checks.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "harness/journal/child_protocol.h"
#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"
#include "suites/main/lease_check.h"

namespace proctor::accel {
namespace {

using suite::kGate;

constexpr const char* kMasks =
    by_vendor("Level Zero programming guide, Affinity Mask", "CUDA Programming Guide, CUDA_VISIBLE_DEVICES");

}  // namespace

// Every check compares its devices with the lease before its first step (suites/main/lease_check.h). This check
// does nothing else.
PROCTOR_CHECK(Lease, ProcessSeesLeasedDevices, "V50", kMasks, kGate, .faults = {"visibility.mask_off_by_one"},
              .expects = suite::kMismatch) {
  need(!Device::list().empty(), "no_device");
  const char* const lease = std::getenv(child::kDevicesVariable);
  const char* const pool = std::getenv(child::kPoolVariable);
  suite::expect_same("differences from the lease", "",
                     suite::difference_from_lease(lease != nullptr ? lease : "[]",
                                                  pool != nullptr ? pool : "[]", identify_visible));
}

// Checks that memory of a masked process is allocated on the device that the mask leaves, and that a hidden device
// is not used.

namespace {

using suite::expect_true;
using suite::Helper;
using suite::kGate;

constexpr const char* kMask = by_vendor("ZE_AFFINITY_MASK", "CUDA_VISIBLE_DEVICES");
constexpr const char* kGuide =
    by_vendor("Level Zero programming guide, Affinity Mask; zesMemoryGetState",
              "CUDA Programming Guide, CUDA Environment Variables; cudaMemGetInfo");

// The mask that leaves a second process one of this process's own devices, or one tile of a single card.
std::string mask_of_one() {
  const char* own = std::getenv(kMask);
  if (own == nullptr || *own == '\0') return "0";
  const std::string_view all(own);
  return std::string(all.substr(0, all.find(',')));
}

PROCTOR_HELPER(hold_under_mask) {
  const auto devices = Device::list();
  need(devices.size() == 1, "needs:a_mask_of_one_device");
  const Context context(devices);
  const Buffer buffer = used_memory(context, kHeld);
  suite::answer({{"uuid", context.device().properties().uuid}});
  suite::wait_for_input();
}

std::vector<std::uint64_t> free_of(const std::vector<Device>& devices) {
  std::vector<std::uint64_t> bytes;
  for (const Device& device : devices) bytes.push_back(device.memory().free);
  return bytes;
}

}  // namespace

PROCTOR_CHECK(DeviceMask, AllocationUsesOnlyVisibleDevice, "V45", kGuide, kGate,
              .faults = {by_vendor("visibility.run_on_hidden_device:min=268435456",
                                   "visibility.run_on_hidden_device")},
              .devices = 2, .alone = true) {
  const auto devices = leased_devices(2);
  const Buffer counted = need_counted_memory(Context(devices[0]));
  const auto before = free_of(devices);
  suite::step("given a second process with 320 MiB, under the mask " + mask_of_one());
  Helper holder("hold_under_mask", {}, {{kMask, mask_of_one()}});
  const auto uuid = holder.answer().at("uuid").get<std::string>();
  const auto during = free_of(devices);
  const auto is_it = [&](const Device& device) { return device.properties().uuid == uuid; };
  expect_true(std::count_if(devices.begin(), devices.end(), is_it) == 1,
              "the device is one of this process's devices");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool visible = is_it(devices[i]);
    const std::string what = describe(devices[i]) + " has ";
    if (visible) {
      expect_true(during[i] + kHeld <= before[i] + kFreeSlack, what + "320 MiB less, and is visible");
    } else {
      expect_true(during[i] + kFreeSlack >= before[i], what + "as much as before, and is hidden");
    }
  }
  holder.finish();
}

}  // namespace proctor::accel
