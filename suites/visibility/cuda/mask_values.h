// Values of CUDA_VISIBLE_DEVICES written for any machine. A row says which of the devices that a run may use
// it names. Their real names are known only at run time:
//
//   {0} {1} ..       the ordinal of the pool's first, second .. device: among all, in PCI order
//   {last}           that of its last device
//   {zero}           that of the machine's first device
//   {N}              the number of devices of the machine: the first ordinal that names none
//   {uuid0} ..       a device's name, "GPU-8932f937-..."
//   {prefix0} ..     as few digits of it as tell the device from every other of the machine
//   {bare0} ..       the name without GPU-
//   {common}         what the names of two devices of the pool have in common
//
// Pure functions: no value that they make names a device outside of the pool.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proctor::visibility {

struct Names {
  std::vector<std::string> pool;      // of the devices that the run may use, in PCI order
  std::vector<std::string> machine;   // of all devices, in PCI order
  std::vector<std::size_t> ordinals;  // of the pool's devices among those of the machine
};

struct Lacking {
  std::string what;  // "needs:devices>=2"
};

std::variant<std::string, Lacking> mask_value(std::string_view pattern, const Names& names);

// "GPU-8932f937"
std::string shortest_unique_prefix(const std::string& name, const std::vector<std::string>& all);

}  // namespace proctor::visibility
