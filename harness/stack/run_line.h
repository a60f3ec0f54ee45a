// How a container of a stack is started, whoever starts it: with which devices, directories and rights. All that is
// rendered (render.h) and what `proctor stack run` executes comes from here.
#pragma once

#include <string>
#include <vector>

#include "harness/stack/lock.h"

namespace proctor {

enum class Engine { kDocker, kPodman, kBuildah };
std::string_view to_string(Engine engine);

// What differs from host to host and from run to run.
struct RunPlaces {
  std::string profile{};  // seccomp.json
  std::string gpus{};     // the option that gives docker the GPUs
  std::string group{};    // of the render nodes, by number
  std::string leases{};   // the host's directory of leases
  std::string cache{};    // a volume, or a directory; "" = the container's own
};

inline constexpr int kPidsLimit = 4096;
inline constexpr const char* kProctorInImage = "/opt/proctor";
inline constexpr const char* kOutInImage = "/out";
inline constexpr const char* kLeasesInImage = "/run/lock";
inline constexpr const char* kAllGpus = "--gpus=all";
inline constexpr const char* kAllGpusByCdi = "--device=nvidia.com/gpu=all";
inline constexpr const char* kRenderNode = "/dev/dri/renderD128";

bool is_cuda(const StackLock& lock);
bool is_xpu(const StackLock& lock);
bool has_cache(const StackLock& lock);  // of what a driver compiles

// The variable that says which devices a process may use; "" where there are none.
std::string mask_variable(const StackLock& lock);

// Of the process tree and its rights; of the devices. Each is one word, "--flag" or "--flag=value".
std::vector<std::string> confinement(const StackLock& lock, const std::string& profile);
std::vector<std::string> devices(const StackLock& lock, Engine engine, const RunPlaces& places);
// Directories that outlive the container: leases, with the word that they are the host's, and what drivers have compiled.
std::vector<std::string> shared_directories(const StackLock& lock, const RunPlaces& places);

// Two containers must not write one cache at once: a volume for each set of devices and each shard. `devices` is the
// value of the mask, `shard` the number of the shard; "" stands for all, and for the only one.
std::string cache_volume(const StackLock& lock, const std::string& devices, const std::string& shard);

}  // namespace proctor
