// Turns a lock into files: the Dockerfile of its image and the lines that start it. The committed files below
// docker/ are the same, byte by byte (a test checks this). A value that the lock does not have becomes a
// build argument without a default.
#pragma once

#include <string>
#include <vector>

#include "harness/stack/lock.h"

namespace proctor {

struct RenderedFile {
  std::string path{};  // below the directory of the stacks: "xpu-rolling/Dockerfile"
  std::string text{};
  bool executable = false;
};

std::string render_dockerfile(const StackLock& lock);

// The same options three times, for docker run, for compose and for a job container of GitHub Actions.
std::string render_run_script(const StackLock& lock);
std::string render_compose(const StackLock& lock);
std::string render_job_container(const StackLock& lock);

std::vector<RenderedFile> render_stack(const StackLock& lock);

// The user inside the image: any number except 0. It needs no entry in /etc/passwd.
inline constexpr int kImageUser = 10001;

}  // namespace proctor
