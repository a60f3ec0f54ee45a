// Enumerates through the CUDA Runtime, in the process that calls it. Makes no context.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// In the members of the record: `init` is the result of cudaGetDeviceCount, `api` the version of the runtime,
// `driver_version` that of the newest CUDA that the driver serves, `device_id` the compute capability (90),
// `execution_units` the multiprocessors.
Enumeration enumerate_cuda();

std::string uuid_text(const cudaUUID_t& uuid);  // "GPU-8932f937-..."
std::string pci_text(const cudaDeviceProp& properties);

}  // namespace proctor::visibility
