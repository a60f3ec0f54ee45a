// Tests which facts simulated hosts give, which are missing and why, and which facts changed.
#include "harness/stack/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class Host : public testing::Test {
 protected:
  Host() {
    file("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n");
    file("/proc/sys/kernel/osrelease", "6.17.0-23-generic\n");
    file("/var/lib/dpkg/status", "");
  }

  void file(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_.string() + path).parent_path());
    std::ofstream(root_.string() + path) << text;
  }

  StackFact fact(const std::string& name) const {
    for (const auto& fact : capture()) {
      if (fact.name == name) return fact;
    }
    ADD_FAILURE() << "no fact " << name;
    return {};
  }
  std::string value(const std::string& name) const { return fact(name).value.value_or("unknown"); }
  Fingerprint capture() const { return capture_stack(root_, image_digest_); }

  TempDir scratch_;
  const fs::path root_ = scratch_ / "root";
  std::optional<std::string> image_digest_;
};

TEST_F(Host, EveryUnknownFactHasReason) {
  EXPECT_EQ(value("host.os"), "Ubuntu 24.04.3 LTS");
  EXPECT_EQ(value("host.kernel"), "6.17.0-23-generic");
  for (const auto& fact : capture()) {
    EXPECT_FALSE(fact.source.empty()) << fact.name;
    EXPECT_EQ(fact.value.has_value(), fact.reason.empty()) << fact.name;
  }
  EXPECT_TRUE(fact("kmd.xe").absent);
  EXPECT_FALSE(fact("firmware.guc").absent) << "only root can tell";
  EXPECT_EQ(fact("kmd.nvidia").reason, "the module nvidia is not loaded");
  EXPECT_EQ(fact("umd.level_zero").reason, "not installed: libze-intel-gpu1, intel-level-zero-gpu");
}

TEST_F(Host, CapturesNvidiaStack) {
  file("/sys/module/nvidia/version", "580.65.06\n");
  file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06\n");
  file("/proc/driver/nvidia/gpus/0000:65:00.0/information",
       "Model: \t\t NVIDIA H100\nVideo BIOS: \t 96.00.74.00.01\nGPU Firmware: \t 580.65.06\n");
  file("/usr/lib64/nvidia/libcuda.so.580.65.06", "");
  fs::create_directories(root_ / "etc/alternatives");
  fs::create_symlink("/usr/lib64/nvidia/libcuda.so.580.65.06", root_ / "etc/alternatives/libcuda");
  fs::create_symlink("/etc/alternatives/libcuda", root_ / "usr/lib64/libcuda.so.1");
  file("/usr/local/cuda/version.json", R"({"cuda":{"name":"CUDA SDK","version":"13.0.2"}})");
  file("/etc/nvidia-container-runtime/config.toml", "[nvidia-container-runtime]\nmode = \"cdi\"\n");
  file("/etc/cdi/nvidia.yaml",
       "  - args: [--link, libcuda.so.1::/usr/lib64/libcuda.so]\n  - hostPath: "
       "/usr/lib64/libcuda.so.575.51.03\n");
  EXPECT_EQ(value("kmd.nvidia"), "580.65.06");
  EXPECT_EQ(value("kmd.nvidia.flavour"), "open");
  EXPECT_EQ(value("firmware.vbios"), "0000:65:00.0 96.00.74.00.01");
  EXPECT_EQ(value("firmware.gsp"), "0000:65:00.0 580.65.06");
  EXPECT_EQ(value("umd.libcuda"), "580.65.06");
  EXPECT_EQ(fact("umd.libcuda").source, "/usr/lib64/libcuda.so.1");
  EXPECT_EQ(value("toolkit.cuda"), "13.0.2");
  EXPECT_EQ(value("glue.mode"), "cdi");
  EXPECT_EQ(value("glue.cdi"), "for libcuda 575.51.03");
  file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06\n");
  EXPECT_EQ(value("kmd.nvidia.flavour"), "closed");
}

TEST_F(Host, CapturesIntelStack) {
  file("/sys/module/xe/srcversion", "0123ABC\n");
  file("/sys/kernel/debug/dri/0/gt0/uc/guc_info", "\tstatus: RUNNING\n\tfound release version 70.44.1\n");
  file("/sys/kernel/debug/dri/1/gt/uc/guc_info", "version: wanted 70.36.0, found 70.58.0\n");
  file("/var/lib/dpkg/status",
       "Package: libze-intel-gpu1\nStatus: install ok installed\nVersion: 26.31.39395.13-0\n\n"
       "Package: libze1\nStatus: deinstall ok config-files\nVersion: 1.8.12-1\n\n"
       "Package: intel-oneapi-ccl-2021.15\nVersion: 2021.15.6-9\nStatus: install ok installed\n");
  EXPECT_EQ(value("kmd.xe"), "of the kernel, source 0123ABC");
  EXPECT_EQ(value("kmd.i915"), "unknown");
  EXPECT_EQ(value("firmware.guc"), "0/gt0 70.44.1, 1/gt 70.58.0");
  EXPECT_EQ(value("umd.level_zero"), "libze-intel-gpu1 26.31.39395.13-0");
  EXPECT_EQ(value("loader.level_zero"), "unknown") << "only its configuration is left";
  EXPECT_EQ(value("library.oneccl"), "intel-oneapi-ccl-2021.15 2021.15.6-9");
}

// Debian's OpenCL package contains the Level Zero driver; the OpenCL package of Intel's channels does not.
TEST_F(Host, FindsLevelZeroInOpenclPackage) {
  file("/var/lib/dpkg/status",
       "Package: intel-opencl-icd\nStatus: install ok installed\nVersion: 22.43.24595.41-1\n");
  file("/var/lib/dpkg/info/intel-opencl-icd.list",
       "/.\n/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so\n");
  EXPECT_EQ(value("umd.level_zero"), "unknown");
  file("/var/lib/dpkg/info/intel-opencl-icd.list",
       "/.\n/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1.3.24595\n");
  EXPECT_EQ(value("umd.level_zero"), "intel-opencl-icd 22.43.24595.41-1");
  EXPECT_EQ(value("umd.opencl"), "intel-opencl-icd 22.43.24595.41-1");
}

// Absolute links in an image or a copied machine are relative to its root. This machine has other files at these paths.
TEST_F(Host, ResolvesAbsoluteLinksInsideRoot) {
  const std::string outside = scratch_ / "outside";
  const auto move_out_and_link = [&](const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(outside + path).parent_path());
    std::ofstream(outside + path) << text;
    fs::remove_all(root_.string() + path);
    fs::create_directories(fs::path(root_.string() + path).parent_path());
    fs::create_symlink(outside + path, root_.string() + path);
  };
  move_out_and_link("/etc/os-release", "PRETTY_NAME=\"of this machine\"\n");
  move_out_and_link("/var/lib/dpkg/status", "Package: libze1\nStatus: install ok installed\nVersion: 1\n");
  move_out_and_link("/sys/module/xe/srcversion", "0123ABC\n");
  move_out_and_link("/etc/cdi/nvidia.yaml", "hostPath: /usr/lib64/libcuda.so.575.51.03\n");
  move_out_and_link("/usr/lib64/libcuda.so.575.51.03", "");
  fs::create_symlink(outside + "/usr/lib64/libcuda.so.575.51.03", root_ / "usr/lib64/libcuda.so.1");
  fs::create_directories(outside + "/gpus/0000:65:00.0");
  std::ofstream(outside + "/gpus/0000:65:00.0/information") << "Video BIOS: 96.00\n";
  fs::create_directories(root_ / "proc/driver/nvidia");
  fs::create_symlink(outside + "/gpus", root_ / "proc/driver/nvidia/gpus");
  EXPECT_TRUE(fact("host.os").absent) << value("host.os");
  EXPECT_EQ(value("loader.level_zero"), "unknown");
  EXPECT_EQ(value("kmd.xe"), "of the kernel");
  EXPECT_EQ(value("glue.cdi"), "unknown");
  EXPECT_EQ(value("umd.libcuda"), "unknown");
  EXPECT_EQ(value("firmware.vbios"), "unknown");

  fs::remove(root_ / "etc/os-release");
  file("/usr/lib/os-release", "PRETTY_NAME=inside\n");
  fs::create_symlink("/usr/lib/os-release", root_ / "etc/os-release");
  EXPECT_EQ(value("host.os"), "inside");
}

TEST_F(Host, ReadsStackOfProctorImage) {
  image_digest_ = "sha256:abc";
  file("/etc/proctor/stack", "stack xpu-rolling\nlock sha256:123\nhost nvidia 580\n");
  EXPECT_EQ(value("image.stack"), "xpu-rolling");
  EXPECT_EQ(value("image.lock"), "sha256:123");
  EXPECT_EQ(value("image.host"), "nvidia 580");
  EXPECT_EQ(value("image.digest"), "sha256:abc");
}

TEST_F(Host, InvalidFilesGiveUnknownFacts) {
  file("/usr/local/cuda/version.json", "[]");
  file("/etc/nvidia-container-runtime/config.toml", "mode = ");
  file("/usr/lib/libcuda.so.1", "");
  fs::remove(root_ / "var/lib/dpkg/status");
  EXPECT_EQ(fact("umd.libcuda").reason, "the file name libcuda.so.1 contains no version");
  EXPECT_EQ(fact("toolkit.cuda").reason, "it does not contain cuda.version");
  EXPECT_EQ(value("glue.mode"), "unknown");
  EXPECT_THAT(fact("umd.igc").reason, HasSubstr("no database of Debian packages"));
}

TEST_F(Host, AChangeIsNamedWithBothValues) {
  file("/sys/module/nvidia/version", "580.65.06\n");
  const Fingerprint before = capture();
  EXPECT_THAT(changes(before, capture()), IsEmpty());
  file("/sys/module/nvidia/version", "580.95.05\n");
  EXPECT_THAT(changes(before, capture()), ElementsAre("kmd.nvidia: 580.65.06, then 580.95.05"));
  fs::remove(root_ / "sys/module/nvidia/version");
  EXPECT_THAT(changes(before, capture()),
              ElementsAre("kmd.nvidia: 580.65.06, then unknown (the module nvidia is not loaded)"));
}

TEST(PackageOfLayer, MatchesExactNameOrPrefix) {
  for (const char* package : {"libze1", "libze-intel-gpu1", "cuda-compat-13-0", "intel-oneapi-ccl-2021.15"})
    EXPECT_TRUE(is_package_of_layer(package)) << package;
  for (const char* package : {"libze", "libze1-dev", "bash", ""})
    EXPECT_FALSE(is_package_of_layer(package)) << package;
}

TEST(DpkgStatus, CountsOnlyInstalledPackages) {
  EXPECT_THAT(installed_packages("Package: a\nStatus: install ok installed\nVersion: 1\nDepends: b\n\n"
                                 "Package: b\nStatus: install ok half-installed\nVersion: 2\n"),
              ElementsAre(Pair("a", "1")));
}

}  // namespace
}  // namespace proctor
