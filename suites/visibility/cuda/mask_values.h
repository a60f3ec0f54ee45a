// Patterns of CUDA_VISIBLE_DEVICES that are independent of the machine. A pattern names devices of the pool, which
// are the devices that a run may use. Their real names are known only at run time:
//
//   {0} {1} ..       the ordinal of the pool's first, second .. device, among all devices in PCI order
//   {last}           the ordinal of the pool's last device
//   {zero}           the ordinal of the machine's first device
//   {N}              the number of devices of the machine: the first ordinal without a device
//   {uuid0} ..       the name of a device, "GPU-8932f937-..."
//   {prefix0} ..     the shortest prefix of the name that no other device of the machine has
//   {bare0} ..       the name without GPU-
//   {common}         the common prefix of the names of two devices of the pool
//
// The functions are pure. No value that they make names a device outside of the pool.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proctor::visibility {

// The names and ordinals of the devices for which patterns are filled in.
struct Names {
  std::vector<std::string> pool;      // names of the devices that the run may use, in PCI order
  std::vector<std::string> machine;   // names of all devices, in PCI order
  std::vector<std::size_t> ordinals;  // ordinals of the pool's devices among those of the machine
};

// The requirement of a pattern that this machine does not meet.
struct Lacking {
  std::string what;  // the reason of a skip: "needs:devices>=2"
};

std::variant<std::string, Lacking> mask_value(std::string_view pattern, const Names& names);

// The shortest prefix of `name` that identifies the device among `all`. Example: "GPU-8932f937"
std::string shortest_unique_prefix(const std::string& name, const std::vector<std::string>& all);

}  // namespace proctor::visibility
