#include "harness/stack/run_line.h"

#include <fmt/format.h>

#include <cctype>

#include "harness/core/container_marks.h"
#include "harness/stack/render.h"

namespace proctor {
namespace {

std::string plain(const std::string& text, const char* otherwise) {
  std::string name = text.empty() ? otherwise : text;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return name;
}

}  // namespace

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::kDocker:
      return "docker";
    case Engine::kPodman:
      return "podman";
    case Engine::kBuildah:
      return "buildah";
  }
  return "?";
}

bool is_cuda(const StackLock& lock) { return lock.backend == "cuda"; }
bool is_xpu(const StackLock& lock) { return lock.backend == "xpu"; }
bool has_cache(const StackLock& lock) { return is_cuda(lock) || is_xpu(lock); }

std::string mask_variable(const StackLock& lock) {
  if (is_cuda(lock)) return "CUDA_VISIBLE_DEVICES";
  return is_xpu(lock) ? "ZE_AFFINITY_MASK" : "";
}

std::vector<std::string> confinement(const StackLock& lock, const std::string& profile) {
  return {"--init",
          "--ipc=private",
          "--shm-size=" + lock.shm_size,
          fmt::format("--pids-limit={}", kPidsLimit),
          "--ulimit=core=0",
          "--cap-drop=ALL",
          "--security-opt=no-new-privileges",
          "--security-opt=seccomp=" + profile};
}

// The group of the render nodes has another number on each host, so it is asked for where the container starts.
std::vector<std::string> devices(const StackLock& lock, Engine engine, const RunPlaces& places) {
  std::vector<std::string> all;
  if (is_cuda(lock)) all.push_back(engine == Engine::kDocker ? places.gpus : kAllGpusByCdi);
  if (is_xpu(lock)) {
    all.insert(all.end(), {"--device=/dev/dri", "--volume=/dev/dri/by-path:/dev/dri/by-path:ro",
                           "--group-add=" + places.group});
  }
  for (const auto& name : lock.environment) all.push_back("--env=" + name);
  return all;
}

std::vector<std::string> shared_directories(const StackLock& lock, const RunPlaces& places) {
  std::vector<std::string> all = {fmt::format("--env={}={}", kLeasesVariable, kLeasesOfHost),
                                  fmt::format("--volume={}:{}", places.leases, kLeasesInImage)};
  if (has_cache(lock) && !places.cache.empty())
    all.push_back(fmt::format("--volume={}:{}", places.cache, kCacheInImage));
  return all;
}

std::string cache_volume(const StackLock& lock, const std::string& devices, const std::string& shard) {
  return fmt::format("proctor-{}-{}-{}", lock.name, plain(devices, "all"), plain(shard, "1"));
}

}  // namespace proctor
