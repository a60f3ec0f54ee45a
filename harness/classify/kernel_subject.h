// What a line of the kernel log is about: devices by PCI address, and a process if the line names one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/kernel_line.h"

namespace proctor {

struct KernelProcess {
  int pid = 0;
  std::string name;  // as the kernel knows it: at most 15 bytes
};

// `0000:03:00` of "0000:03:00.0", "00000000:03:00.0" and "0000:03:00": without the function, which Xid lines
// do not have. "" when `text` is no PCI address.
std::string pci_slot(std::string_view text);

// Every address that the line names, and the one that the kernel gives beside it; as pci_slot.
std::vector<std::string> pci_slots(const KernelLine& line);

// "pid=4711, name=python3", "pid='4711'", "in python3 [4711]".
std::optional<KernelProcess> process_of(std::string_view text);

}  // namespace proctor
