// The work that every core does in check_cores.cc (kernels in device/cores.cl), and the right results, computed on
// the host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace proctor::kernels {

// The result of one core: one word of each work-item.
using CoreRow = std::vector<std::uint32_t>;
// Results by the number of the core.
using CoreRows = std::map<std::uint32_t, CoreRow>;

// The parameters of a run.
struct CoreSize {
  std::uint32_t seed = 0;
  std::uint32_t rounds = 1;
  std::uint32_t lanes = 32;  // lanes of a sub-group
};

// One kind of work.
struct CoreWork {
  std::string name;
  std::string kernel;
  CoreRow (*reference)(const CoreSize& size);  // the right result; null: no document defines the bits
  std::string module{};  // module of the kernel; empty: the module for the lanes of a sub-group
};

const std::vector<CoreWork>& core_works();
const CoreWork& core_work(const std::string& name);
std::vector<std::string> core_work_names();

// The result that more than half of the cores computed; nullopt: there is none.
std::optional<CoreRow> majority_of(const CoreRows& rows);

// A digest of the set of different results. It is equal for two devices if all their cores compute the same.
std::string digest_of(const CoreRows& rows);

}  // namespace proctor::kernels
