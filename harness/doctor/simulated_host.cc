#include "harness/doctor/simulated_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace proctor {
namespace {

namespace fs = std::filesystem;

const std::string kLibraries = "/usr/lib/x86_64-linux-gnu/";

}  // namespace

SimulatedHost::SimulatedHost(const toml::table& table) : table_(table) {
  file("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:993:\n");
  file("/proc/sys/kernel/osrelease", text("kernel", "6.17.0-23-generic") + "\n");
  file("/id", text("id", "uid=1000(ci) gid=1000(ci) groups=1000(ci),993(render)") + "\n");
  cards();
  nvidia();
  packages();
  the_rest();
  file("/dev.list", nodes_);
  for (const auto& path : words("absent")) fs::remove(root_.string() + path);
}

std::string SimulatedHost::text(const char* key, const std::string& otherwise) const {
  return table_[key].value<std::string>().value_or(otherwise);
}

std::vector<std::string> SimulatedHost::words(const char* key) const {
  std::vector<std::string> words;
  const toml::array* array = table_[key].as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i)
    words.push_back((*array)[i].value<std::string>().value_or(""));
  return words;
}

void SimulatedHost::file(const std::string& path, const std::string& text) const {
  fs::create_directories(fs::path(root_.string() + path).parent_path());
  std::ofstream(root_.string() + path) << text;
}

void SimulatedHost::link(const std::string& path, const std::string& target) const {
  fs::create_directories(fs::path(root_.string() + path).parent_path());
  fs::create_symlink(target, root_.string() + path);
}

// `line` is MODE USER GROUP.
void SimulatedHost::node(const std::string& line, const std::string& path) {
  const auto without = words("without");
  const std::string bare = path.substr(0, path.find(' '));
  if (std::find(without.begin(), without.end(), bare) == without.end()) nodes_ += line + " " + path + "\n";
}

void SimulatedHost::card(const std::string& address, const std::string& id, const std::string& driver,
                         int minor) {
  const std::string directory = "/sys/bus/pci/devices/" + address;
  file(directory + "/vendor", "0x" + id.substr(0, 4) + "\n");
  file(directory + "/device", "0x" + id.substr(5) + "\n");
  file(directory + "/class", "0x030000\n");
  if (driver == "-") return;
  fs::create_directories(root_.string() + "/sys/bus/pci/drivers/" + driver);
  fs::create_directories(root_.string() + "/sys/module/" + driver);
  link(directory + "/driver", "/sys/bus/pci/drivers/" + driver);
  if (driver == "xe" || driver == "i915") {
    const std::string name = fmt::format("renderD{}", 128 + render_nodes_++);
    fs::create_directories(root_.string() + directory + "/drm/" + name);
    node(text("mode", "660") + " 0 993", "/dev/dri/" + name);
    node("777 0 0", fmt::format("/dev/dri/by-path/pci-{}-render ../{}", address, name));
  } else if (driver == "nvidia") {
    file("/proc/driver/nvidia/gpus/" + address + "/information",
         fmt::format("Model: \t\t {}\nDevice Minor: \t {}\n", text("model", "NVIDIA H100"), minor));
    node("666 0 0", fmt::format("/dev/nvidia{}", minor));
    ++nvidia_nodes_;
  }
}

void SimulatedHost::cards() {
  for (const auto& line : words("cards")) {
    std::istringstream parts(line);
    std::string address;
    std::string id;
    std::string driver;
    int minor = 0;
    parts >> address >> id >> driver;
    if (!(parts >> minor)) minor = nvidia_nodes_;
    card(address, id, driver, minor);
  }
  if (nvidia_nodes_ > 0) {
    node("666 0 0", "/dev/nvidiactl");
    node("666 0 0", "/dev/nvidia-uvm");
  }
}

void SimulatedHost::nvidia() {
  const std::string driver = text("driver");
  if (!driver.empty()) {
    file("/sys/module/nvidia/version", driver + "\n");
    file("/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + driver + "\n");
  }
  const std::string version = text("libraries", driver);
  if (version.empty()) return;
  for (const std::string name : {"libcuda.so", "libnvidia-ml.so"}) {
    file(kLibraries + name + "." + version, "");
    link(kLibraries + name + ".1", name + "." + version);
  }
}

void SimulatedHost::packages() {
  std::string status;
  for (const auto& package : words("packages")) {
    const std::string name = package.substr(0, package.find(' '));
    status += fmt::format("Package: {}\nStatus: install ok installed\nVersion: {}\n\n", name,
                          package.substr(package.find(' ') + 1));
    if (name == "libze1" || name == "level-zero") file(kLibraries + "libze_loader.so.1", "");
    if (name == "libze-intel-gpu1" || name == "intel-level-zero-gpu")
      file(kLibraries + "libze_intel_gpu.so.1", "");
  }
  file("/var/lib/dpkg/status", status);
}

void SimulatedHost::the_rest() {
  if (const auto guc = text("guc"); !guc.empty())
    file("/sys/kernel/debug/dri/0/gt0/uc/guc_info", "version: wanted 70.1.0, found " + guc + "\n");
  if (const auto toolkit = text("toolkit"); !toolkit.empty())
    file("/usr/local/cuda/version.json", R"({"cuda":{"version":")" + toolkit + "\"}}");
  if (const auto cdi = text("cdi"); !cdi.empty()) {
    file("/etc/cdi/nvidia.yaml",
         "hooks:\n- args: [create-symlinks, --link, libcuda.so.1::/usr/lib64/libcuda.so]\n"
         "kind: nvidia.com/gpu\nmounts:\n- hostPath: " +
             kLibraries + "libcuda.so." + cdi + "\n");
  }
  if (const auto mode = text("glue_mode"); !mode.empty())
    file("/etc/nvidia-container-runtime/config.toml",
         "[nvidia-container-runtime]\nmode = \"" + mode + "\"\n");
  if (const auto image = words("image"); image.size() == 2)
    file("/etc/proctor/stack", "stack " + image[0] + "\nlock sha256:1\nhost " + image[1] + "\n");
  for (const auto& line : words("mig")) {
    const auto space = line.find(' ');
    file("/proc/driver/nvidia/capabilities/" + line.substr(0, space) + "/access",
         "DeviceFileMinor: " + line.substr(space + 1) + "\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
  }
  for (const auto& path : words("caps")) node("444 0 0", path);
  if (table_["container"].value_or(false)) file("/.dockerenv", "");
  if (const auto path = text("library_path"); !path.empty()) file("/library_path", path + "\n");
  if (const auto* files = table_["files"].as_table()) {
    for (const auto& [path, content] : *files)
      file(std::string(path.str()), content.value_or<std::string>(""));
  }
  if (const auto* links = table_["links"].as_table()) {
    for (const auto& [path, target] : *links) link(std::string(path.str()), target.value_or<std::string>(""));
  }
}

}  // namespace proctor
