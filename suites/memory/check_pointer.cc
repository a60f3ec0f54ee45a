// What the driver says about a pointer is what was asked for when it was allocated.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::step;

constexpr const char* kProperties = by_vendor("Level Zero specification, zeMemGetAllocProperties",
                                              "CUDA Runtime API, cudaPointerGetAttributes");

}  // namespace

PROCTOR_CHECK(Pointer, KindIsTold, "M42", kProperties, kGate, {"alloc.wrong_type"}) {
  const auto context = leased();
  for (const Kind kind : {Kind::kDevice, Kind::kHost, Kind::kShared}) {
    if (kind == Kind::kShared && !context.device().properties().shared_memory) continue;
    step(std::string("given ") + to_string(kind) + " memory");
    const Buffer buffer(context, {.kind = kind, .bytes = 5000});
    expect_same("kind at its begin", to_string(kind), to_string(pointer_info(context, buffer.data()).kind));
    expect_same("kind inside", to_string(kind), to_string(pointer_info(context, buffer.data() + 4999).kind));
  }
}

PROCTOR_CHECK(Pointer, DeviceIsTold, "S3.11", kProperties, kGate, {"alloc.wrong_device"}) {
  const auto cards = Device::list();
  need(!cards.empty(), "no_device");
  const Context context(cards);
  auto devices = cards;
  for (const Device& card : cards) {
    for (const Device& tile : card.tiles()) devices.push_back(tile);
  }
  for (const Device& device : devices) {
    step("given memory of " + describe(device));
    const Buffer buffer(context, {.bytes = 100, .device = device});
    const Device told = pointer_info(context, buffer.data()).device;
    expect_same("UUID of the pointer's device", device.properties().uuid,
                told == Device() ? "none" : told.properties().uuid);
  }
}

PROCTOR_CHECK(Pointer, OtherMemoryIsUnknown, "M42", kProperties, kGate, {"alloc.unknown_pointer_claimed"}) {
  const auto context = leased();
  const std::vector<std::byte> heap(100);
  step("given an address of malloc");
  expect_same("kind", "unknown", to_string(pointer_info(context, heap.data()).kind));
}

PROCTOR_CHECK(Pointer, FreedMemoryIsUnknown, "M42", kProperties, kGate, {"alloc.unknown_pointer_claimed"}) {
  const auto context = leased();
  Buffer buffer = device_memory(context, 100);
  const void* pointer = buffer.data();
  buffer.try_free().or_throw();
  step("given an address that was freed");
  expect_same("kind", "unknown", to_string(pointer_info(context, pointer).kind));
}

}  // namespace proctor::accel
