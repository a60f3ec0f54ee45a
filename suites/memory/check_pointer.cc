// What the driver says about a pointer is what was asked for when it was allocated.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kProperties = by_vendor("Level Zero specification, zeMemGetAllocProperties",
                                              "CUDA Runtime API, cudaPointerGetAttributes");
constexpr std::size_t kManyPages = (2 << 20) + 3;

}  // namespace

PROCTOR_CHECK(Pointer, KindIsTold, "M42", kProperties, kGate, {"alloc.wrong_type"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{65537}, kManyPages}) {
      step("given " + std::to_string(bytes) + " bytes of " + to_string(kind) + " memory");
      const Buffer buffer(context, {.kind = kind, .bytes = bytes});
      for (const std::size_t offset : {std::size_t{0}, bytes / 2, bytes - 1})
        expect_same("kind at byte " + std::to_string(offset), to_string(kind),
                    to_string(pointer_info(context, buffer.data() + offset).kind));
    }
  }
}

namespace {

// Of each card and tile, while the first card is the current one. On Level Zero the host's memory is no device's.
void expect_devices_told(const std::vector<Device>& cards) {
  const Context context(cards);
  auto devices = cards;
  for (const Device& card : cards) {
    for (const Device& tile : card.tiles()) devices.push_back(tile);
  }
  for (const Device& device : devices) {
    for (const MemoryKind kind :
         by_vendor<std::vector<MemoryKind>>({MemoryKind::kDevice, MemoryKind::kShared},
                                            {MemoryKind::kDevice, MemoryKind::kShared, MemoryKind::kHost})) {
      if (kind == MemoryKind::kShared && !device.properties().shared_memory) continue;
      step(std::string("given ") + to_string(kind) + " memory of " + describe(device));
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{4095}, std::size_t{65'536}, kManyPages}) {
        const Buffer buffer(context, {.kind = kind, .bytes = bytes, .device = device});
        for (const std::size_t offset : {std::size_t{0}, bytes - 1}) {
          const Device told = pointer_info(context, buffer.data() + offset).device;
          expect_same("UUID of the device of byte " + std::to_string(offset) + " of " + std::to_string(bytes),
                      device.properties().uuid, told == Device() ? "none" : told.properties().uuid);
        }
      }
    }
  }
}

}  // namespace

PROCTOR_CHECK(Pointer, DeviceIsTold, "S3.11", kProperties, kGate, {"alloc.wrong_device"}) {
  expect_devices_told(leased_devices(1));
}

PROCTOR_CHECK(Pointer, DeviceIsToldOfASecondOne, "S3.11", kProperties, kGate,
              .faults = {"alloc.wrong_device", "alloc.wrong_device:max=4095"}, .devices = 2) {
  expect_devices_told(leased_devices(2));
}

PROCTOR_CHECK(Pointer, OtherMemoryIsUnknown, "M42", kProperties, kGate, {"alloc.unknown_pointer_claimed"}) {
  const auto context = leased();
  const std::vector<std::byte> heap(100);
  step("given an address of malloc");
  expect_same("kind", "unknown", to_string(pointer_info(context, heap.data()).kind));
}

// A driver may keep what was freed for the next allocation, and tell of it.
PROCTOR_CHECK(Pointer, FreedMemoryIsUnknown, "M42", kProperties, kWarn, {"alloc.unknown_pointer_claimed"}) {
  const auto context = leased();
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !context.device().properties().shared_memory) continue;
    step(std::string("given addresses of ") + to_string(kind) + " memory that was freed");
    Buffer buffer(context, {.kind = kind, .bytes = kManyPages});
    const std::byte* const pointer = buffer.data();
    buffer.try_free().or_throw();
    for (const std::size_t offset : {std::size_t{0}, kManyPages - 1})
      expect_same("kind", "unknown", to_string(pointer_info(context, pointer + offset).kind));
  }
}

}  // namespace proctor::accel
