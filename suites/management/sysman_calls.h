// Calls of Sysman functions by name, because only newer loaders have these functions. The checks and queries for
// Intel use them. Each result is written over bytes that are not a valid result of any query. A call that the card
// does not support ends the check as skip(unsupported:FUNCTION). A call without permission ends it as
// skip(needs:permission:FUNCTION).
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "suites/accel/shared_library.h"
#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {

// The byte that fills an result before the call. It is too large for a valid number or boolean, and it does not
// terminate a string.
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
// The result of a Sysman getter. Example: TOLD(zes_mem_state_t, ZES_STRUCTURE_TYPE_MEM_STATE, zesMemoryGetState,
// module)
#define TOLD(Struct, type, call, handle)       \
  [&] {                                        \
    auto answer_ = untold<Struct>(type);       \
    or_skip(ZES_CALL(call, handle, &answer_)); \
    return answer_;                            \
  }()

// The Sysman handle of a card.
inline zes_device_handle_t managed(const Device& device) { return in_sysman(device).handle; }

}  // namespace proctor::accel
