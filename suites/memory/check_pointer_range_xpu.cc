// What the driver says about the allocation that an address lies in.
#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::step;

constexpr const char* kRange = "Level Zero specification, zeMemGetAddressRange";

std::string text(const void* pointer) { return std::to_string(reinterpret_cast<std::uintptr_t>(pointer)); }

}  // namespace

PROCTOR_CHECK(Pointer, BaseIsTold, "M42", kRange, kGate, {"alloc.wrong_base"}) {
  const auto context = leased();
  const Buffer buffer = device_memory(context, 10000);
  for (const std::size_t offset : {0U, 3U, 9999U}) {
    step("given byte " + std::to_string(offset) + " of 10000");
    void* base = nullptr;
    std::size_t bytes = 0;
    try_address_range(context, buffer.data() + offset, &base, &bytes).or_throw();
    expect_same("base address", text(buffer.data()), text(base));
  }
}

PROCTOR_CHECK(Pointer, SizeIsTold, "M42", kRange, kGate, {"alloc.wrong_size"}) {
  const auto context = leased();
  for (const std::size_t size : {100U, 4096U, 10000U}) {
    step("given " + std::to_string(size) + " bytes");
    const Buffer buffer = device_memory(context, size);
    void* base = nullptr;
    std::size_t bytes = 0;
    try_address_range(context, buffer.data(), &base, &bytes).or_throw();
    expect_same("size", std::to_string(size), std::to_string(bytes));
  }
}

PROCTOR_CHECK(Pointer, RangeOfOtherMemoryIsRefused, "B.0", kRange, kGate, {"alloc.unknown_pointer_claimed"}) {
  const auto context = leased();
  const std::vector<std::byte> heap(100);
  void* base = nullptr;
  std::size_t bytes = 0;
  step("given an address of malloc");
  expect_refused("its range", try_address_range(context, heap.data(), &base, &bytes));
}

}  // namespace proctor::accel
