// The NVML queries of the visibility suite. The library is found and loaded at run time.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "suites/accel/nvml_types.h"

namespace proctor::visibility {

class Nvml {
 public:
  // Loads the library, once. The library is never unloaded. If it cannot be loaded, `why` is the reason:
  // "library_missing:..", "nvmlInit_v2: 9".
  static std::optional<Nvml> load(std::string& why);

  // [{"uuid","pci","memory","minor"}] in the order of NVML. memory: null if NVML does not report it.
  nlohmann::json devices() const;
  // {"result":NUMBER, "uuid":the UUID of the found device, or ""}
  nlohmann::json device_named(const std::string& name) const;
  // {UUID: BYTES}, the memory in use by all processes.
  nlohmann::json used() const;

 private:
  template <typename... Arguments>
  int result_of(const char* function, Arguments... arguments) const;
  explicit Nvml(void* library) : library_(library) {}
  template <typename... Arguments>
  bool call(const char* function, Arguments... arguments) const;
  template <typename Visit>
  void each(const Visit& visit) const;

  void* library_;
};

}  // namespace proctor::visibility
