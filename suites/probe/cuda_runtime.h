// The part of the CUDA Runtime that the probe uses. It is found at run time and declared here, so that the
// build needs no toolkit. Nothing here makes a context (source: NVIDIA, CUDA Runtime API, "Device
// Management").
#pragma once

#include <string>
#include <vector>

namespace proctor::probe {

struct CudaRuntimeDevice {
  std::string name;
  std::string uuid;  // "GPU-..."
  std::string pci;   // "0000:03:00.0"
  unsigned long long memory_bytes = 0;
  std::string capability;  // "9.0"
  bool integrated = false;
};

struct CudaRuntime {
  std::string problem;  // see main_cuda.cc
  std::string detail;
  std::string path;
  int version = 0;                         // 13000; 0: not known
  int driver = 0;                          // the newest version that the driver supports; 0: no driver
  std::string code;                        // the answer of cudaGetDeviceCount if it fails
  std::vector<CudaRuntimeDevice> devices;  // in its order
};

// Of the newest runtime that works here or, where none does, that is here.
CudaRuntime query_cuda_runtime();

}  // namespace proctor::probe
