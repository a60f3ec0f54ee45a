#include "suites/accel/xpu/driver_table.h"

#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <link.h>

#include <cstdint>
#include <string_view>

namespace proctor::xpu {

void* sysman_driver() {
  void* found = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string_view path = info->dlpi_name;
        if (path.empty() || path.find("libze_loader") != path.npos || path.find("_layer") != path.npos)
          return 0;
        void* const library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
        if (library == nullptr || dlsym(library, kZesInit.table) == nullptr) return 0;
        *static_cast<void**>(into) = library;
        return 1;
      },
      &found);
  return found;
}

void* function_of_driver(void* driver, const Place& place) {
  using Fill = ze_result_t (*)(std::uint32_t version, void* table);
  constexpr std::size_t kRoom = 128;  // more than any table has
  void* table[kRoom] = {};
  const auto fill = reinterpret_cast<Fill>(dlsym(driver, place.table));
  const std::uint32_t newest = ZE_MAKE_VERSION(1, 99);
  return fill != nullptr && fill(newest, table) == ZE_RESULT_SUCCESS ? table[place.slot] : nullptr;
}

}  // namespace proctor::xpu
