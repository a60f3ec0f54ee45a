// The names of types and operations, as the parameters of checks have them, and the way back from a name.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

inline constexpr const char* kNcclTests = "NVIDIA nccl-tests, verifiable/verifiable.cu and src/";
inline constexpr const char* kGlooTests = "Gloo, gloo/test/";
inline constexpr const char* kOneCclTests = "oneCCL, tests/functional/test_impl.hpp";

// No element, one, fewer than there are ranks, primes, and numbers around powers of two.
inline constexpr std::array<std::size_t, 8> kCounts{0, 1, 2, 31, 255, 256, 257, 1021};

// The position of `name` in one of the tables of provider.h.
template <typename Value, typename Table>
Value named(const Table& table, const std::string& name) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (name == to_string(static_cast<Value>(i))) return static_cast<Value>(i);
  }
  throw std::invalid_argument("no such name: " + name);
}

inline Type type_named(const std::string& name) { return named<Type>(kTypes, name); }
inline Operation operation_named(const std::string& name) { return named<Operation>(kOperations, name); }

inline std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const auto& facts : kTypes) names.emplace_back(facts.name);
  return names;
}

// The operations that an exercise of rule.h describes completely.
inline std::vector<std::string> exercised_operation_names() {
  std::vector<std::string> names(kOperations.begin(), kOperations.end());
  std::erase_if(names, [](const std::string& name) {
    return name == "send" || name == "receive" || name == "barrier";
  });
  return names;
}

}  // namespace proctor::collectives
