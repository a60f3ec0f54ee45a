// What a specification of the container device interface (CDI, by cncf-tags/container-device-interface) gives to
// containers, as far as doctor compares it with the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

struct CdiSpec {
  std::string file{};
  std::string kind{};                     // "nvidia.com/gpu"
  std::vector<std::string> host_paths{};  // of its mounts and nodes
  std::vector<std::string> nodes{};       // device nodes in the container: "/dev/nvidia0"

  // Also "k8s.device-plugin.nvidia.com/gpu": each generator of NVIDIA's has a vendor name of its own.
  bool is_nvidia() const;
};

bool is_libcuda(std::string_view path);  // by its name
// "580.65.06" of ".../libcuda.so.580.65.06"; "" for a name without the version of a driver, which has three digits at
// least before its first dot. Tegra and WSL have libcuda.so.1.1 with drivers of any version.
std::string driver_version_of(std::string_view path);

// Reads the values of `kind`, `hostPath` and `path` in YAML and in JSON, wherever they stand. Of anything else, and of a
// text that is neither, it reads nothing. A `path` that is not below /dev is that of a hook.
CdiSpec read_cdi_spec(std::string file, std::string_view text);

}  // namespace proctor
