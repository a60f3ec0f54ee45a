// The devices of each vendor, held open for a monitor.
#pragma once

#include <memory>

#include "suites/probe/monitor.h"

namespace proctor::probe {

std::unique_ptr<WatchedDevices> open_xpu_devices();   // through Level Zero and Sysman
std::unique_ptr<WatchedDevices> open_cuda_devices();  // through NVML

}  // namespace proctor::probe
