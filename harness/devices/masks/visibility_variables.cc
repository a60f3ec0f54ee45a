#include "harness/devices/masks/visibility_variables.h"

namespace proctor {
namespace {

constexpr std::string_view kLease =
    "Use the keys `gpus` and `mask`, or narrow the pool with your own environment.";
constexpr std::string_view kHierarchy = "Write hierarchy = \"flat\" in the suite, or use --hierarchy flat.";

}  // namespace

std::string_view to_string(CallerValue value) {
  switch (value) {
    case CallerValue::kNarrows:
      return "narrows";
    case CallerValue::kDefault:
      return "default";
    case CallerValue::kCleared:
      return "cleared";
    case CallerValue::kReplaced:
      return "replaced";
    case CallerValue::kRefused:
      return "refused";
    case CallerValue::kKept:
      return "kept";
  }
  return "";
}

const std::vector<VisibilityVariable>& visibility_variables() {
  using enum CallerValue;
  constexpr Backend kCuda = Backend::kCuda;
  constexpr Backend kXpu = Backend::kXpu;
  static const std::vector<VisibilityVariable> kVariables = {
      {"CUDA_VISIBLE_DEVICES", kCuda, kNarrows, "is the mask of the CUDA driver", false, kLease},
      {"CUDA_DEVICE_ORDER", kCuda, kReplaced, "sets the order in which a CUDA mask counts devices", false,
       kLease},
      {"NVIDIA_VISIBLE_DEVICES", kCuda, kCleared, "gives GPUs to the containers that a case starts", false,
       kLease},
      {"ZE_AFFINITY_MASK", kXpu, kNarrows, "is the mask of Level Zero", true, kLease},
      {"ZE_FLAT_DEVICE_HIERARCHY", kXpu, kDefault, "sets whether the mask counts cards or tiles", true,
       kHierarchy},
      {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", kXpu, kReplaced, "sets the order in which the mask counts devices",
       true, kLease},
      {"ZE_ENABLE_ALT_DRIVERS", kXpu, kKept, "selects the drivers that the Level Zero loader loads"},
      {"ZE_ENABLE_NULL_DRIVER", kXpu, kCleared, "adds a driver of devices that do not exist"},
      {"ZEL_DRIVERS_ORDER", kXpu, kCleared, "sets which Level Zero driver comes first"},
      {"FilterBdfPath", kXpu, kRefused, "excludes devices before the mask counts them", true},
      {"FilterDeviceId", kXpu, kRefused, "excludes devices before the mask counts them", true},
      {"ForceDeviceId", kXpu, kRefused, "excludes devices before the mask counts them", true},
      {"ONEAPI_DEVICE_SELECTOR", kXpu, kCleared, "selects by ordinal among the devices of the mask", false,
       kLease},
      {"SYCL_DEVICE_FILTER", kXpu, kCleared, "selects by ordinal among the devices of the mask", false,
       kLease},
      {"SYCL_DEVICE_ALLOWLIST", kXpu, kCleared, "selects among the devices of the mask", false, kLease},
      {"HIP_VISIBLE_DEVICES", Backend::kNone, kKept,
       "is a mask for AMD devices, which Proctor does not lease"},
      {"ROCR_VISIBLE_DEVICES", Backend::kNone, kKept,
       "is a mask for AMD devices, which Proctor does not lease"},
      {"GPU_DEVICE_ORDINAL", Backend::kNone, kKept,
       "is a mask for AMD devices, which Proctor does not lease"},
  };
  return kVariables;
}

std::vector<std::string> all_names_of(const VisibilityVariable& variable) {
  std::vector<std::string> names;
  if (variable.prefixed) {
    for (const std::string_view prefix : kIntelPrefixes)
      names.push_back(std::string(prefix).append(variable.name));
  }
  names.emplace_back(variable.name);
  return names;
}

const VisibilityVariable* find_visibility_variable(std::string_view name) {
  for (const VisibilityVariable& variable : visibility_variables()) {
    if (name == variable.name) return &variable;
    for (const std::string_view prefix : kIntelPrefixes) {
      if (variable.prefixed && name.starts_with(prefix) && name.substr(prefix.size()) == variable.name)
        return &variable;
    }
  }
  return nullptr;
}

}  // namespace proctor
