#include "harness/runner/machine/hardware_evidence.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <utility>

#include "harness/base/build_id.h"
#include "harness/base/regular_file.h"

namespace proctor {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
// Each simulated driver exports this symbol, whatever the name of its file is.
constexpr std::string_view kMark = "proctor_simgpu_version";
// Simulated drivers are far smaller. A vendor's driver is far larger, and reading all of it would take longer than a
// case.
constexpr std::uintmax_t kLargestSimulator = std::uintmax_t{64} * 1024 * 1024;

struct DriverFacts {
  std::string file;
  std::string build_id;
  bool simulator = false;
  std::vector<std::string> gaps;
};

bool has_mark(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > kLargestSimulator) return false;
  const auto found = find_texts(path, {kMark},
                                "\x7f"
                                "ELF");
  return found && found->contains(kMark);
}

DriverFacts examine_driver(const std::string& file) {
  DriverFacts facts{.file = file, .build_id = {}, .gaps = {}};
  if (file.empty()) {
    facts.gaps.emplace_back("driver_file: the probe had loaded no driver's library that is known");
    return facts;
  }
  facts.simulator = has_mark(file);
  if (auto id = read_build_id(file)) {
    facts.build_id = *std::move(id);
  } else {
    facts.gaps.push_back("driver_build_id: failed to " + id.error().what);
  }
  return facts;
}

bool is_address(const std::string& pci) {
  return !pci.empty() && pci.find_first_not_of("0123456789abcdef:.") == pci.npos &&
         pci.find("..") == pci.npos;
}

// Converts "0x8086" to "8086".
std::string without_prefix(const std::string& id) { return id.starts_with("0x") ? id.substr(2) : id; }

class KernelFacts {
 public:
  KernelFacts(const RootedFiles& machine, HardwareEvidence& evidence)
      : machine_(machine), evidence_(evidence) {}

  void read() {
    if (!is_address(evidence_.pci)) return missing("pci", "its driver reports no PCI address");
    const std::string directory = "/sys/bus/pci/devices/" + evidence_.pci;
    evidence_.vendor = without_prefix(value("vendor", directory + "/vendor"));
    evidence_.device = without_prefix(value("device", directory + "/device"));
    const auto driver = machine_.resolve(directory + "/driver");
    if (driver) evidence_.kernel_driver = std::filesystem::path(*driver).filename();
    if (!driver) missing("kernel_driver", directory + "/driver: none is bound");
  }

 private:
  std::string value(const char* name, const std::string& path) {
    auto text = machine_.read(path);
    if (!text || text->empty()) missing(name, path + " cannot be read");
    return text ? *std::move(text) : std::string();
  }
  void missing(const std::string& name, const std::string& why) {
    evidence_.gaps.push_back(name + ": " + why);
  }

  const RootedFiles& machine_;
  HardwareEvidence& evidence_;
};

}  // namespace

std::vector<HardwareEvidence> gather_hardware_evidence(const FoundDevices& devices,
                                                       const RootedFiles& machine, std::string_view when) {
  std::vector<HardwareEvidence> all;
  const auto boot_id = machine.read(kBootId);
  std::map<std::string, DriverFacts> drivers;  // by backend
  for (const PoolDevice& entry : devices.pool) {
    const PlannedDevice& device = entry.device;
    const auto file = devices.driver_files.find(device.backend);
    const auto [driver, is_new] = drivers.try_emplace(device.backend);
    if (is_new) driver->second = examine_driver(file == devices.driver_files.end() ? "" : file->second);
    HardwareEvidence evidence{.id = device.id,
                              .when = std::string(when),
                              .pci = device.pci,
                              .driver_file = driver->second.file,
                              .driver_build_id = driver->second.build_id,
                              .boot_id = boot_id.value_or(""),
                              .simulator = device.simulated || driver->second.simulator,
                              .gaps = driver->second.gaps};
    if (!boot_id) evidence.gaps.push_back(fmt::format("boot_id: {} cannot be read", kBootId));
    if (evidence.simulator) {
      evidence.gaps.emplace_back("vendor: the device is simulated, not a device of this machine");
    } else {
      KernelFacts(machine, evidence).read();
    }
    all.push_back(std::move(evidence));
  }
  return all;
}

}  // namespace proctor
