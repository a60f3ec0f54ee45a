// Turns a lock into files: the Dockerfiles of its images, one for each flavour, and the two ways to start a container of
// them. The committed files below docker/ are the same, byte by byte (a test checks this). A value that the lock does
// not have becomes a build argument without a default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/stack/lock.h"

namespace proctor {

struct RenderedFile {
  std::string path{};  // below the directory of the stacks: "xpu-rolling/Dockerfile"
  std::string text{};
};

// Of one flavour.
std::string render_dockerfile(const StackLock& lock);

// One container, started in two ways with the same rights, devices and directories.
std::string render_compose(const StackLock& lock);
std::string render_job_container(
    const StackLock& lock);  // of GitHub Actions; its options are those of docker run

std::vector<RenderedFile> render_stack(const StackLock& lock);

// The profile that an engine applies to our containers: what Docker allows by default and less (docs/how-to/stacks.md),
// and of namespaces what the containment layer pidns needs. docker/seccomp.json, one for all stacks.
std::string_view seccomp_profile();
inline constexpr const char* kProfileName = "seccomp.json";
RenderedFile render_profile();

// The user inside the image: any number except 0. It needs no entry in /etc/passwd.
inline constexpr int kImageUser = 10001;
inline constexpr const char* kCacheInImage = "/cache";

}  // namespace proctor
