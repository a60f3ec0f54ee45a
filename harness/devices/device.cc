#include "harness/devices/device.h"

#include <fmt/format.h>

namespace proctor {

PlannedDevice to_planned(const Device& device) {
  PlannedDevice planned{.id = device.id,
                        .backend = device.backend,
                        .name = device.name,
                        .simulated = device.simulated,
                        .uuid = device.uuid,
                        .pci = device.pci,
                        .capability = device.capability};
  if (device.vendor_id != 0)
    planned.pci_id = fmt::format("{:04x}:{:04x}", device.vendor_id, device.device_id);
  return planned;
}

}  // namespace proctor
