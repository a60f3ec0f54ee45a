// Enumerates devices through the CUDA Runtime, in the calling process. Creates no context.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// Members of the record: `init` is the result of cudaGetDeviceCount, `api` the version of the runtime,
// `driver_version` the newest CUDA version that the driver supports, `device_id` the compute capability (90), and
// `execution_units` the number of multiprocessors.
Enumeration enumerate_cuda();

std::string uuid_text(const cudaUUID_t& uuid);  // Example: "GPU-8932f937-..."
std::string pci_text(const cudaDeviceProp& properties);

}  // namespace proctor::visibility
