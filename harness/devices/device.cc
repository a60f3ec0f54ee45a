#include "harness/devices/device.h"

namespace proctor {

PlannedDevice to_planned(const Device& device) {
  return {.id = device.id, .backend = device.backend, .name = device.name, .simulated = device.simulated};
}

}  // namespace proctor
