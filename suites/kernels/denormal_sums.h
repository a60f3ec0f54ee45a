// Atomic additions whose sums are denormal, for check_atomics.cc and check_numbers_cuda.cc.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {

// Each work-item of `kernel` adds to a separate number: normal terms with a denormal sum, or denormal terms.
template <typename T>
void expect_denormal_sums(const Context& context, const std::string& module_name, const std::string& kernel) {
  constexpr T kLeastNormal = std::numeric_limits<T>::min(), kLeast = std::numeric_limits<T>::denorm_min();
  constexpr std::uint32_t kItems = 64;
  std::vector<T> words, values, sums;
  for (std::uint32_t i = 0; i < kItems; ++i) {
    const T sign = i % 2 == 0 ? T{1} : T{-1}, part = static_cast<T>(i + 1) * kLeast;
    words.push_back(sign * (i < kItems / 2 ? kLeastNormal + part : part));
    values.push_back(sign * (i < kItems / 2 ? -kLeastNormal : 3 * part));
    sums.push_back(words[i] + values[i]);
  }
  Queue queue(context);
  const auto at = device_copy(queue, context, words), with = device_copy(queue, context, values);
  const Buffer found = device_memory(context, at.bytes());
  suite::step("given atomic additions with denormal sums");
  queue.launch(Kernel(Module::load(context, module_name), kernel), groups_of(1, kItems),
               arguments(at, with, found, kItems));
  queue.synchronize();
  expect_values("values that were found", words, read_as<T>(queue, context, found), context.device());
  expect_values("the sums", sums, read_as<T>(queue, context, at), context.device());
}

}  // namespace proctor::accel
