// Runs kernels in SPIR-V assembly (device/*.spvasm), which compute 64-bit numbers from 64-bit numbers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {

using Numbers = std::vector<std::uint64_t>;

inline constexpr std::uint64_t kLargeNumber = 0x123456789abcdef0;

inline std::uint64_t low_bits(std::uint64_t value, int bits) { return value << (64 - bits) >> (64 - bits); }
inline std::uint64_t low_bits_signed(std::uint64_t value, int bits) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits));
}

// Operands of which some have products, sums and differences that need a second part.
inline std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs_of_numbers() {
  return {{kLargeNumber, 0xfedcba9876543210}, {0xffffffffffffffff, 0xfffffffffffffffe}, {5, 0}};
}

// Reports a difference between `expected` and the results of a kernel for `in`, or a write past the results.
inline void expect_results(const Context& context, const Module& module, const std::string& kernel,
                           const Numbers& in, Numbers expected, const Launch& launch = groups_of(1, 1)) {
  Queue queue(context);
  expected.insert(expected.end(), 4, 7);
  const auto given = device_copy(queue, context, in);
  const auto out = device_copy(queue, context, Numbers(expected.size(), 7));
  suite::step("given " + kernel);
  queue.launch(Kernel(module, kernel), launch, arguments(out, given));
  queue.synchronize();
  expect_longs(kernel, expected, read_as<std::uint64_t>(queue, context, out), context.device());
}

}  // namespace proctor::accel
