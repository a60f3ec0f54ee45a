#include <dlfcn.h>

#include <cstdlib>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {

std::string Status::name() const { return xpu::result_name(static_cast<ze_result_t>(code_)); }

bool Status::not_ready() const { return code_ == ZE_RESULT_NOT_READY; }

bool Status::out_of_memory() const {
  return code_ == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY || code_ == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ||
         code_ == ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
}

bool Status::device_lost() const {
  constexpr std::uint32_t kRequiresReset =
      0x70000006;  // ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET, Level Zero 1.5
  return code_ == ZE_RESULT_ERROR_DEVICE_LOST || code_ == kRequiresReset;
}

bool Status::unsupported() const { return code_ == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE; }

void symbol_missing(const char* name) { throw suite::Skipped(std::string("symbol_missing:") + name); }

void need_valid_to_the_layer(const Status& status) {
  const bool refused = status.code() == ZE_RESULT_ERROR_INVALID_ENUMERATION ||
                       status.code() == ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (refused && !xpu::mapped_library("libze_validation_layer").empty())
    throw suite::Skipped("unsupported:" + std::string(status.call()) + "_through_the_validation_layer");
}

bool has_handles_of_the_driver() { return std::getenv("ZE_ENABLE_LOADER_INTERCEPT") == nullptr; }

void* exported_function(const char* name) { return dlsym(xpu::open_loader().handle(), name); }

std::uint64_t in_ze(Nanoseconds timeout) {
  return timeout == Nanoseconds::max() ? UINT64_MAX : static_cast<std::uint64_t>(timeout.count());
}

}  // namespace proctor::accel
