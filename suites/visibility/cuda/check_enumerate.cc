// Checks of the CUDA calls that list devices and select one, and of the exact error codes for bad arguments. Their
// rules hold for every device mask.
#include <cstdlib>
#include <set>

#include "suites/main/check.h"
#include "suites/visibility/cuda/observed.h"
#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kInfo;
using suite::kWarn;
using suite::step;

constexpr const char* kDevices = "CUDA Runtime API, Device Management";
constexpr const char* kPeers = "CUDA Runtime API, Peer Device Memory Access";
constexpr const char* kSelectTests = "ROCm/hip-tests, hipSetGetDevice.cc, also run on NVIDIA";

nlohmann::json query_pool(const std::string& mode, const Pool& pool) {
  return query_child({mode}, masked(pool.mask()));
}

}  // namespace

PROCTOR_CHECK(Enumeration, LeasedDevicesAreVisible, "V03",
              "CUDA Programming Guide, CUDA Environment Variables", kGate,
              .faults = {"visibility.wrong_uuid", "visibility.missing_device", "visibility.init_fail",
                         "host.crash"},
              .devices = 2) {
  step("given a process under the names of the leased devices");
  const auto names = leased(2);
  expect_same("it sees", expected_text(names), text_of(enumerate_under(joined(names, ","))));
}

PROCTOR_CHECK(Enumeration, RepeatedEnumerationGivesSameDevices, "V25", kDevices, kGate,
              .faults = {"visibility.shorten_every_second_list"}) {
  const auto pool = pool_of();
  step("given a process that lists its devices twice");
  const auto answer = query_pool("twice", pool);
  expect_same("the second list", text_of(record(answer, "seen")), text_of(record(answer, "again")));
  expect_same("the first list", expected_text(pool.names.pool), text_of(record(answer, "seen")));
}

PROCTOR_CHECK(Enumeration, NullCountIsRejected, "V27", kDevices, kGate,
              .faults = {"error.swallowed", "error.wrong_code"}) {
  const auto pool = pool_of();
  step("given cudaGetDeviceCount(nullptr)");
  expect_same("cudaGetDeviceCount returns", "cudaErrorInvalidValue",
              query_pool("null-count", pool).at("result"));
}

// A caller that does not check the error code uses the previous value of the count. NVIDIA's runtime leaves it
// unchanged.
PROCTOR_CHECK(EmptyMask, CudaDeviceCallsFail, "V09",
              "measured: NVIDIA's runtime leaves the count alone on error", kGate,
              .faults = {"visibility.show_all_on_empty_selection", "error.swallowed", "error.wrong_code"}) {
  pool_of();
  step("given an empty mask and a count of -7");
  const auto answer = query_child({"count-of-nothing"}, masked(""));
  const std::string code = answer.at("result");
  observe_code("cudaGetDeviceCount under an empty mask", code);
  expect_true(code != "cudaSuccess", "cudaGetDeviceCount fails");
  if (suite::on_simgpu()) expect_same("cudaGetDeviceCount returns", "cudaErrorNoDevice", code);
  expect_same("the count", "-7", answer.at("count").dump());
  for (const auto& [function, other] : answer.at("others").items()) {
    expect_true(other != "cudaSuccess", function + " fails");
    if (suite::on_simgpu()) expect_same(function + " returns", "cudaErrorNoDevice", other);
  }
}

PROCTOR_CHECK(EmptyMask, SetDeviceFails, "V09", "ROCm/hip-tests, hipSetGetDeviceMproc.cc, also run on NVIDIA",
              kGate, .faults = {"visibility.show_all_on_empty_selection", "error.swallowed"}) {
  pool_of();
  step("given cudaSetDevice under an empty mask");
  const auto answer = query_child({"set-device", "0"}, masked(""));
  expect_true(answer.at("result") != "cudaSuccess", "cudaSetDevice(0) fails");
}

PROCTOR_CHECK(CurrentDevice, OutOfRangeOrdinalIsRejected, "V28", kSelectTests, kGate,
              .faults = {"error.wrong_code", "error.swallowed"}) {
  const auto pool = pool_of();
  step("given cudaSetDevice(-1) and cudaSetDevice(N)");
  for (const auto& ordinal : {std::string("-1"), std::to_string(pool.devices.size())}) {
    const auto answer = query_child({"set-device", ordinal}, masked(pool.mask()));
    expect_same("cudaSetDevice(" + ordinal + ") returns", "cudaErrorInvalidDevice", answer.at("result"));
  }
}

PROCTOR_CHECK(CurrentDevice, EachThreadSelectsOwnDevice, "V29", kSelectTests, kGate,
              .faults = {"visibility.wrong_uuid", "visibility.duplicate_device",
                         "visibility.share_current_device_between_threads"},
              .devices = 2) {
  const auto names = leased(2);  // Since CUDA 12, cudaSetDevice creates a context.
  step("given a thread for each ordinal that selects it, and the first thread, which selects none");
  const auto inside = query_child({"select"}, masked(joined(names, ","))).at("inside");
  expect_same("the number of devices", std::to_string(names.size()), std::to_string(inside.size()));
  std::set<std::string> distinct;
  for (std::size_t i = 0; i < inside.size() && i < names.size(); ++i) {
    const nlohmann::json expected = {
        {"set", "cudaSuccess"}, {"get", "cudaSuccess"}, {"ordinal", i}, {"uuid", names[i]}, {"elsewhere", 0}};
    expect_same("the thread of ordinal " + std::to_string(i), expected.dump(), inside[i].dump());
    expect_true(distinct.insert(inside[i].at("uuid")).second, "no other thread has that device");
  }
}

PROCTOR_CHECK(PciBusId, BusIdFindsMatchingDevice, "V30",
              "ROCm/hip-tests, hipDeviceGetByPCIBusId.cc, also run on NVIDIA", kGate,
              .faults = {"visibility.wrong_pci_address:dev=0"}) {
  const auto pool = pool_of();
  std::vector<Variables> ways{masked(pool.mask()), {{kOrder, "FASTEST_FIRST"}, {kMask, pool.mask()}}};
  // Masks under which the ordinal differs from the card's own number.
  if (pool.devices.size() > 1) {
    ways.push_back(masked(pool.ordinal(1)));
    ways.push_back(masked(pool.ordinal(1) + "," + pool.ordinal(0)));
    ways.push_back(masked(pool.uuid(pool.devices.size() - 1)));
  }
  for (const auto& variables : ways) {
    step("given the bus id of each device under " + *variables[0].second + " and the mask " +
         *variables[1].second);
    const auto round = query_child({"bus-ids"}, variables).at("round");
    for (const auto& each : round) {
      expect_same("cudaDeviceGetByPCIBusId of " + each.at("id").get<std::string>(), "cudaSuccess",
                  each.at("result"));
      expect_same("its ordinal", each.at("meant").dump(), each.at("ordinal").dump());
    }
  }
}

// If the buffer is too small, its content is a text without a terminator and is not defined.
PROCTOR_CHECK(PciBusId, ShortBufferIsRejected, "V30", "CUDA Runtime API, cudaDeviceGetPCIBusId: len", kWarn,
              .faults = {"error.swallowed:api=cudaDeviceGetPCIBusId"}) {
  const auto pool = pool_of();
  step("given room for each length up to that of the bus id and its end");
  const auto rooms = query_pool("bus-id-rooms", pool).at("rooms");
  for (const auto& room : rooms) {
    const std::string what =
        "with room for " + room.at("room").dump() + " of " + room.at("needed").dump() + ": ";
    expect_true(!room.at("beyond").get<bool>(), what + "no byte after it is written");
    const bool enough = room.at("room") >= room.at("needed");
    expect_true(enough == (room.at("result") == "cudaSuccess"),
                what + "it answers " + room.at("result").get<std::string>());
  }
}

// A program may use either interface. Both must report the same value.
PROCTOR_CHECK(DeviceProperties, AttributesMatchProperties, "V51",
              "CUDA Runtime API, cudaDeviceAttr and cudaDeviceProp", kGate,
              .faults = {"kernel.overstate_limits:api=cudaDeviceGetAttribute"}) {
  const auto pool = pool_of();
  step("given each attribute of each device, and the property of the same meaning");
  const auto devices = query_pool("attributes", pool).at("devices");
  expect_same("number of devices", std::to_string(pool.devices.size()), std::to_string(devices.size()));
  for (std::size_t i = 0; i < std::min(devices.size(), pool.devices.size()); ++i) {
    expect_true(devices[i].size() >= 50, "most attributes are known to the driver");
    nlohmann::json differ = nlohmann::json::object();
    for (const auto& each : devices[i])
      if (each.at("property") != each.at("attribute")) differ[each.at("name")] = each;
    expect_same_of(pool.devices[i],
                   "attributes of device " + std::to_string(i) + " that differ from the property", "{}",
                   differ.dump());
  }
}

PROCTOR_CHECK(PciBusId, UnknownBusIdIsRejected, "V30",
              "ROCm/hip-tests, hipDeviceGetByPCIBusId.cc, also run on NVIDIA: 1 or 101", kGate,
              .faults = {"error.swallowed", "error.wrong_code"}) {
  const auto pool = pool_of();
  step("given bus ids that no device has");
  const auto bad = query_pool("bus-ids", pool).at("bad");
  for (const auto& [text, code] : bad.items()) {
    expect_true(code == "cudaErrorInvalidValue" || code == "cudaErrorInvalidDevice",
                "'" + text + "' is refused with one of both codes, got " + code.dump());
  }
}

PROCTOR_CHECK(PciBusId, MalformedBusIdIsRejected, "V30",
              "CUDA Runtime API, cudaDeviceGetByPCIBusId: three forms", kWarn,
              .faults = {"error.swallowed", "error.wrong_code"}) {
  const auto pool = pool_of();
  step("given bus ids of devices, with a letter or a colon too many, or without the function");
  const auto odd = query_pool("bus-ids", pool).at("odd");
  for (const auto& [text, code] : odd.items())
    expect_true(code == "cudaErrorInvalidValue" || code == "cudaErrorInvalidDevice",
                "'" + text + "' is refused as invalid, got " + code.get<std::string>());
}

PROCTOR_CHECK(DeviceUuid, UuidsAreUnique, "V31", "CUDA Runtime API, cudaDeviceProp::uuid", kGate,
              .faults = {"visibility.wrong_uuid", "visibility.duplicate_device"}) {
  const auto pool = pool_of();
  if (pool.names.machine.size() < 2) suite::skip("needs:devices>=2");
  step("given all devices of the pool");
  try_uuids(pool.devices, uuids_of_nvml);
  const auto listed = uuids(enumerate({{kOrder, kByBus}, {kMask, pool.mask()}}));
  const std::set<std::string> distinct(listed.begin(), listed.end());
  expect_same("the number of different UUIDs", std::to_string(listed.size()),
              std::to_string(distinct.size()));
  step("and of the machine, of which only the number is reported");
  const auto machine = uuids(enumerate({{kOrder, kByBus}}));
  const std::set<std::string> all(machine.begin(), machine.end());
  expect_same("the number of different UUIDs", std::to_string(machine.size()), std::to_string(all.size()));
}

PROCTOR_CHECK(DeviceUuid, UuidsMatchAcrossProcesses, "V31", "CUDA Runtime API, cudaDeviceProp::uuid", kGate,
              .faults = {"visibility.uuid_changes:dev=1"}) {
  const auto pool = pool_of();
  step("given two processes, each masked by PCI place");
  const auto mask = pool.ordinal_mask();
  const auto first = enumerate_under(mask);
  expect_same("UUIDs in the second process", text_of(first), text_of(enumerate_under(mask)));
}

PROCTOR_CHECK(DeviceProperties, EveryDeviceHasName, "V32", "CUDA Runtime API, cudaDeviceProp::name", kGate,
              .faults = {"visibility.name_empty"}) {
  const auto pool = pool_of();
  step("given the properties of each device");
  for (const auto& device : enumerate_under(pool.mask()).devices) {
    expect_same_of(device, "whether device " + device.uuid + " has a name", "yes",
                   device.name.empty() ? "no" : "yes");
  }
}

PROCTOR_CHECK(DeviceProperties, EqualNamesHaveEqualProperties, "V32",
              "project rule: A name belongs to one product.", kWarn, .faults = {"visibility.name_empty"}) {
  const auto pool = pool_of(2);
  step("given the properties of each device");
  const auto devices = enumerate_under(pool.mask()).devices;
  for (const auto& device : devices) {
    for (const auto& other : devices) {
      if (device.name != other.name) continue;
      auto renamed = other;  // UUID and address differ between cards.
      renamed.uuid = device.uuid;
      renamed.pci = device.pci;
      expect_true(renamed == device, device.uuid + " and " + other.uuid + " have the same properties");
    }
  }
}

PROCTOR_CHECK(DeviceProperties, MaskDoesNotChangeProperties, "V33",
              "CUDA Programming Guide, CUDA_VISIBLE_DEVICES: which devices are visible and in what order",
              kGate, .faults = {"visibility.understate_properties_under_mask"}) {
  const auto pool = pool_of();
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    step("given mask " + pool.ordinal(i));
    auto expected = enumerate({{kOrder, kByBus}, {kMask, pool.ordinal(i)}});
    expected.devices = {pool.devices[i]};
    expect_same_of(pool.devices[i], "device " + pool.ordinal(i) + " alone", to_json(expected).dump(),
                   to_json(enumerate_under(pool.ordinal(i))).dump());
  }
}

PROCTOR_CHECK(PciBusId, BusIdsAreUniqueAndStable, "V30", kDevices, kGate,
              .faults = {"visibility.wrong_pci_address:dev=0", "visibility.uuid_changes"}) {
  const auto pool = pool_of(2);
  std::set<std::string> addresses;
  step("given each device alone");
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    const auto seen = enumerate_under(pool.ordinal(i));
    expect_same_of(pool.devices[i], "the device at " + pool.devices[i].pci, expected_text({pool.uuid(i)}),
                   text_of(seen));
    for (const auto& device : seen.devices) {
      expect_same_of(pool.devices[i], "PCI address of " + device.uuid, pool.devices[i].pci, device.pci);
      expect_true(addresses.insert(device.pci).second, "no other device is at " + device.pci);
    }
  }
}

PROCTOR_CHECK(DriverVersion, DriverSupportsRuntimeVersion, "V49",
              "CUDA Programming Guide, Versioning and Compatibility", kGate,
              .faults = {"visibility.version_zero"}) {
  const auto pool = pool_of();
  step("given the versions of runtime and driver");
  const auto seen = enumerate_under(pool.mask());
  const int runtime_major = std::atoi(seen.api.c_str());
  expect_true(runtime_major > 0, "the runtime reports its version, got " + seen.api);
  expect_true(static_cast<int>(seen.driver_version) / 1000 >= runtime_major,
              "the driver supports the runtime's major version, got " + std::to_string(seen.driver_version));
}

PROCTOR_CHECK(PeerAccess, InvalidArgumentsAreRejected, "V47",
              "ROCm/hip-tests, hipDeviceCanAccessPeer.cc, also run on NVIDIA", kGate,
              .faults = {"error.wrong_code", "error.swallowed"}) {
  const auto pool = pool_of();
  step(
      "given cudaDeviceCanAccessPeer with ordinals that name no device, and with a null pointer for the "
      "result");
  const auto answer = query_pool("peers", pool);
  expect_same("of device -1", "cudaErrorInvalidDevice", answer.at("outside").at("-1"));
  expect_same("of device N", "cudaErrorInvalidDevice", answer.at("outside").at("N"));
  expect_same("with a null pointer", "cudaErrorInvalidValue", answer.at("null"));
}

// No document states whether a device is a peer of itself.
PROCTOR_CHECK(PeerAccess, SelfAccessIsRecorded, "V47", kPeers, kInfo,
              .faults = {"visibility.invert_peer_access"}) {
  const auto pool = pool_of();
  step("given cudaDeviceCanAccessPeer of a device and itself");
  const auto pairs = query_pool("peers", pool).at("pairs");
  const auto& self = pairs.at(0).at(0);
  observe_code("cudaDeviceCanAccessPeer(0, 0)", self.at("result"));
  suite::observe("cudaDeviceCanAccessPeer(0, 0)", "reachable", self.at("reachable"), "bool");
  if (!suite::on_simgpu()) return;
  expect_same("cudaDeviceCanAccessPeer returns", "cudaSuccess", self.at("result"));
  expect_same("the device reaches itself", "0", self.at("reachable").dump());
}

// The result must be the same in every process.
PROCTOR_CHECK(PeerAccess, EnablingMatchesReportedAccess, "V47", kPeers, kGate,
              .faults = {"visibility.invert_peer_access"}, .devices = 2) {
  const auto mask = joined(leased(2), ",");
  step("given peer access for each pair of leased devices, queried and enabled");
  const auto pairs = query_child({"enable-peers"}, masked(mask)).at("pairs");
  for (const auto& row : pairs) {
    for (const auto& pair : row) {
      const std::string code = pair.at("enabled");
      const bool refused = code == "cudaErrorInvalidDevice" || code == "cudaErrorPeerAccessUnsupported";
      expect_true(pair.at("reachable") == 1 ? code == "cudaSuccess" : refused,
                  "cudaDeviceEnablePeerAccess agrees with cudaDeviceCanAccessPeer, which returned " +
                      pair.at("reachable").dump() + ": " + code);
    }
  }
}

PROCTOR_CHECK(PeerAccess, HiddenDeviceIsRejected, "V48",
              "CUDA Runtime API, cudaSetDevice: valid ids end at cudaGetDeviceCount() - 1", kGate,
              .faults = {"error.swallowed", "visibility.ignore_mask"}) {
  const auto pool = pool_of(2);
  step("given a process that sees one of two devices");
  const auto answer = query_child({"peers"}, masked(pool.uuid(0)));
  expect_same("number of devices with peers", "1", std::to_string(answer.at("pairs").size()));
  expect_same("cudaDeviceCanAccessPeer(0, 1) returns", "cudaErrorInvalidDevice",
              answer.at("outside").at("N"));
}

}  // namespace proctor::visibility
