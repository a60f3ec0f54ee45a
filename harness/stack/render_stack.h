// Turns a lock into files: a Dockerfile for each flavour, and two files that start a container. A test compares them
// with the committed files below docker/ byte by byte. A missing value becomes a build argument without a default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/stack/lock.h"

namespace proctor {

struct RenderedFile {
  std::string path{};  // relative to the directory of the stacks: "xpu-rolling/Dockerfile"
  std::string text{};
};

// Renders the Dockerfile of one flavour.
std::string render_dockerfile(const StackLock& lock);

// Both files start a container with the same rights, devices and directories.
std::string render_compose(const StackLock& lock);
std::string render_job_container(
    const StackLock& lock);  // for GitHub Actions; its options are those of docker run

std::vector<RenderedFile> render_stack(const StackLock& lock);

// Returns the seccomp profile for Proctor's containers, the same for all stacks (docker/seccomp.json). It is a subset
// of Docker's default, plus the namespace calls that the containment layer pidns needs (docs/how-to/stacks.md).
std::string_view seccomp_profile();
inline constexpr const char* kProfileName = "seccomp.json";
RenderedFile render_profile();

// The numeric id of the user in the image, any number except 0. It needs no entry in /etc/passwd.
inline constexpr int kImageUser = 10001;
inline constexpr const char* kCacheInImage = "/cache";

}  // namespace proctor
