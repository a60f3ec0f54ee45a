// What a registry of container images says about a name (OCI distribution specification, "Checking if content
// exists"; Docker's token authentication).
#pragma once

#include <string>

#include "harness/base/result.h"
#include "harness/stack/outside_tools.h"

namespace proctor {

struct ImageName {
  std::string registry{};  // "https://registry-1.docker.io"
  std::string repository{};
  std::string tag{};
};

// "ubuntu:24.04", "nvidia/cuda:13.0.2-devel", "ghcr.io/a/b:1"; a registry on this machine is asked without
// TLS, as Docker does.
ImageName parse_image_name(const std::string& image);

// The digest behind `reference`, a tag or a digest; "" if the registry has no such image.
Result<std::string> image_digest(const ImageName& image, const std::string& reference,
                                 const OutsideTools& tools);

}  // namespace proctor
