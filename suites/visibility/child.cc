#include "suites/visibility/child.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/words.h"
#include "suites/accel/xpu/level_zero.h"
#include "suites/visibility/enumerate_level_zero.h"
#include "suites/visibility/properties_level_zero.h"
#include "suites/visibility/sysman.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using xpu::LevelZero;
using Arguments = std::vector<std::string>;

json counts(const LevelZero& ze) {
  json document = {{"seen", to_json(enumerate_level_zero(ze))}};
  for (const auto driver : xpu::list_drivers(ze).handles) {
    const auto all = xpu::list_devices(ze, driver).handles;
    if (all.empty()) continue;
    ze_device_handle_t first = nullptr;
    std::uint32_t count = 1;
    const auto under = ze.device_get(driver, &count, &first);
    document["under"] = {
        {"result", xpu::result_name(under)}, {"count", count}, {"same_first", first == all[0]}};
    std::vector<ze_device_handle_t> more(all.size() + 4);
    count = static_cast<std::uint32_t>(more.size());
    const auto over = ze.device_get(driver, &count, more.data());
    document["over"] = {{"result", xpu::result_name(over)}, {"count", count}, {"devices", all.size()}};
    break;
  }
  return document;
}

json null_count(const LevelZero& ze) {
  const Enumeration seen = enumerate_level_zero(ze);
  const auto drivers = xpu::list_drivers(ze).handles;
  const bool validated = !xpu::mapped_library("libze_validation_layer").empty();
  json document = {{"seen", to_json(seen)}, {"validation_layer", validated}};
  if (drivers.empty() || !validated) return document;  // unvalidated, the call may do anything
  document["result"] = xpu::result_name(ze.device_get(drivers[0], nullptr, nullptr));
  return document;
}

json peers(const LevelZero& ze) {
  json document = {{"seen", to_json(enumerate_level_zero(ze))}, {"peers", json::array()}};
  const auto devices = all_devices(ze);
  for (const auto from : devices) {
    json row = json::array();
    for (const auto to : devices) {
      ze_bool_t reachable = 0;
      const auto result = ze.device_can_access_peer(from, to, &reachable);
      row.push_back({{"result", xpu::result_name(result)}, {"reachable", reachable != 0}});
    }
    document["peers"].push_back(std::move(row));
  }
  return document;
}

json tiles(const LevelZero& ze) {
  json document = {{"seen", to_json(enumerate_level_zero(ze))}};
  document["tiles"] = to_json(enumerate_tiles(ze));
  return document;
}

json twice(const LevelZero& ze) {
  const auto first = enumerate_level_zero(ze);
  const auto handles = all_devices(ze);
  const bool same_handles = handles == all_devices(ze);
  return {
      {"seen", to_json(first)}, {"again", to_json(enumerate_level_zero(ze))}, {"same_handles", same_handles}};
}

json hold(const LevelZero& ze) { return {{"seen", to_json(enumerate_level_zero(ze))}}; }

json properties(const LevelZero& ze) {
  ze.init(ZE_INIT_FLAG_GPU_ONLY);
  json document = {{"answers", json::array()}};
  for (const auto before : {std::uint8_t{0x55}, std::uint8_t{0xaa}})
    document["answers"].push_back(ask_properties(ze, before));
  return document;
}

json lists(const LevelZero& ze) {
  ze.init(ZE_INIT_FLAG_GPU_ONLY);
  return {{"lists", list_in_every_way(ze)}};
}

json tables(const LevelZero& ze) {
  ze.init(ZE_INIT_FLAG_GPU_ONLY);
  return {{"tables", ask_tables(ze)}};
}

json init_with(const LevelZero& ze, const std::string& flags) {
  const auto result = ze.init(static_cast<ze_init_flags_t>(std::stoul(flags)));
  json document = {{"result", xpu::result_name(result)}, {"gpus", 0}};
  if (result != ZE_RESULT_SUCCESS) return document;
  int gpus = 0;
  for (const auto device : all_devices(ze)) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ze.device_get_properties(device, &properties);
    gpus += properties.type == ZE_DEVICE_TYPE_GPU ? 1 : 0;
  }
  document["gpus"] = gpus;
  document["seen"] = to_json(enumerate_level_zero(ze));
  return document;
}

void set_variable(const Arguments& arguments) { setenv(arguments.at(1).c_str(), arguments.at(2).c_str(), 1); }

json answer(const LevelZero& ze, const Arguments& arguments) {
  const std::string& mode = arguments[0];
  if (mode == "enumerate" || mode == "hold") return hold(ze);
  if (mode == "enumerate-after-setenv") {
    set_variable(arguments);
    return hold(ze);
  }
  if (mode == "setenv-after-init") {
    const auto first = enumerate_level_zero(ze);
    set_variable(arguments);
    return {{"seen", to_json(first)}, {"again", to_json(enumerate_level_zero(ze))}};
  }
  if (mode == "twice") return twice(ze);
  if (mode == "counts") return counts(ze);
  if (mode == "null-count") return null_count(ze);
  if (mode == "peers") return peers(ze);
  if (mode == "tiles") return tiles(ze);
  if (mode == "properties") return properties(ze);
  if (mode == "lists") return lists(ze);
  if (mode == "tables") return tables(ze);
  if (mode == "init") return init_with(ze, arguments.at(1));
  const auto uuids = split(arguments.at(1), ',');
  return enumerate_sysman(ze, {uuids.begin(), uuids.end()});
}

constexpr Mode kModes[] = {{"enumerate"},
                           {"enumerate-after-setenv", 2},
                           {"setenv-after-init", 2},
                           {"twice"},
                           {"counts"},
                           {"null-count"},
                           {"peers"},
                           {"tiles"},
                           {"properties"},
                           {"lists"},
                           {"tables"},
                           {"init", 1},
                           {"sysman", 1},
                           {"grandchild"},
                           {"hold"}};

}  // namespace

std::span<const Mode> modes() { return kModes; }

json answer_of(const Arguments& arguments) {
  std::string why;
  const auto ze = xpu::load_level_zero(why);
  if (!ze) return {{"problem", std::string("library_missing:") + xpu::kLoaderName}, {"detail", why}};
  json document = answer(*ze, arguments);
  document["missing_symbols"] = ze->missing_symbols;
  document["loader"] = xpu::loader_version(*ze);
  return document;
}

}  // namespace proctor::visibility
