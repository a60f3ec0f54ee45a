#include "suites/accel/cuda/native.h"

namespace proctor::accel {
namespace {

bool ask_driver_is_older() {
  int driver = 0;
  return cudaDriverGetVersion(&driver) == cudaSuccess && driver < CUDART_VERSION;
}

}  // namespace

bool driver_is_older() {
  static const bool older = ask_driver_is_older();
  return older;
}

std::string Status::name() const { return cudaGetErrorName(static_cast<cudaError_t>(code_)); }

bool Status::not_ready() const { return code_ == cudaErrorNotReady; }

bool Status::out_of_memory() const { return code_ == cudaErrorMemoryAllocation; }

// After one of these every call of the process fails; the device may be well in the next one.
bool Status::device_lost() const {
  switch (static_cast<cudaError_t>(code_)) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

bool Status::unsupported() const { return code_ == cudaErrorNotSupported; }

}  // namespace proctor::accel
