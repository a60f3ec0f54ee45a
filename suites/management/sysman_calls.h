// Calls of Sysman by the names of its functions, which only newer loaders have. An answer is written over bytes that
// are no right answer anywhere. A call that the card does not support ends the check as skip(unsupported:FUNCTION),
// and one that this user may not make as skip(needs:permission:FUNCTION).
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "suites/accel/shared_library.h"
#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {

// Too large for a number and a truth value, and no end of a text.
inline constexpr int kUntold = 0x7e;

inline void* loader_function(const char* name) {
  static_cast<void>(entry_points());
  static const SharedLibrary library(xpu::kLoaderName);
  void* const address = ::dlsym(library.handle(), name);
  if (address == nullptr) symbol_missing(name);
  return address;
}
#define ZES_CALL(name, ...)                                                                                 \
  Status(                                                                                                   \
      static_cast<std::uint32_t>(reinterpret_cast<decltype(&::name)>(loader_function(#name))(__VA_ARGS__)), \
      #name)

inline void or_skip(const Status& status) {
  if (status.unsupported()) throw suite::Skipped(std::string("unsupported:") + status.call());
  if (status.name() == "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS")
    throw suite::Skipped(std::string("needs:permission:") + status.call());
  status.or_throw();
}

template <typename Struct>
Struct untold(zes_structure_type_t type) {
  Struct empty;
  std::memset(static_cast<void*>(&empty), kUntold, sizeof empty);
  empty.stype = type;
  empty.pNext = nullptr;
  return empty;
}
// TOLD(zes_mem_state_t, ZES_STRUCTURE_TYPE_MEM_STATE, zesMemoryGetState, module)
#define TOLD(Struct, type, call, handle)       \
  [&] {                                        \
    auto answer_ = untold<Struct>(type);       \
    or_skip(ZES_CALL(call, handle, &answer_)); \
    return answer_;                            \
  }()

// The management interface's handle of a card.
inline zes_device_handle_t managed(const Device& device) { return in_sysman(device).handle; }

}  // namespace proctor::accel
