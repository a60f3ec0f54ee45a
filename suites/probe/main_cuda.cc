// proctor-probe-cuda: what NVIDIA's libraries say about this machine (probe_main.h): NVML first, which makes
// no context and knows no mask, then the CUDA Runtime. Its document:
//   {"v":1, "problem":"" | WHY, "detail":TEXT,
//    "driver":"580.95.05", "cuda":13000, "nvml":{"problem","version"},
//    "runtime":{"problem","detail","path","version":13000,"code":"cudaErrorNoDevice"},
//    "devices":[{"name","uuid","pci","device_id","memory_bytes","capability":"9.0","integrated","ordinal"}]}
// "ordinal": the Runtime's, under the CUDA_DEVICE_ORDER of this process; -1: it does not have the device.
// If there is no Runtime, it is NVML's. WHY says why no program here can use a device; in "runtime", why
// those cannot that use this runtime:
//   no_driver    libcuda.so.1 cannot be loaded          driver_too_old   35, although there is a driver
//   no_device    100, or nothing is listed              init:CODE        any other answer; GPU_IS_LOST: NVML's
//   no_mig_instance    NVML's GPUs are in MIG mode, and none has an instance
//   library_missing:libcudart.so.13                     symbol_missing:NAME
#include <nlohmann/json.hpp>

#include "suites/probe/probe_main.h"

int main(int argc, char** argv) {
  using namespace proctor::probe;
  probe_main(argc, argv, {"proctor-probe-cuda", describe_cuda, open_cuda_devices});
}
