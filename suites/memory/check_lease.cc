// A process sees the devices that were leased for it: what the visibility suite asserts of masks, asserted of the very
// processes whose results are believed.
#include <cstdlib>

#include "harness/journal/child_protocol.h"
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/main/lease_check.h"

namespace proctor::accel {
namespace {

using suite::kGate;

constexpr const char* kMasks =
    by_vendor("Level Zero programming guide, Affinity Mask", "CUDA Programming Guide, CUDA_VISIBLE_DEVICES");

}  // namespace

// Every check compares before its first step (suites/main/lease_check.h); this one has nothing else to do.
PROCTOR_CHECK(Lease, IsWhatTheProcessSees, "V50", kMasks, kGate, .faults = {"visibility.mask_off_by_one"},
              .expects = suite::kMismatch) {
  need(!Device::list().empty(), "no_device");
  const char* const lease = std::getenv(child::kDevicesVariable);
  const char* const pool = std::getenv(child::kPoolVariable);
  suite::expect_same("what differs from the lease", "",
                     suite::difference_from_lease(lease != nullptr ? lease : "[]",
                                                  pool != nullptr ? pool : "[]", identify_visible));
}

}  // namespace proctor::accel
