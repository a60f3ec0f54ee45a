#include "harness/devices/caller_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "harness/base/json.h"
#include "harness/journal/outcome.h"

namespace proctor {
namespace {

std::string value_of(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it == environment.end() ? std::string() : it->second;
}

std::vector<LeasedDevice> leased_as_probed(const std::vector<Device>& devices) {
  std::vector<LeasedDevice> all;
  for (const auto& device : devices) all.push_back(to_leased(device, device.ordinal));
  // Level Zero numbers the tiles card by card.
  std::vector<LeasedDevice*> cards;
  for (LeasedDevice& device : all) cards.push_back(&device);
  std::ranges::sort(cards, {}, &LeasedDevice::ordinal);
  int leaf = 0;
  for (LeasedDevice* card : cards) {
    card->first_leaf = leaf;
    leaf += card->tiles;
  }
  return all;
}

// ---- Level Zero: a mask selects the devices that a probe with this mask sees ----

using TilesOfCards = std::map<std::string, std::set<int>>;  // key: id of the card

// Returns the card of a device. A tile that is a device has the PCI address of its card. Cards without
// addresses are compared by UUID.
const Device* card_of(const Device& seen, const std::vector<Device>& cards) {
  const auto is_it = [&](const Device& card) {
    if (!seen.pci.empty() && !card.pci.empty()) return seen.pci == card.pci;
    return seen.uuid == card.uuid || std::ranges::find(card.tile_uuids, seen.uuid) != card.tile_uuids.end();
  };
  const auto card = std::ranges::find_if(cards, is_it);
  return card == cards.end() ? nullptr : &*card;
}

// Returns the tiles of `card` that belong to `seen`: its sub-devices, or `seen` itself. Empty if one of them
// is not a known tile.
std::set<int> tiles_of(const Device& seen, const Device& card) {
  if (card.tiles == 1) return {0};
  std::set<int> tiles;
  for (const auto& uuid : seen.tile_uuids.empty() ? std::vector{seen.uuid} : seen.tile_uuids) {
    const auto tile = std::ranges::find(card.tile_uuids, uuid);
    if (tile == card.tile_uuids.end()) return {};
    tiles.insert(static_cast<int>(tile - card.tile_uuids.begin()));
  }
  return tiles;
}

std::string list_of(const std::vector<Device>& cards) {
  std::string text;
  for (const Device& card : cards) {
    text += (text.empty() ? "" : ", ") + card.id;
    if (card.tiles > 1) text += fmt::format(" with {} tiles", card.tiles);
  }
  return text;
}

Error not_found(const std::vector<Device>& cards, const Environment& caller, const std::string& why) {
  const std::string variable = *name_in_force(kXpuMaskVariable, caller);
  return {
      ErrorKind::kSystem,
      fmt::format("find the devices that {}={} of the caller selects: a probe in the caller's environment {}",
                  variable, caller.at(variable), why),
      fmt::format("Nothing was started. Without a mask there are: {}. Unset {}, and use --devices.",
                  list_of(cards), variable)};
}

Result<TilesOfCards> tiles_seen(const std::vector<Device>& cards, const Environment& caller,
                                const DeviceProbe& probe) {
  const Inventory inventory = probe(caller);
  TilesOfCards tiles;
  if (reason_in_words(inventory.problem) == Reason::kNoDevice) return tiles;
  if (!inventory.problem.empty()) {
    const bool crashed = inventory.problem.starts_with("probe_crash");
    return not_found(cards, caller,
                     "failed: " + inventory.words() +
                         (crashed ? ". Intel's driver also crashes if a mask names no device" : ""));
  }
  for (const Device& seen : inventory.devices) {
    const Device* card = card_of(seen, cards);
    const auto of_it = card == nullptr ? std::set<int>() : tiles_of(seen, *card);
    if (of_it.empty()) {
      return not_found(cards, caller,
                       fmt::format("sees a device that a probe without the mask does not: {} (UUID {})",
                                   seen.pci.empty() ? seen.name : seen.pci, seen.uuid));
    }
    tiles[card->id].insert(of_it.begin(), of_it.end());
  }
  return tiles;
}

Result<std::vector<LeasedDevice>> narrow_xpu(const std::vector<Device>& cards, const Environment& caller,
                                             const DeviceProbe& probe) {
  const auto tiles = tiles_seen(cards, caller, probe);
  if (!tiles) return tiles.error();
  std::vector<LeasedDevice> left;
  for (LeasedDevice& card : leased_as_probed(cards)) {
    const auto seen = tiles->find(card.id);
    if (seen == tiles->end()) continue;
    if (std::cmp_less(seen->second.size(), card.tiles))
      card.only_tiles.assign(seen->second.begin(), seen->second.end());
    left.push_back(std::move(card));
  }
  return left;
}

// ---- CUDA: a mask contains names, or ordinals in the caller's order ----

bool names_devices(const std::string& cuda_mask) {
  return cuda_mask.empty() || cuda_mask.starts_with("GPU-") || cuda_mask.starts_with("MIG-");
}

// Returns id -> ordinal in the caller's own order. Empty if the probe failed.
std::map<std::string, int> query_order(Environment caller, const DeviceProbe& probe) {
  caller.erase(kCudaMaskVariable);
  const Inventory inventory = probe(caller);
  std::map<std::string, int> ordinals;
  if (!inventory.problem.empty() || !inventory.runtime_problem.empty()) return ordinals;
  for (const auto& device : inventory.devices) ordinals[device.id] = device.ordinal;
  return ordinals;
}

Result<std::vector<LeasedDevice>> narrow_cuda(const std::string& mask, const std::vector<Device>& devices,
                                              const Environment& caller, const DeviceProbe& probe) {
  auto pool = leased_as_probed(devices);
  auto known = CallerOrdinals::kSameAsProbe;
  const bool same_order = value_of(caller, kCudaOrderVariable) == kCudaPciOrder;
  if (!same_order && !names_devices(mask) && devices.size() > 1) {
    const auto ordinals = query_order(caller, probe);
    if (ordinals.empty()) known = CallerOrdinals::kUnknown;
    for (auto& device : pool) {
      if (const auto found = ordinals.find(device.id); found != ordinals.end())
        device.ordinal = found->second;
    }
  }
  auto left = narrow_cuda_pool(pool, mask, known);
  if (!left) return left;
  // The ordinals of cases are those of the probe.
  for (auto& device : *left) {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const Device& candidate) { return candidate.id == device.id; });
    if (found != devices.end()) device.ordinal = found->ordinal;
  }
  return left;
}

}  // namespace

LeasedDevice to_leased(const Device& device, int ordinal) {
  LeasedDevice leased;
  leased.id = device.id;
  leased.uuid = device.uuid;
  leased.pci = device.pci;
  leased.ordinal = ordinal;
  leased.tiles = device.tiles;
  leased.memory_bytes = device.memory_bytes;
  return leased;
}

Result<std::vector<LeasedDevice>> caller_devices(Backend backend, const std::vector<Device>& devices,
                                                 const Environment& caller, const DeviceProbe& probe) {
  const auto mask = caller_mask(backend, caller);
  if (!mask || devices.empty()) return leased_as_probed(devices);
  if (auto accepted = check_mask(backend, *mask); !accepted) return accepted.error();
  if (backend == Backend::kCuda) return narrow_cuda(*mask, devices, caller, probe);
  return mask->empty() ? leased_as_probed(devices) : narrow_xpu(devices, caller, probe);
}

namespace {

constexpr const char* kType = "gpus";
constexpr const char* kVariable = "CTEST_RESOURCE_GROUP_";

std::string resource_id(const std::string& device) {
  std::string id;
  for (const char c : device) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? lower : '_';
  }
  return id;
}

// Returns the ids in a value such as "id:xpu_0,slots:1;id:xpu_1,slots:1".
std::vector<std::string> allocated_ids(const std::string& value) {
  constexpr std::string_view kKey = "id:";
  std::vector<std::string> ids;
  for (auto at = value.find(kKey); at != std::string::npos; at = value.find(kKey, at)) {
    at += kKey.size();
    ids.push_back(value.substr(at, value.find_first_of(",;", at) - at));
  }
  return ids;
}

}  // namespace

nlohmann::json ctest_resource_spec(const std::vector<Device>& devices) {
  nlohmann::json types = nlohmann::json::object();
  nlohmann::json all = nlohmann::json::array();
  bool one_backend = true;
  for (const auto& device : devices) {
    const nlohmann::json slot = {{"id", resource_id(device.id)}, {"slots", 1}};
    types[device.backend + "_" + kType].push_back(slot);
    all.push_back(slot);
    one_backend = one_backend && device.backend == devices.front().backend;
  }
  if (one_backend) types[kType] = all;
  return {{"version", {{"major", 1}, {"minor", 0}}}, {"local", nlohmann::json::array({types})}};
}

Result<std::optional<std::vector<std::string>>> ctest_allocation(const Environment& environment,
                                                                 const std::vector<std::string>& ids) {
  std::optional<std::vector<std::string>> allocated;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kVariable) || !name.ends_with("_GPUS")) continue;
    if (!allocated) allocated.emplace();
    for (const auto& wanted : allocated_ids(value)) {
      const auto found = std::find_if(ids.begin(), ids.end(),
                                      [&](const std::string& id) { return resource_id(id) == wanted; });
      if (found == ids.end()) {
        return Error::usage("use " + name + "=" + value + ": this run has no device '" + wanted + "'",
                            "Write the specification again: proctor devices --ctest-resource-spec.");
      }
      allocated->push_back(*found);
    }
  }
  return allocated;
}

bool has_ctest_allocation(const Environment& environment, std::string_view backend) {
  return std::any_of(environment.begin(), environment.end(), [&](const auto& variable) {
    const auto& [name, value] = variable;
    const auto is_of_backend = [&](const std::string& id) {
      return id.starts_with(std::string(backend) + "_");
    };
    return name.starts_with(kVariable) && name.ends_with("_GPUS") &&
           std::ranges::any_of(allocated_ids(value), is_of_backend);
  });
}

}  // namespace proctor
