// The work that every core does (device/cores.cl), and what a core that is right computes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace proctor::kernels {

// One word of each work-item.
using CoreRow = std::vector<std::uint32_t>;
// By the number of the core.
using CoreRows = std::map<std::uint32_t, CoreRow>;

struct CoreSize {
  std::uint32_t seed = 0;
  std::uint32_t rounds = 1;
  std::uint32_t lanes = 32;  // of a sub-group
};

struct CoreWork {
  std::string name;
  std::string kernel;
  CoreRow (*reference)(const CoreSize& size);  // null: no document fixes the bits
  std::string module{};                        // empty: the one for the lanes of a sub-group
};

const std::vector<CoreWork>& core_works();
const CoreWork& core_work(const std::string& name);
std::vector<std::string> core_work_names();

// What more than half of the cores computed.
std::optional<CoreRow> majority_of(const CoreRows& rows);

// Of the different results, whoever computed them: equal for two devices whose cores all compute the same.
std::string digest_of(const CoreRows& rows);

}  // namespace proctor::kernels
