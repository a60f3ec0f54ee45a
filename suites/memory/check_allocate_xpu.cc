// Getting and giving back memory: what only Level Zero says or has.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kAlloc = "Level Zero specification, zeMemAllocDevice";
constexpr const char* kFree = "Level Zero specification, zeMemFree";
constexpr std::uint64_t kHeld = 256 << 20;
constexpr std::uint64_t kSlack = 8 << 20;  // contexts, queues, granularity

}  // namespace

PROCTOR_CHECK(Allocate, ZeroBytesAreRefused, "M01", kAlloc, kGate,
              {"alloc.zero_size_accepted", "error.wrong_code:err=0x78000004"}) {
  const auto context = leased();
  for (const Kind kind : {Kind::kDevice, Kind::kHost}) {
    step(std::string("given 0 bytes of ") + to_string(kind) + " memory");
    Buffer none;
    expect_status("ZE_RESULT_ERROR_UNSUPPORTED_SIZE",
                  Buffer::try_allocate(context, {.kind = kind, .bytes = 0}, none));
  }
}

PROCTOR_CHECK(Allocate, NewMemoryHidesTheOldContext, "M15",
              "isolation: what one job leaves, the next must not read", kWarn, {"alloc.stale_contents"}) {
  const Device device = leased_device();
  const auto secret = noise(65536, 7);
  {
    const Context first(device);
    Queue queue(first);
    const auto buffer = device_copy(queue, first, secret);
  }
  step("given memory in a new context");
  const Context second(device);
  Queue queue(second);
  const Buffer buffer = device_memory(second, secret.size());
  const auto seen = read_bytes(queue, second, buffer.data(), buffer.bytes());
  expect_true(!std::equal(seen.begin(), seen.begin() + 4096, secret.begin()),
              "new memory does not show what another context wrote");
}

PROCTOR_CHECK(Free, NullIsRefused, "M09", kFree, kWarn, {"error.swallowed"}) {
  const auto context = leased();
  step("given a null pointer");
  expect_refused("free of null", try_free(context, nullptr));
}

PROCTOR_CHECK(Accounting, TileMemoryIsTakenFromItsTile, "S4.5",
              "Level Zero specification, zes_mem_properties_t", kGate,
              .faults = {"alloc.wrong_device", "visibility.hidden_reachable", "alloc.oom"},
              .needs = {"tiles>=2"}) {
  const Device card = leased_device();
  const auto tiles = card.tiles();
  need(tiles.size() >= 2, "needs:tiles>=2");
  const Context context(card);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    step("given 256 MiB on tile " + std::to_string(i));
    const std::uint64_t before = tiles[i].memory().free;
    const Buffer held(context, {.bytes = kHeld, .device = tiles[i]});
    const std::uint64_t after = tiles[i].memory().free;
    expect_true(
        after + kHeld <= before + kSlack,
        "that tile has 256 MiB less, it had " + std::to_string(before) + " and has " + std::to_string(after));
  }
}

}  // namespace proctor::accel
