#include "harness/devices/simulation.h"

#include <fmt/format.h>

#include <charconv>

#include "harness/core/child_protocol.h"
#include "harness/core/text.h"
#include "harness/devices/library_search.h"

namespace proctor {
namespace {

constexpr int kMaxCards = 64;
constexpr int kMaxTiles = 4;  // the most that any Intel card has, and that the no-hardware mode takes
constexpr const char* kXpuDriverLibrary = "libze_intel_gpu.so.1";
constexpr const char* kXpuLoaderLibrary = "libze_loader.so.1";

Error bad_topology(std::string_view text, std::string_view item, const std::string& why,
                   std::string hint = "Write it as xpu:RxT[,cuda:N], for example xpu:2x2.") {
  return Error::usage(fmt::format("read --sim '{}': '{}': {}", text, item, why), std::move(hint));
}

std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::string out_of_range(const char* what, int most) {
  return fmt::format("{} must be a decimal number from 1 to {}", what, most);
}

Result<void> parse_xpu(std::string_view text, std::string_view item, std::string_view size,
                       SimTopology& into) {
  const auto cross = size.find('x');
  if (cross == std::string_view::npos)
    return bad_topology(text, item, "'x' is missing between cards and tiles");
  const auto cards = parse_count(size.substr(0, cross));
  const auto tiles = parse_count(size.substr(cross + 1));
  if (!cards || *cards < 1 || *cards > kMaxCards) {
    return bad_topology(text, item, out_of_range("the number of cards", kMaxCards));
  }
  if (!tiles || *tiles < 1 || *tiles > kMaxTiles) {
    return bad_topology(text, item, out_of_range("the number of tiles", kMaxTiles));
  }
  into.xpu = XpuTopology{*cards, *tiles};
  return {};
}

Result<void> parse_item(std::string_view text, std::string_view item, SimTopology& into) {
  const auto colon = item.find(':');
  const auto vendor = item.substr(0, colon);
  if (vendor != "xpu" && vendor != "cuda") {
    const auto near = near_miss(vendor, {"xpu", "cuda"});
    return bad_topology(text, item, fmt::format("unknown kind of device '{}'", vendor),
                        near.empty() ? "The kinds are xpu and cuda." : fmt::format("Did you mean {}?", near));
  }
  if (colon == std::string_view::npos) return bad_topology(text, item, "':' and a size are missing");
  const auto size = item.substr(colon + 1);
  if (vendor == "xpu" ? into.xpu.has_value() : into.cuda_cards > 0) {
    return bad_topology(text, item, fmt::format("{} is given twice", vendor));
  }
  if (vendor == "xpu") return parse_xpu(text, item, size, into);
  const auto cards = parse_count(size);
  if (!cards || *cards < 1 || *cards > kMaxCards) {
    return bad_topology(text, item, out_of_range("the number of cards", kMaxCards));
  }
  into.cuda_cards = *cards;
  return {};
}

}  // namespace

Result<SimTopology> parse_sim_topology(std::string_view text) {
  SimTopology topology;
  topology.text = text;
  for (std::size_t from = 0; from <= text.size();) {
    const auto comma = std::min(text.find(',', from), text.size());
    const auto item = text.substr(from, comma - from);
    if (item.empty()) return bad_topology(text, item, "an entry is empty");
    if (auto parsed = parse_item(text, item, topology); !parsed) return parsed.error();
    from = comma + 1;
  }
  return topology;
}

Result<SimDriver> parse_sim_driver(std::string_view text) {
  const auto at = text.find('@');
  const auto name = text.substr(0, at);
  if (name == "simgpu") {
    return Error::usage("use --sim-driver simgpu: the simulator is not built yet",
                        "Use --sim-driver intel: Intel's own driver without hardware.");
  }
  if (name != "intel") {
    const auto near = near_miss(name, {"intel", "simgpu"});
    return Error::usage(
        fmt::format("read --sim-driver '{}': unknown driver '{}'", text, name),
        near.empty() ? "The drivers are intel and simgpu." : fmt::format("Did you mean {}?", near));
  }
  SimDriver driver;
  if (at == std::string_view::npos) return driver;
  driver.prefix = text.substr(at + 1);
  if (driver.prefix.empty()) {
    return Error::usage(fmt::format("read --sim-driver '{}': no directory after '@'", text),
                        "Name the directory below which the driver was unpacked: intel@DIR.");
  }
  return driver;
}

Result<Simulation> parse_simulation(std::string_view topology, std::string_view driver) {
  auto parsed_topology = parse_sim_topology(topology);
  if (!parsed_topology) return parsed_topology.error();
  auto parsed_driver = parse_sim_driver(driver.empty() ? "simgpu" : driver);
  if (!parsed_driver) return parsed_driver.error();
  if (parsed_topology->cuda_cards > 0) {
    return Error::usage(fmt::format("simulate --sim '{}': Intel's driver has no 'cuda' devices", topology),
                        "Leave out cuda:N with --sim-driver intel.");
  }
  return Simulation{*std::move(parsed_topology), *std::move(parsed_driver)};
}

SimInfo to_sim_info(const Simulation& simulation) { return {simulation.topology.text, "intel"}; }

std::vector<Device> simulated_devices(const Simulation& simulation) {
  std::vector<Device> devices;
  const auto& xpu = simulation.topology.xpu;
  for (int card = 0; xpu && card < xpu->cards; ++card) {
    Device device;
    device.id = fmt::format("xpu-sim:{}", card);
    device.backend = "xpu";
    device.name = "Intel driver without hardware";
    device.type = "gpu";
    device.tiles = xpu->tiles;
    device.simulated = true;
    devices.push_back(std::move(device));
  }
  return devices;
}

SimEnvironment intel_environment(const XpuTopology& topology, const SimDriver& driver,
                                 std::string_view library_path) {
  SimEnvironment environment;
  const auto directories = driver.prefix.empty() ? system_library_directories(library_path)
                                                 : prefix_library_directories(driver.prefix);
  environment.driver_path = find_library(kXpuDriverLibrary, directories);
  const auto everywhere = system_library_directories(library_path);
  if (environment.driver_path.empty()) {
    environment.missing = fmt::format("library_missing:{}", kXpuDriverLibrary);
  } else if (find_library(kXpuLoaderLibrary, directories).empty() &&
             find_library(kXpuLoaderLibrary, everywhere).empty()) {
    environment.missing = fmt::format("library_missing:{}", kXpuLoaderLibrary);
  }
  environment.set = {{"NEOReadDebugKeys", "1"},
                     {"SetCommandStreamReceiver", "1"},  // capture to a file instead of a device
                     {"UseAubStream", "0"},  // drivers of 2023 and later crash without; 22.43 does not mind
                     {"ProductFamilyOverride", "pvc"},  // the only product with tiles in every driver version
                     {"HardwareInfoOverride", "2x4x8"},
                     {"CreateMultipleRootDevices", std::to_string(topology.cards)},
                     {"CreateMultipleSubDevices", std::to_string(topology.tiles)},
                     {child::kSimTopologyVariable, fmt::format("xpu:{}x{}", topology.cards, topology.tiles)}};
  // A mask or another driver of the caller would shrink or replace what was asked for.
  environment.unset = {"ZE_AFFINITY_MASK", "ZE_ENABLE_ALT_DRIVERS", "ZE_FLAT_DEVICE_HIERARCHY",
                       "ZE_ENABLE_PCI_ID_DEVICE_ORDER"};
  if (!driver.prefix.empty() && !environment.driver_path.empty()) {
    auto path = environment.driver_path.substr(0, environment.driver_path.rfind('/'));
    if (!library_path.empty()) path += fmt::format(":{}", library_path);
    environment.set.emplace_back("LD_LIBRARY_PATH", std::move(path));
  }
  return environment;
}

}  // namespace proctor
