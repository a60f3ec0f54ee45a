// proctor-probe-cuda reports the state of NVIDIA's libraries on this machine (probe_main.h). It queries NVML first,
// which creates no context and ignores masks, and then the CUDA Runtime. Its document:
//   {"v":1, "problem":"" | WHY, "detail":TEXT,
//    "driver":"580.95.05", "cuda":13000, "nvml":{"problem","version"},
//    "runtime":{"problem","detail","path","version":13000,"code":"cudaErrorNoDevice"},
//    "devices":[{"name","uuid","pci","device_id","memory_bytes","capability":"9.0","integrated","ordinal"}]}
// "ordinal" is the number in the CUDA Runtime, under the CUDA_DEVICE_ORDER of this process; -1: it does not have the
// device. If there is no Runtime, it is the number in NVML. WHY is the reason why no program here can use a device. In
// "runtime" it is the reason for programs that use this runtime:
//   no_driver    libcuda.so.1 cannot be loaded          driver_too_old   35, although there is a driver
//   no_device    100, or no device is listed            init:CODE        any other code; GPU_IS_LOST: from NVML
//   no_mig_instance    NVML's GPUs are in MIG mode, and none has an instance
//   library_missing:libcudart.so.13                     symbol_missing:NAME
#include <nlohmann/json.hpp>

#include "suites/probe/probe_main.h"

int main(int argc, char** argv) {
  using namespace proctor::probe;
  probe_main(argc, argv, {"proctor-probe-cuda", describe_cuda, open_cuda_devices});
}
