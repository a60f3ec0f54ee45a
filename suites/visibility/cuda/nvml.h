// The questions of the suite to NVIDIA's management library, which is found at run time.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "suites/accel/nvml_types.h"

namespace proctor::visibility {

class Nvml {
 public:
  // Loads the library once; it is never unloaded. If there is none, `why` says "library_missing:..",
  // "nvmlInit_v2: 9".
  static std::optional<Nvml> load(std::string& why);

  // [{"uuid","pci","memory","minor"}] in its own order; memory: null where it is not told.
  nlohmann::json devices() const;
  // {"result":NUMBER, "uuid":that of the device that it found, or ""}
  nlohmann::json device_named(const std::string& name) const;
  // {UUID: BYTES}, the memory that all processes use.
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
