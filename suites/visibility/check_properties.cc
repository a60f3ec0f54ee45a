// Checks of the properties that drivers and devices report. They must be complete, equal at each call, and
// consistent with other calls.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "suites/main/check.h"
#include "suites/visibility/preconditions.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kAtomicAccess = 0x2, kConcurrentAccess = 0x4, kConcurrentAtomicAccess = 0x8;

bool has(const json& flags, std::uint64_t flag) { return (flags.get<std::uint64_t>() & flag) != 0; }
bool positive(const json& number) { return number.get<double>() > 0; }

std::vector<json> devices_of(const json& answers) {
  std::vector<json> all;
  for (const auto& device : answers.at("devices")) {
    all.push_back(device);
    for (const auto& tile : device.at("tiles")) all.push_back(tile);
  }
  return all;
}

// Calls `judge` for all devices, cards and tiles, one after the other.
void each_device(const std::function<void(const json&)>& judge) {
  control();
  step("given the properties of each device");
  const auto answers = query_child({"properties"}).at("answers").at(0);
  for (const auto& device : devices_of(answers)) {
    const auto& properties = device.at("properties");
    step("given the properties of " + properties.at("name").get<std::string>() + " " +
         properties.at("uuid").get<std::string>() + "");
    judge(device);
  }
}

void expect_positive(const json& structure, std::initializer_list<const char*> members) {
  for (const char* member : members)
    expect_true(positive(structure.at(member)),
                std::string(member) + " is more than 0, got " + structure.at(member).dump());
}

void expect_bits(const json& structure, std::initializer_list<const char*> members) {
  for (const char* member : members) {
    const auto bits = structure.at(member).get<std::uint64_t>();
    expect_true(bits >= 1 && bits <= 64, std::string(member) + " is 1 to 64, got " + std::to_string(bits));
  }
}

// Skips the check if the loader intercepts calls. Such a loader has its own handles and tables, and fills
// structures by its own rules.
void need_answers_of_the_driver() {
  if (std::getenv("ZE_ENABLE_LOADER_INTERCEPT") != nullptr)
    suite::skip("unsupported:answers_of_the_driver_through_the_loader");
}

}  // namespace

// Reads each structure twice, over different bytes. A member that differs was not written. Intel's driver does not
// write half of a UUID, and reports no PCI address without hardware.
PROCTOR_CHECK(DeviceProperties, EveryMemberIsWritten, "V54",
              "Level Zero specification, members marked [out] of each structure", kWarn,
              .faults = {"visibility.name_empty:times=1"}) {
  control();
  step("given structures with other bytes in them before each call");
  const auto answers = query_child({"properties"}).at("answers");
  const auto first = answers.at(0).flatten(), second = answers.at(1).flatten();
  for (const auto& [member, value] : first.items()) {
    expect_same("second answer in " + member, value.dump(), second.value(member, json()).dump());
    if (member.ends_with("/head"))
      expect_true(value.get<bool>(), "type and chain of the structure are as before: " + member);
    if (member.ends_with("/result") && !member.ends_with("/pci/result"))
      expect_same("result in " + member, "ZE_RESULT_SUCCESS", value);
  }
  expect_same("number of members", std::to_string(first.size()), std::to_string(second.size()));
}

namespace {

void judge_device(const json& device) {
  const auto& properties = device.at("properties");
  expect_same("zeDeviceGetStatus", "ZE_RESULT_SUCCESS", device.at("status"));
  expect_same("type (ZE_DEVICE_TYPE_GPU)", "1", properties.at("type").dump());
  expect_true(!properties.at("name").get<std::string>().empty(), "the device has a name");
  expect_positive(properties,
                  {"vendorId", "deviceId", "coreClockRate", "maxMemAllocSize", "maxHardwareContexts",
                   "numThreadsPerEU", "numEUsPerSubslice", "numSubslicesPerSlice", "numSlices"});
  expect_true(std::has_single_bit(properties.at("physicalEUSimdWidth").get<std::uint32_t>()),
              "physicalEUSimdWidth is a power of two");
  expect_bits(properties, {"timestampValidBits", "kernelTimestampValidBits"});
}

void judge_limits(const json& device) {
  const auto& compute = device.at("compute");
  const auto group = compute.at("maxTotalGroupSize").get<std::uint64_t>();
  expect_positive(compute, {"maxTotalGroupSize", "maxSharedLocalMemory"});
  for (const char* each : {"maxGroupSize", "maxGroupCount"}) {
    for (const auto& along : compute.at(each))
      expect_true(positive(along), std::string(each) + " is more than 0");
  }
  for (const auto& along : compute.at("maxGroupSize"))
    expect_true(along.get<std::uint64_t>() <= group, "no axis of a group is longer than the group");
  const auto sizes = compute.at("subGroupSizes").get<std::vector<std::uint32_t>>();
  expect_true(!sizes.empty() && compute.at("numSubGroupSizes") == sizes.size(),
              "the device has one to eight sub-group sizes");
  for (const std::uint32_t size : sizes)
    expect_true(std::has_single_bit(size) && size <= group,
                "a sub-group has " + std::to_string(size) + " items");
  expect_true(std::ranges::adjacent_find(sizes) == sizes.end(), "no sub-group size is listed twice");

  const auto& module = device.at("module");
  const auto spirv = module.at("spirvVersionSupported").get<std::uint32_t>();
  expect_true(spirv >> 16 == 1 && (spirv & 0xffff) <= 6,
              "SPIR-V has a version from 1.0 to 1.6, got " + std::to_string(spirv));
  expect_same("half precision in the flags, and in its own flags",
              has(module.at("flags"), 0x1) ? "yes" : "no", has(module.at("fp16flags"), ~0ULL) ? "yes" : "no");
  expect_same("double precision in the flags, and in its own flags",
              has(module.at("flags"), 0x2) ? "yes" : "no", has(module.at("fp64flags"), ~0ULL) ? "yes" : "no");
  expect_true(has(module.at("fp32flags"), 0x2), "single precision has infinities and NaN");
  expect_positive(module, {"maxArgumentsSize"});
  const auto& atomics = device.at("atomics");
  expect_true(atomics.is_null() || has(module.at("flags"), 0x2) || !has(atomics.at("fp64"), ~0ULL),
              "atomics of double precision need double precision");
}

void judge_memory(const json& device) {
  std::uint64_t total = 0;
  for (const auto& memory : device.at("memories")) {
    expect_true(positive(memory.at("totalSize")), "the memory of the device has a size");
    expect_true(memory.at("maxBusWidth").get<std::uint32_t>() % 8 == 0,
                "the memory bus of the device has whole bytes");
    total += memory.at("totalSize").get<std::uint64_t>();
  }
  expect_true(device.at("properties").at("maxMemAllocSize").get<std::uint64_t>() <= total,
              "no allocation is larger than the memory");
  for (const auto& cache : device.at("caches"))
    expect_true(positive(cache.at("cacheSize")), "the cache of the device has a size");
  for (const auto& [kind, access] : device.at("access").items()) {
    if (kind == "head" || !has(access, ~0ULL)) continue;
    expect_true(has(access, 0x1), kind + " memory that the device can use is readable and writable");
    expect_true(!has(access, kConcurrentAtomicAccess) ||
                    (has(access, kConcurrentAccess) && has(access, kAtomicAccess)),
                kind + " memory with concurrent atomics supports concurrency and atomics");
  }
  for (const char* kind : {"host", "device"})
    expect_true(has(device.at("access").at(kind), 0x1),
                std::string(kind) + " memory can be read and written");
  bool computes = false;
  for (const auto& group : device.at("groups")) {
    expect_true(positive(group.at("numQueues")), "a group of queues has a queue");
    expect_true(positive(group.at("maxMemoryFillPatternSize")), "a group of queues supports a fill pattern");
    computes = computes || has(group.at("flags"), 0x1);
  }
  expect_true(computes, "one group of queues of the device can compute");
}

// Transfers per second and lane of PCIe generations 1 to 6. The line code takes a part of them: 8b/10b, later
// 128b/130b.
void judge_pci(const json& pci) {
  if (pci.is_null() || !pci.contains("generation")) return;
  const int generation = pci.at("generation"), width = pci.at("width");
  const double bandwidth = pci.at("bandwidth");
  if (generation < 1 || width < 1 || bandwidth < 1) return;  // -1: unknown
  constexpr double kTransfers[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  const double most = kTransfers[std::min(generation, 6) - 1] * width / 8;
  const double coded = generation <= 2 ? 0.8 : 0.96;
  expect_true(bandwidth <= most && bandwidth >= 0.99 * coded * most,
              "generation " + std::to_string(generation) + " of width " + std::to_string(width) +
                  " transfers at most " + std::to_string(most) + " bytes a second, got " +
                  std::to_string(bandwidth));
}

}  // namespace

PROCTOR_CHECK(
    DeviceProperties, ValuesAreConsistent, "V54",
    "Level Zero specification, members of ze_device_properties_t and of each structure of properties", kWarn,
    .faults = {"visibility.name_empty"}) {
  each_device([](const json& device) {
    judge_device(device);
    judge_limits(device);
    judge_memory(device);
    judge_pci(device.at("pci"));
  });
}

// The older structure has nanoseconds per tick, the newer one has ticks per second.
PROCTOR_CHECK(DeviceProperties, TimerResolutionMatchesInBothUnits, "V54",
              "Level Zero specification, ze_device_properties_t: timerResolution", kGate,
              .faults = {"visibility.name_empty:times=1"}) {
  each_device([](const json& device) {
    const auto& old = device.at("properties");
    const auto& since_1_2 = device.at("properties_1_2");
    const double nanoseconds = old.at("timerResolution").get<double>();
    const double hertz = since_1_2.at("timerResolution").get<double>();
    expect_true(hertz > 0 && std::abs(nanoseconds - static_cast<double>(kSecond) / hertz) < 1,
                "a tick of " + old.at("timerResolution").dump() + " ns fits " +
                    since_1_2.at("timerResolution").dump() + " ticks a second");
    for (const auto& [member, value] : old.items()) {
      if (member != "timerResolution") expect_same(member, value.dump(), since_1_2.at(member).dump());
    }
  });
}

// A card that consists of tiles reports the same properties as its tiles.
PROCTOR_CHECK(DeviceProperties, CardAndTilePropertiesAgree, "V54",
              "Level Zero programming guide, Device Hierarchy", kWarn,
              .faults = {"visibility.subdevice_flag_wrong"}) {
  control_with_tiles(1, 2);
  step("given cards and their tiles");
  const auto answers = query_child({"properties"}).at("answers").at(0);
  for (const auto& card : answers.at("devices")) {
    if (card.at("tiles").empty()) continue;
    std::uint64_t memory = 0, slices = 0;
    const auto memory_of = [](const json& device) {
      std::uint64_t total = 0;
      for (const auto& one : device.at("memories")) total += one.at("totalSize").get<std::uint64_t>();
      return total;
    };
    for (const auto& tile : card.at("tiles")) {
      memory += memory_of(tile);
      slices += tile.at("properties").at("numSlices").get<std::uint64_t>();
      expect_true(has(tile.at("properties").at("flags"), 0x2), "a tile has the flag of a sub-device");
      for (const char* same : {"module", "compute", "access", "pci", "atomics", "scheduling"})
        expect_same(std::string("a tile's ") + same, card.at(same).dump(), tile.at(same).dump());
      for (const char* same :
           {"vendorId", "deviceId", "timerResolution", "numEUsPerSubslice", "numSubslicesPerSlice",
            "numThreadsPerEU", "physicalEUSimdWidth", "timestampValidBits"})
        expect_same(std::string("a tile's ") + same, card.at("properties").at(same).dump(),
                    tile.at("properties").at(same).dump());
    }
    expect_same("memory of the tiles together", std::to_string(memory_of(card)), std::to_string(memory));
    expect_same("slices of the tiles together", card.at("properties").at("numSlices").dump(),
                std::to_string(slices));
  }
}

PROCTOR_CHECK(PeerAccess, AccessFlagMatchesCanAccessPeer, "V47",
              "Level Zero specification, ze_device_p2p_property_flag_t", kWarn,
              .faults = {"visibility.invert_peer_access:api=zeDeviceGetP2PProperties"}) {
  control();
  step("given the properties of every pair of devices");
  const auto answers = query_child({"properties"}).at("answers").at(0);
  for (const auto& pairs : answers.at("peers")) {
    for (const auto& pair : pairs) {
      expect_same("zeDeviceCanAccessPeer", "ZE_RESULT_SUCCESS", pair.at("asked"));
      const bool reaches = pair.at("reaches").get<int>() != 0;
      expect_same("ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS, compared with zeDeviceCanAccessPeer",
                  reaches ? "yes" : "no", has(pair.at("flags"), 0x1) ? "yes" : "no");
      expect_true(has(pair.at("flags"), 0x1) || !has(pair.at("flags"), 0x2), "atomics need access");
    }
  }
}

PROCTOR_CHECK(DriverExtension, EachExtensionIsListedOnce, "V49",
              "Level Zero specification, ze_driver_extension_properties_t", kWarn,
              .faults = {"visibility.version_zero"}) {
  control();
  step("given the extensions of each driver");
  const auto answers = query_child({"properties"}).at("answers").at(0);
  for (const auto& driver : answers.at("drivers")) {
    expect_same("major version of the interface", "1",
                std::to_string(driver.at("api").get<std::uint32_t>() >> 16));
    std::vector<std::string> names;
    for (const auto& extension : driver.at("extensions")) {
      const auto name = extension.at("name").get<std::string>();
      expect_true(extension.at("ends").get<bool>() && name.starts_with("ZE"),
                  "an extension has a name, got " + name);
      expect_true(std::ranges::find(names, name) == names.end(), "no extension is listed twice: " + name);
      expect_true(extension.at("version").get<std::uint32_t>() >> 16 >= 1, name + " has a version");
      names.push_back(name);
    }
    const auto reported = [&names](const char* name) {
      return std::ranges::find(names, name) != names.end();
    };
    expect_true(!driver.at("unknown_function").get<bool>(), "no function is found by an unknown name");
    expect_true(!reported("ZEX_counter_based_event") || driver.at("counter_based_function").get<bool>(),
                "the function of an extension has an address");
    expect_true(reported("ZE_extension_driver_memory_free_policies") == has(driver.at("free_policies"), 0x3),
                "policies of freeing are listed exactly if their extension is");
  }
}

PROCTOR_CHECK(Enumeration, EveryListFunctionHonorsCount, "V26",
              "Level Zero specification, parameters pCount of each function that lists", kWarn,
              .faults = {"visibility.keep_oversized_count"}) {
  need_answers_of_the_driver();
  control();
  step("given room for none, too few, just enough and too many");
  const auto answer = query_child({"lists"});
  for (const auto& list : answer.at("lists")) {
    for (const auto& wrong : list.at("wrong"))
      expect_true(false, list.at("function").get<std::string>() + " follows the rule of two calls, got " +
                             wrong.get<std::string>());
  }
}

PROCTOR_CHECK(DdiTable, EntriesMatchRequestedVersion, "V55",
              "oneapi-src/level-zero, ze_ddi.h: a table grows at its end, from version to version", kWarn,
              .faults = {"visibility.version_zero"}) {
  need_answers_of_the_driver();
  control();
  step("given the tables of the driver for each version");
  const auto answer = query_child({"tables"});
  if (!answer.at("tables").at("found").get<bool>()) suite::skip("unsupported:driver_tables");
  const auto& tables = answer.at("tables");
  expect_same("result for version 1", "ZE_RESULT_SUCCESS", tables.at("results").at("1"));
  for (const char* major : {"0", "2"})
    expect_same(std::string("result for version ") + major, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION",
                tables.at("results").at(major));
  for (const auto& entry : tables.at("entries")) {
    const int since = entry.at("since");
    const auto& written = entry.at("written");
    const auto name = entry.at("name").get<std::string>();
    if (!written.at("99").get<bool>()) continue;  // The driver is older than this function.
    expect_true(written.at(std::to_string(since)).get<bool>(),
                name + " is in the table of 1." + std::to_string(since));
    if (since > 0)
      expect_true(
          !written.at(std::to_string(since - 1)).get<bool>(),
          name + " is not written to the table of 1." + std::to_string(since - 1) + ", which ends before it");
  }
  if (tables.contains("version"))
    expect_same("major version that a function of the table returns", "1", tables.at("version").dump());
}

PROCTOR_CHECK(
    DdiTable, NewerFunctionsReturnConsistentResults, "V55",
    "Level Zero specification, zeInitDrivers; zeDeviceGetRootDevice; zeDriverGetLastErrorDescription", kWarn,
    .faults = {"visibility.root_device_wrong"}) {
  control();
  step("given functions of the driver's tables that a loader may be too old for");
  need_answers_of_the_driver();
  const auto tables = query_child({"tables"}).at("tables");
  if (!tables.at("found").get<bool>() || !tables.contains("newer") || tables.at("newer").is_null())
    suite::skip("unsupported:driver_tables");
  const auto& newer = tables.at("newer");
  if (newer.contains("init")) {
    for (const char* kind : {"gpu", "both"}) {
      const auto& init = newer.at("init").at(kind);
      expect_same("zeInitDrivers", "ZE_RESULT_SUCCESS", init.at("result"));
      expect_same("number of drivers", "1", init.at("count").dump());
      expect_true(init.at("same").get<bool>(), "the driver is that of zeDriverGet");
    }
    const auto& npu = newer.at("init").at("npu");
    expect_true(npu.at("result") != "ZE_RESULT_SUCCESS" || npu.at("count") == 0,
                "a driver of GPUs is not listed as one of NPUs");
  }
  if (newer.contains("last_error")) {
    expect_same("zeDriverGetLastErrorDescription", "ZE_RESULT_SUCCESS", newer.at("last_error").at("result"));
    expect_true(newer.at("last_error").at("text") != "", "the text describes the call that failed before");
  }
  for (const auto& root : newer.value("roots", json::array())) {
    expect_true(root.at("right").get<bool>(),
                root.at("of") == "tile" ? "the root of a tile is its card" : "a card has no root");
  }
}

// With ZE_INIT_FLAG_GPU_ONLY the process gets the GPUs. With ZE_INIT_FLAG_VPU_ONLY it gets none.
PROCTOR_CHECK(Initialization, InitFlagsSelectDriverTypes, "V43", "Level Zero specification, ze_init_flag_t",
              kWarn, .faults = {"visibility.uuid_changes"}) {
  const auto unmasked = control();
  step("given zeInit(ZE_INIT_FLAG_GPU_ONLY)");
  const auto gpus = query_child({"init", "1"});
  expect_same("devices that the process sees", to_json(unmasked).dump(),
              to_json(record(gpus, "seen")).dump());
  step("given zeInit(ZE_INIT_FLAG_VPU_ONLY)");
  const auto others = query_child({"init", "2"});
  expect_true(others.at("result") != "ZE_RESULT_SUCCESS" || others.at("gpus") == 0,
              "the process sees no GPU");
}

}  // namespace proctor::visibility
