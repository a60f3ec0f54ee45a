#include "harness/runner/machine/hardware_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/build_id.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSomeElf = "/bin/sh";  // not this program, which contains the mark of a simulator

class HardwareEvidenceTest : public testing::Test {
 protected:
  HardwareEvidenceTest() {
    write("proc/sys/kernel/random/boot_id", "0f-00\n");
    write("sys/bus/pci/devices/0000:03:00.0/vendor", "0x8086\n");
    write("sys/bus/pci/devices/0000:03:00.0/device", "0xe20b\n");
    fs::create_directories(root_ / "sys/bus/pci/drivers/xe");
    fs::create_symlink("../../drivers/xe", root_ / "sys/bus/pci/devices/0000:03:00.0/driver");
    devices_.pool.push_back({.device = {.id = "xpu:0000:03:00.0",
                                        .backend = "xpu",
                                        .name = "Card",
                                        .simulated = false,
                                        .pci = "0000:03:00.0"},
                             .shared = false});
    devices_.driver_files["xpu"] = kSomeElf;
  }
  void write(const std::string& name, const std::string& text) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  PlannedDevice& device() { return devices_.pool.front().device; }
  HardwareEvidence gathered() {
    const auto all = gather_hardware_evidence(devices_, RootedFiles(root_.path()), "start");
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }

  TempDir root_;
  FoundDevices devices_;
};

TEST_F(HardwareEvidenceTest, RecordsKernelFactsOfDevice) {
  const HardwareEvidence evidence = gathered();
  EXPECT_EQ(evidence.id, "xpu:0000:03:00.0");
  EXPECT_EQ(evidence.when, "start");
  EXPECT_EQ(evidence.pci, "0000:03:00.0");
  EXPECT_EQ(evidence.vendor, "8086");
  EXPECT_EQ(evidence.device, "e20b");
  EXPECT_EQ(evidence.kernel_driver, "xe");
  EXPECT_EQ(evidence.boot_id, "0f-00");
  EXPECT_EQ(evidence.driver_file, kSomeElf);
  const auto own = read_build_id(kSomeElf);
  EXPECT_EQ(evidence.driver_build_id, own ? *own : "");
  EXPECT_FALSE(evidence.simulator);
  if (own) {
    EXPECT_THAT(evidence.gaps, IsEmpty());
  }
}

TEST_F(HardwareEvidenceTest, ReportsMissingFacts) {
  fs::remove_all(root_ / "proc");
  fs::remove_all(root_ / "sys/bus/pci/devices/0000:03:00.0");
  devices_.driver_files.clear();
  const HardwareEvidence evidence = gathered();
  EXPECT_EQ(evidence.vendor + evidence.device + evidence.kernel_driver + evidence.boot_id, "");
  for (const char* name : {"vendor: ", "device: ", "kernel_driver: ", "driver_file: ", "boot_id: "})
    EXPECT_THAT(evidence.gaps, Contains(testing::StartsWith(name)));
}

TEST_F(HardwareEvidenceTest, ReportsDeviceWithoutDriver) {
  fs::remove(root_ / "sys/bus/pci/devices/0000:03:00.0/driver");
  EXPECT_THAT(gathered().gaps, Contains(testing::StartsWith("kernel_driver: ")));
}

TEST_F(HardwareEvidenceTest, RejectsPathAsPciAddress) {
  for (const char* pci : {"", "../../../../../etc", "..", "0000:03:00.0/../x"}) {
    device().pci = pci;
    const HardwareEvidence evidence = gathered();
    EXPECT_EQ(evidence.vendor, "") << pci;
    EXPECT_THAT(evidence.gaps, Contains(HasSubstr("no PCI address"))) << pci;
  }
}

TEST_F(HardwareEvidenceTest, SimulatedDeviceHasNoKernelFacts) {
  device().simulated = true;
  const HardwareEvidence evidence = gathered();
  EXPECT_TRUE(evidence.simulator);
  EXPECT_EQ(evidence.vendor + evidence.kernel_driver, "") << "its address may be another device's";
  EXPECT_THAT(evidence.gaps, Contains(HasSubstr("simulated")));
}

TEST_F(HardwareEvidenceTest, DetectsSimulatorByMarkInDriver) {
  write("libze_intel_gpu.so.1", std::string("\x7f") + "ELF ... proctor_simgpu_" + "version ...");
  devices_.driver_files["xpu"] = (root_ / "libze_intel_gpu.so.1").string();
  EXPECT_TRUE(gathered().simulator);
  write("libze_intel_gpu.so.1",
        "\x7f"
        "ELF ... another driver ...");
  EXPECT_FALSE(gathered().simulator);
}

}  // namespace
}  // namespace proctor
