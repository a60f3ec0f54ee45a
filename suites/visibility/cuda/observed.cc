#include "suites/visibility/cuda/observed.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "suites/main/check.h"

namespace proctor::visibility {
namespace {

std::ptrdiff_t position_of(const DeviceRecord& device, const Pool& pool) {
  const auto found = std::ranges::find(pool.names.pool, device.uuid);
  return found == pool.names.pool.end() ? -1 : found - pool.names.pool.begin();
}

}  // namespace

int code_of(const std::string& name) {
  for (int code = cudaSuccess; code <= cudaErrorUnknown; ++code) {
    if (name == cudaGetErrorName(static_cast<cudaError_t>(code))) return code;
  }
  return -1;
}

void observe_code(const std::string& question, const std::string& name) {
  suite::observe(question, "code", code_of(name), "cudaError_t");
}

void observe_selection(const std::string& question, const Enumeration& seen, const Pool& pool) {
  observe_code(question, seen.init);
  for (std::size_t i = 0; i < seen.devices.size(); ++i) {
    suite::observe(question, "device_" + std::to_string(i),
                   static_cast<double>(position_of(seen.devices[i], pool)), "place in the pool");
  }
}

}  // namespace proctor::visibility
