// Tests which values are read from a CDI specification in each valid notation.

#include "harness/doctor/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The output format of `nvidia-ctk cdi generate`.
constexpr const char* kYaml = R"(---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  hooks:
  - args:
    - nvidia-cdi-hook
    - create-symlinks
    - --link
    - libcuda.so.1::/usr/lib/x86_64-linux-gnu/libcuda.so
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  # - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.1.2
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20   # of the host
    options:
    - ro
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
kind: nvidia.com/gpu
)";

TEST(CdiSpec, ParsesGeneratedYaml) {
  const CdiSpec spec = read_cdi_spec("f", kYaml);
  EXPECT_EQ(spec.kind, "nvidia.com/gpu");
  EXPECT_THAT(spec.host_paths, ElementsAre("/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20"));
  EXPECT_THAT(spec.nodes, ElementsAre("/dev/nvidiactl", "/dev/nvidia0"));
}

TEST(CdiSpec, ParsesJsonAndFlowStyle) {
  for (const char* text :
       {R"({"kind":"a.nvidia.com/gpu","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0"}],)"
        R"("mounts":[{"hostPath":"/l/libcuda.so.570.1","containerPath":"/l/x"}]}})",
        "{\n  \"kind\" : \"a.nvidia.com/gpu\",\n  \"path\" : \"/dev/nvidia0\",\n  \"hostPath\" : "
        "\"/l/libcuda.so.570.1\"\n}\n",
        "kind: 'a.nvidia.com/gpu'\nmounts: [{hostPath: /l/libcuda.so.570.1, containerPath: /l/x}]\n"
        "deviceNodes: [{path: /dev/nvidia0}]\n"}) {
    const CdiSpec spec = read_cdi_spec("f", text);
    EXPECT_TRUE(spec.is_nvidia()) << text;
    EXPECT_THAT(spec.host_paths, ElementsAre("/l/libcuda.so.570.1")) << text;
    EXPECT_THAT(spec.nodes, ElementsAre("/dev/nvidia0")) << text;
  }
}

TEST(CdiSpec, IgnoresInvalidAndOtherVendorSpecs) {
  for (const std::string& text : {std::string(), std::string("\0\xff\n:", 4), std::string("path"),
                                  std::string("hostPath:"), std::string("\"hostPath\": \"unfinished"),
                                  std::string("mykind: nvidia.com/gpu\nkind nvidia.com/gpu")}) {
    const CdiSpec spec = read_cdi_spec("f", text);
    EXPECT_FALSE(spec.is_nvidia()) << text;
    EXPECT_THAT(spec.host_paths, IsEmpty()) << text;
    EXPECT_THAT(spec.nodes, IsEmpty()) << text;
  }
  for (const char* kind : {"intel.com/gpu", "amd.com/gpu", "notnvidia.com/gpu", "nvidia.com.org/gpu"})
    EXPECT_FALSE(read_cdi_spec("f", std::string("kind: ") + kind).is_nvidia()) << kind;
}

TEST(CdiSpec, ReadsDriverVersionFromLibraryName) {
  EXPECT_EQ(driver_version_of("/usr/lib64/libcuda.so.580.65.06"), "580.65.06");
  for (const char* other :
       {"/usr/lib/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1.1", "libcuda.so", "x.so.abc.1"})
    EXPECT_EQ(driver_version_of(other), "") << other;
}

}  // namespace

}  // namespace proctor
