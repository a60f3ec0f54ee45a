// Checks of the results of NVML: for bad arguments, about the card of CUDA, about the processes on the card, and
// under load.
#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/management.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;
using Handle = nvml::Device;
using EventSet = void*;

using nvml::kFunctionNotFound, nvml::kInsufficientSize, nvml::kInvalidArgument, nvml::kNotFound,
    nvml::kNotSupported, nvml::kTimeout, nvml::kUninitialized, nvml::kVersionMismatch;
constexpr int kDone = nvml::kSuccess;
constexpr unsigned long long kXidEvent = 0x8;  // nvmlEventTypeXidCriticalError
constexpr unsigned kNoInstance = 0xffffffff;   // The instance of a card without partitions (MIG).
void* const kNowhere = nullptr;

struct ReservedMemory {  // nvmlMemory_v2_t
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kReservedMemoryVersion = sizeof(ReservedMemory) | 2U << 24;
struct ManagedEvent {  // nvmlEventData_t
  Handle device;
  unsigned long long type, data;
  unsigned instance, compute_instance;
};

// Compares the result of a call. NVML_ERROR_NOT_SUPPORTED is allowed: a product returns it before it checks the
// arguments.
void expect_result(const std::string& what, int expected, int got) {
  if (got == kNotSupported) return;
  expect_same(what, std::to_string(expected), std::to_string(got));
}

// Like expect_result(), but NVML_ERROR_NOT_SUPPORTED skips the check, because the following steps need the result.
void need_result(const char* function, int expected, int got) {
  if (got == kNotSupported) suite::skip(std::string("unsupported:") + function);
  expect_result(function, expected, got);
}

// The result of a getter of one number. The memory for the result first contains another number.
template <typename Number = unsigned, typename... Arguments>
Number reported(const char* getter, Arguments... arguments) {
  auto number = static_cast<Number>(~0ULL);
  need_result(getter, kDone, nvml_call(getter, arguments..., &number));
  return number;
}

int attribute(const Device& device, cudaDeviceAttr which) {
  int value = -1;
  CUDA_CALL(cudaDeviceGetAttribute, &value, which, native(device)).or_throw();
  return value;
}

// ---- getters ----

// A function of NVML with a device as its first argument. After it come `numbers` enumerators, for which 0 is
// valid, and one or two pointers for the result.
struct Getter {
  const char* name;
  int numbers = 0;
  bool pair = false;
};
constexpr Getter kGetters[] = {
    {"nvmlDeviceGetMinorNumber"},
    {"nvmlDeviceGetIndex"},
    {"nvmlDeviceGetPciInfo_v3"},
    {"nvmlDeviceGetComputeMode"},
    {"nvmlDeviceGetPersistenceMode"},
    {"nvmlDeviceGetCurrPcieLinkGeneration"},
    {"nvmlDeviceGetCurrPcieLinkWidth"},
    {"nvmlDeviceGetMemoryInfo"},
    {"nvmlDeviceGetMemoryInfo_v2"},
    {"nvmlDeviceGetUtilizationRates"},
    {"nvmlDeviceGetPowerUsage"},
    {"nvmlDeviceGetEnforcedPowerLimit"},
    {"nvmlDeviceGetTotalEnergyConsumption"},
    {"nvmlDeviceGetCurrentClocksThrottleReasons"},
    {"nvmlDeviceGetSupportedEventTypes"},
    {"nvmlDeviceGetTemperature", 1},
    {"nvmlDeviceGetTemperatureThreshold", 1},
    {"nvmlDeviceGetClockInfo", 1},
    {"nvmlDeviceGetMaxClockInfo", 1},
    {"nvmlDeviceGetTotalEccErrors", 2},
    {"nvmlDeviceGetCudaComputeCapability", 0, true},
    {"nvmlDeviceGetEccMode", 0, true},
};

int ask(const Getter& getter, Handle device, void* answer, void* second) {
  if (getter.pair) return nvml_call(getter.name, device, answer, second);
  if (getter.numbers == 2) return nvml_call(getter.name, device, 0, 0, answer);
  return getter.numbers == 1 ? nvml_call(getter.name, device, 0, answer)
                             : nvml_call(getter.name, device, answer);
}

struct BadQuestion {
  const char* what;
  int expected;
  int (*ask)(Handle device);
  int or_else = expected;  // Another result that counts as a refusal.
};

EventSet event_set() {
  EventSet set = nullptr;
  expect_same("nvmlEventSetCreate", std::to_string(kDone),
              std::to_string(nvml_call("nvmlEventSetCreate", &set)));
  return set;
}

// Creates a set of events, returns the result of `ask` for it, and frees the set.
template <typename Ask>
int of_event_set(const Ask& ask) {
  const EventSet set = event_set();
  const int answer = ask(set);
  expect_same("nvmlEventSetFree", std::to_string(kDone), std::to_string(nvml_call("nvmlEventSetFree", set)));
  return answer;
}

int by_bus_id(const char* id) {
  Handle found = nullptr;
  return nvml_call("nvmlDeviceGetHandleByPciBusId_v2", id, &found);
}

int at_index(unsigned past_the_end) {
  Handle found = nullptr;
  return nvml_call("nvmlDeviceGetHandleByIndex_v2", reported("nvmlDeviceGetCount_v2") + past_the_end, &found);
}

template <int kEnumeration>
int number_of(Handle device, const char* getter) {
  unsigned answer = 0;
  return nvml_call(getter, device, kEnumeration, &answer);
}

constexpr BadQuestion kBadQuestions[] = {
    {"a count with a null pointer", kInvalidArgument,
     [](Handle) { return nvml_call("nvmlDeviceGetCount_v2", kNowhere); }},
    {"a device by index with a null pointer", kInvalidArgument,
     [](Handle) { return nvml_call("nvmlDeviceGetHandleByIndex_v2", 0U, kNowhere); }},
    {"the first index that no device has", kInvalidArgument, [](Handle) { return at_index(0); }},
    {"the second index that no device has", kInvalidArgument, [](Handle) { return at_index(1); }},
    {"a very large index", kInvalidArgument, [](Handle) { return at_index(1U << 30); }},
    {"a device without a UUID", kInvalidArgument,
     [](Handle device) { return nvml_call("nvmlDeviceGetHandleByUUID", kNowhere, &device); }},
    {"a device by UUID with a null pointer", kInvalidArgument,
     [](Handle device) {
       char uuid[96] = {};
       nvml_call("nvmlDeviceGetUUID", device, &uuid[0], 96U);
       return nvml_call("nvmlDeviceGetHandleByUUID", &uuid[0], kNowhere);
     }},
    {"a device without a bus id", kInvalidArgument,
     [](Handle device) { return nvml_call("nvmlDeviceGetHandleByPciBusId_v2", kNowhere, &device); }},
    {"an empty bus id", kInvalidArgument, [](Handle) { return by_bus_id(""); }, kNotFound},
    {"a bus id of letters", kInvalidArgument, [](Handle) { return by_bus_id("card"); }, kNotFound},
    {"a bus id with a bus only", kInvalidArgument, [](Handle) { return by_bus_id("7"); }, kNotFound},
    {"a bus id without a device", kInvalidArgument, [](Handle) { return by_bus_id("0000:07:"); }, kNotFound},
    {"a bus id with a letter that is not a digit", kInvalidArgument,
     [](Handle) { return by_bus_id("0000:0g:00.0"); }, kNotFound},
    {"a bus id with a letter after it", kInvalidArgument, [](Handle) { return by_bus_id("ffff:ff:1f.7x"); },
     kNotFound},
    {"a bus id that no card has", kNotFound, [](Handle) { return by_bus_id("ffff:ff:1f.7"); },
     kInvalidArgument},
    {"a name with a null pointer", kInvalidArgument,
     [](Handle device) { return nvml_call("nvmlDeviceGetName", device, kNowhere, 96U); }},
    {"the name of a null device", kInvalidArgument,
     [](Handle) {
       char name[96];
       return nvml_call("nvmlDeviceGetName", kNowhere, &name[0], 96U);
     }},
    {"the driver's version with a null pointer", kInvalidArgument,
     [](Handle) { return nvml_call("nvmlSystemGetDriverVersion", kNowhere, 80U); }},
    {"the version of CUDA with a null pointer", kInvalidArgument,
     [](Handle) { return nvml_call("nvmlSystemGetCudaDriverVersion_v2", kNowhere); }},
    {"MIG of a null device", kInvalidArgument,
     [](Handle) {
       unsigned current = 0, pending = 0;
       return nvml_call("nvmlDeviceGetMigMode", kNowhere, &current, &pending);
     }},
    {"the memory in another version of the structure", kVersionMismatch,
     [](Handle device) {
       ReservedMemory memory{};
       memory.version = kReservedMemoryVersion + 1;
       return nvml_call("nvmlDeviceGetMemoryInfo_v2", device, &memory);
     },
     kFunctionNotFound},  // NVML 580.159.04
    {"processes with a null pointer for their number", kInvalidArgument,
     [](Handle device) {
       return nvml_call("nvmlDeviceGetComputeRunningProcesses_v3", device, kNowhere, kNowhere);
     }},
    {"processes with a null pointer for the list", kInvalidArgument,
     [](Handle device) {
       unsigned room = 64;
       return nvml_call("nvmlDeviceGetComputeRunningProcesses_v3", device, &room, kNowhere);
     }},
    {"the temperature of a sensor that does not exist", kInvalidArgument,
     [](Handle device) { return number_of<99>(device, "nvmlDeviceGetTemperature"); }},
    {"a threshold that does not exist", kInvalidArgument,
     [](Handle device) { return number_of<99>(device, "nvmlDeviceGetTemperatureThreshold"); }, kNotSupported},
    {"a clock that does not exist", kInvalidArgument,
     [](Handle device) { return number_of<4>(device, "nvmlDeviceGetClockInfo"); }},
    {"the fastest clock of a kind that does not exist", kInvalidArgument,
     [](Handle device) { return number_of<4>(device, "nvmlDeviceGetMaxClockInfo"); }},
    {"a set of events with a null pointer", kInvalidArgument,
     [](Handle) { return nvml_call("nvmlEventSetCreate", kNowhere); }},
    {"events for a null set", kInvalidArgument,
     [](Handle device) { return nvml_call("nvmlDeviceRegisterEvents", device, kXidEvent, kNowhere); }},
    {"events of a null device", kInvalidArgument,
     [](Handle) {
       return of_event_set(
           [](EventSet set) { return nvml_call("nvmlDeviceRegisterEvents", kNowhere, kXidEvent, set); });
     }},
    {"events that do not exist", kNotSupported,
     [](Handle device) {
       return of_event_set(
           [device](EventSet set) { return nvml_call("nvmlDeviceRegisterEvents", device, 1ULL << 40, set); });
     },
     kInvalidArgument},
    {"an event of a null set", kInvalidArgument,
     [](Handle) {
       ManagedEvent event{};
       return nvml_call("nvmlEventSetWait_v2", kNowhere, &event, 0U);
     }},
    {"an event with a null pointer", kInvalidArgument,
     [](Handle) {
       return of_event_set([](EventSet set) { return nvml_call("nvmlEventSetWait_v2", set, kNowhere, 0U); });
     }},
    {"the end of a null set", kInvalidArgument,
     [](Handle) { return nvml_call("nvmlEventSetFree", kNowhere); }},
};

// ---- texts and processes ----

// Requests a text with each buffer size from 0 to one more than the text needs.
std::string text_in_its_room(const std::string& what, const std::function<int(char*, unsigned)>& give) {
  constexpr char kUntouched = 'x';
  std::string text(96, kUntouched);
  expect_result(what, kDone, give(text.data(), 96));
  const auto needed = static_cast<unsigned>(std::strlen(text.c_str())) + 1;
  for (unsigned room = 0; room <= needed + 1; ++room) {
    std::string into(128, kUntouched);
    const std::string with = fmt::format("{} with room for {} of {}", what, room, needed);
    expect_result(with, room < needed ? kInsufficientSize : kDone, give(into.data(), room));
    expect_true(into.find_first_not_of(kUntouched, room) == into.npos,
                with + ": no byte after it is written");
    if (room >= needed) expect_same(with, text.c_str(), into.c_str());
  }
  return text.c_str();
}

// Holds memory of the card until the check ends the helper.
PROCTOR_HELPER(hold_card) {
  const auto context = leased();
  const Buffer held = device_memory(context, std::stoul(words.at(0)));
  suite::answer({{"pid", getpid()}});
  suite::wait_for_input();
}

const nvml::ProcessInfo* process(const std::vector<nvml::ProcessInfo>& all, unsigned pid) {
  const auto found = std::ranges::find(all, pid, &nvml::ProcessInfo::pid);
  return found == all.end() ? nullptr : &*found;
}

// The processes on a card, in the order of NVML's result. Verifies that NVML writes no more entries than `room`.
std::vector<nvml::ProcessInfo> processes_in(Handle device, unsigned room, unsigned expected) {
  constexpr unsigned kUntouched = 0xfffffff0;
  std::vector<nvml::ProcessInfo> processes(expected + 3, nvml::ProcessInfo{kUntouched, 0, 1, 1});
  unsigned count = room;
  const std::string with = fmt::format("{} processes with room for {}", expected, room);
  constexpr const char* kFunction = "nvmlDeviceGetComputeRunningProcesses_v3";
  need_result(kFunction, room < expected ? kInsufficientSize : kDone,
              nvml_call(kFunction, device, &count, room == 0 ? nullptr : processes.data()));
  expect_same(with + ", their number", std::to_string(expected), std::to_string(count));
  for (std::size_t i = room < expected ? room : expected; i < processes.size(); ++i)
    expect_true(processes[i].pid == kUntouched, with + ": no byte after them is written");
  processes.resize(room < expected ? 0 : expected);
  return processes;
}

// The number of tries. Each try takes twice as long as the previous one. The simulator goes from 10 ms to 1.28 s,
// a product from 1.5 s to 24 s.
int tries() { return suite::on_simgpu() ? 8 : 5; }

// The utilization that NVML reports for the time that `pass_time` takes. A product reports the last second; the
// simulated card reports the time since the previous query. Other load on this machine can disturb a try, so later
// tries take longer.
nvml::Utilization utilization_after(Handle device, const std::function<void(Nanoseconds)>& pass_time,
                                    int tries_before = 0) {
  nvml::Utilization seen{~0U, ~0U};
  nvml_call("nvmlDeviceGetUtilizationRates", device, &seen);
  pass_time(std::chrono::milliseconds((suite::on_simgpu() ? 10 : 1500) << tries_before));
  seen = {~0U, ~0U};
  need_result("nvmlDeviceGetUtilizationRates", kDone,
              nvml_call("nvmlDeviceGetUtilizationRates", device, &seen));
  expect_true(seen.gpu <= 100 && seen.memory <= 100,
              fmt::format("both rates are percents, they are {} and {}", seen.gpu, seen.memory));
  return seen;
}

}  // namespace

PROCTOR_CHECK(Nvml, InvalidArgumentReturnsDocumentedError, "K81",
              "NVML API Reference Guide, Device Queries: NVML_ERROR_INVALID_ARGUMENT", kWarn,
              {"error.swallowed:api=nvmlDeviceGetMinorNumber", "error.swallowed:api=nvmlEventSetFree"}) {
  const auto context = leased();
  const Handle device = managed_handle(context.device());
  for (const Getter& getter : kGetters) {
    step(fmt::format("given {} with a null pointer, and with a buffer", getter.name));
    alignas(8) std::byte answer[256] = {}, second[8] = {};
    std::memcpy(answer, &kReservedMemoryVersion, sizeof kReservedMemoryVersion);
    expect_result(getter.name, kDone, ask(getter, device, answer, second));
    expect_result(std::string(getter.name) + " with a null pointer", kInvalidArgument,
                  ask(getter, device, nullptr, second));
    if (!getter.pair) continue;
    expect_result(std::string(getter.name) + " with a null pointer for the second value", kInvalidArgument,
                  ask(getter, device, answer, nullptr));
  }
  for (const BadQuestion& bad : kBadQuestions) {
    step(std::string("given ") + bad.what);
    const int got = bad.ask(device);
    if (suite::on_simgpu() || got != bad.or_else) expect_result(bad.what, bad.expected, got);
  }
}

// Other parts of the program may use NVML at the same time. NVML therefore counts its users.
PROCTOR_CHECK(Nvml, InitIsReferenceCounted, "K82",
              "NVML API Reference Guide, nvmlInit_v2 and nvmlShutdown: reference count", kWarn,
              {"error.swallowed:api=nvmlDeviceGetCount_v2"}) {
  const auto context = leased();
  managed_handle(context.device());
  unsigned count = 0;
  const auto expect_usable = [&](bool usable) {
    expect_same(usable ? "with a user" : "without a user", std::to_string(usable ? kDone : kUninitialized),
                std::to_string(nvml_call("nvmlDeviceGetCount_v2", &count)));
  };
  step("given a library whose users have all left");
  int users = 0;
  constexpr int kMany = 100;
  while (users < kMany && nvml_call("nvmlShutdown") == kDone) ++users;
  expect_true(users >= 1 && users < kMany, "the library has at least one user, and then none");
  expect_usable(false);
  step("given two users, of which one leaves, and then the other");
  for (int i = 0; i < 2; ++i) {
    expect_same("nvmlInit_v2", std::to_string(kDone), std::to_string(nvml_call("nvmlInit_v2")));
    expect_usable(true);
  }
  expect_same("nvmlShutdown", std::to_string(kDone), std::to_string(nvml_call("nvmlShutdown")));
  expect_usable(true);
  expect_same("nvmlShutdown", std::to_string(kDone), std::to_string(nvml_call("nvmlShutdown")));
  expect_usable(false);
  expect_same("one nvmlShutdown more", std::to_string(kUninitialized),
              std::to_string(nvml_call("nvmlShutdown")));
  for (; users > 0; --users) nvml_call("nvmlInit_v2");
  expect_usable(true);
}

PROCTOR_CHECK(
    Nvml, ShortTextBufferIsRejected, "K83",
    "NVML API Reference Guide, nvmlDeviceGetName: NVML_ERROR_INSUFFICIENT_SIZE if length is too small", kWarn,
    {"error.swallowed:api=nvmlDeviceGetName"}) {
  const auto context = leased();
  const Handle device = managed_handle(context.device());
  const auto of_device = [&](const char* getter) {
    step(std::string("given ") + getter + " with room for each length up to that of the text and its end");
    return text_in_its_room(getter,
                            [&](char* out, unsigned room) { return nvml_call(getter, device, out, room); });
  };
  const auto of_system = [&](const char* getter) {
    step(std::string("given ") + getter + " with room for each length up to that of the text and its end");
    return text_in_its_room(getter, [&](char* out, unsigned room) { return nvml_call(getter, out, room); });
  };
  expect_same("the name, compared with CUDA", context.device().properties().name,
              of_device("nvmlDeviceGetName"));
  std::string uuid = of_device("nvmlDeviceGetUUID");
  std::erase(uuid, '-');
  expect_same("the UUID, compared with CUDA", "GPU" + context.device().properties().uuid, uuid);
  const std::string driver = of_system("nvmlSystemGetDriverVersion");
  const std::string library = of_system("nvmlSystemGetNVMLVersion");
  const int cuda = reported<int>("nvmlSystemGetCudaDriverVersion_v2");
  int runtime_says = 0;
  CUDA_CALL(cudaDriverGetVersion, &runtime_says).or_throw();
  expect_same("the version of CUDA, compared with the runtime", std::to_string(runtime_says),
              std::to_string(cuda));
  expect_same("NVML's version", fmt::format("{}.{}", cuda / 1000, driver), library);
}

PROCTOR_CHECK(Nvml, EveryPciAddressFormFindsCard, "K84",
              "NVML API Reference Guide, nvmlDeviceGetHandleByPciBusId_v2, nvmlPciInfo_t", kWarn,
              {"sysman.wrong_pci_address"}) {
  const auto context = leased();
  const Device& card = context.device();
  const Handle device = managed_handle(card);
  step("given each place in the list");
  const auto count = reported("nvmlDeviceGetCount_v2");
  for (unsigned index = 0; index < count; ++index) {
    Handle found = nullptr;
    need_result("nvmlDeviceGetHandleByIndex_v2", kDone,
                nvml_call("nvmlDeviceGetHandleByIndex_v2", index, &found));
    expect_same("its index", std::to_string(index), std::to_string(reported("nvmlDeviceGetIndex", found)));
  }
  step("given the address that the card reports");
  nvml::PciInfo pci;
  std::memset(&pci, 0xff, sizeof pci);
  need_result("nvmlDeviceGetPciInfo_v3", kDone, nvml_call("nvmlDeviceGetPciInfo_v3", device, &pci));
  const auto address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
  expect_same("the address, compared with CUDA", card.properties().pci, address);
  expect_true(strcasecmp(pci.legacy_bus_id, address.c_str()) == 0,
              "the short bus id is the address " + address);
  expect_true(strcasecmp(pci.bus_id, ("0000" + address).c_str()) == 0,
              "the long bus id is the address with a longer domain");
  expect_same("the vendor", "10de", fmt::format("{:x}", pci.device_id & 0xffff));
  if (const auto model = card.properties().device_id)  // CUDA 12 does not tell
    expect_same("the model, compared with CUDA", fmt::format("{:x}", model),
                fmt::format("{:x}", pci.device_id >> 16));
  expect_true(pci.subsystem_id != ~0U, "the subsystem is reported");
  step("given each form of the address");
  std::vector<std::string> names = {pci.bus_id, pci.legacy_bus_id, address.substr(0, 10)};
  if (pci.domain == 0) names.push_back(address.substr(5));  // An address without a domain is in domain 0.
  for (const auto& name : names) {
    Handle found = nullptr;
    expect_result("the card at " + name, kDone,
                  nvml_call("nvmlDeviceGetHandleByPciBusId_v2", name.c_str(), &found));
    expect_true(found == device, name + " is this card");
  }
}

PROCTOR_CHECK(Nvml, BothMemoryInfoVersionsAgree, "K85",
              "NVML API Reference Guide, nvmlMemory_t and nvmlMemory_v2_t", kWarn,
              {"sysman.freeze_free_memory", "sysman.limit_reported_memory_use:api=nvmlDeviceGetMemoryInfo"}) {
  const auto context = leased();
  const Handle device = managed_handle(context.device());
  // On a card with a display, the desktop allocates and frees memory meanwhile.
  const std::uint64_t slack = context.device().properties().display ? kFreeSlack : 8 << 20;
  const auto seen = [&] {
    nvml::Memory memory{1, 2, 3};
    ReservedMemory reserved{kReservedMemoryVersion, 4, ~0ULL, 5, 6};
    need_result("nvmlDeviceGetMemoryInfo", kDone, nvml_call("nvmlDeviceGetMemoryInfo", device, &memory));
    expect_result("nvmlDeviceGetMemoryInfo_v2", kDone,
                  nvml_call("nvmlDeviceGetMemoryInfo_v2", device, &reserved));
    expect_same("free and used together", std::to_string(memory.total),
                std::to_string(memory.free + memory.used));
    expect_same("the total", std::to_string(memory.total), std::to_string(reserved.total));
    expect_same("the free memory", std::to_string(memory.free), std::to_string(reserved.free));
    expect_same("used and reserved memory together", std::to_string(memory.used),
                std::to_string(reserved.used + reserved.reserved));
    expect_true(reserved.version == kReservedMemoryVersion, "the version is unchanged");
    return memory;
  };
  const nvml::Memory before = (device_memory(context, 1 << 20), seen());
  std::vector<Buffer> held;
  std::uint64_t taken = 0;
  for (const std::uint64_t bytes : {std::uint64_t{64} << 20, available_memory(context.device()) / 2}) {
    taken += bytes;
    step(fmt::format("given {} bytes of the card's memory", taken));
    held.push_back(device_memory(context, bytes));
    const nvml::Memory after = seen();
    expect_true(after.used + slack >= before.used + taken && after.used <= before.used + taken + slack,
                fmt::format("used memory rose by that size within {}: {} and then {}", slack, before.used,
                            after.used));
  }
  expect_true(context.device().properties().memory <= before.total,
              "programs can use no more than the total");
}

PROCTOR_CHECK(
    ProcessList, ProcessesAreListedWithMemory, "K86",
    "NVML API Reference Guide, nvmlDeviceGetComputeRunningProcesses: processes with a compute context, "
    "infoCount",
    kWarn, {"sysman.freeze_free_memory", "sysman.small_process_hidden"}) {
  const auto context = leased();
  const Handle device = managed_handle(context.device());
  const auto own = static_cast<unsigned>(getpid());
  const Buffer held = device_memory(context, 16 << 20);
  step("given a card that this process uses, alone and with another process with much or little memory");
  for (const unsigned other_has : {0U, 4U << 20, 1U}) {
    const unsigned others = other_has == 0 ? 0 : 1;
    std::optional<Helper> other;
    if (others == 1) other.emplace("hold_card", std::vector{std::to_string(other_has)});
    const auto pid = other ? other->answer().at("pid").get<unsigned>() : own;
    std::vector<nvml::ProcessInfo> running;
    for (unsigned room = 0; room <= others + 3; ++room) running = processes_in(device, room, others + 1);
    if (process(running, own) == nullptr && !suite::on_simgpu())
      suite::skip("unsupported:process_ids");  // In a container with its own process ids.
    for (const unsigned wanted : {own, pid}) {
      const auto* const found = process(running, wanted);
      expect_true(found != nullptr, wanted == own ? "this process is listed" : "the other process is listed");
      if (found == nullptr) continue;
      expect_true(found->used_memory >= (wanted == own ? 16U << 20 : other_has),
                  "the process has at least its own memory");
      expect_true(found->gpu_instance == kNoInstance && found->compute_instance == kNoInstance,
                  "the card is not partitioned");
    }
  }
}

PROCTOR_CHECK(Utilization, GpuUtilizationFollowsWork, "K87",
              "NVML API Reference Guide, nvmlDeviceGetUtilizationRates, nvmlUtilization_t", kWarn,
              .faults = {"sysman.report_idle", "sysman.wrong_device:api=nvmlDeviceGetUtilizationRates",
                         "sysman.repeat_first_answer:api=nvmlDeviceGetUtilizationRates"},
              .alone = true) {
  const auto context = leased();
  const Handle device = managed_handle(context.device());
  Queue first(context), second(context);
  const auto rest = [](Nanoseconds time) { std::this_thread::sleep_for(time); };
  const auto work_of = [&](std::vector<Queue*> queues) {
    // Creates the latch outside the measured time, in which the card would be idle.
    return [&context, queues] {
      return [latch = std::make_shared<Latch>(context), queues](Nanoseconds time) {
        for (Queue* queue : queues) latch->hold(*queue);
        std::this_thread::sleep_for(time);
        latch->open();
        for (Queue* queue : queues) queue->synchronize();
      };
    };
  };
  work_of({&first})()(std::chrono::milliseconds(1));
  rest(suite::on_simgpu() ? std::chrono::milliseconds(0) : std::chrono::milliseconds(1500));
  step("given a card that has rested");
  nvml::Utilization at_rest{~0U, ~0U};
  need_result("nvmlDeviceGetUtilizationRates", kDone,
              nvml_call("nvmlDeviceGetUtilizationRates", device, &at_rest));
  const unsigned little = suite::on_simgpu() ? 0 : 50;  // its first answer is about no time at all
  expect_true(at_rest.gpu <= little, fmt::format("the card is idle, got {} %", at_rest.gpu));
  step("given a card that works all the time, for one stream, and then for two");
  for (const auto& work : {work_of({&first}), work_of({&first, &second})}) {
    nvml::Utilization busy{};
    for (int i = 0; i < tries() && busy.gpu <= 55; ++i) busy = utilization_after(device, work(), i);
    expect_true(busy.gpu > 55, fmt::format("the card works more than half of the time, got {} %", busy.gpu));
  }
  step("given a card that works for a part of its time");
  const auto some_work = [&](Nanoseconds time) {
    work_of({&first})()(time / 5);
    rest(time);
  };
  nvml::Utilization part{100, 100};
  for (int i = 0; i < tries() && part.gpu > 90; ++i) part = utilization_after(device, some_work, i);
  expect_true(part.gpu <= 90, fmt::format("the card does not work all the time, got {} %", part.gpu));
  step("given the same card when it has rested");
  const auto idle = utilization_after(device, rest);
  expect_true(idle.gpu <= little, fmt::format("the card is idle, got {} %", idle.gpu));
}

PROCTOR_CHECK(Sensor, ReadingsStayWithinLimits, "K88",
              "NVML API Reference Guide, nvmlDeviceGetClockInfo, nvmlDeviceGetTemperatureThreshold, "
              "nvmlClocksThrottleReasons",
              kWarn, {"sysman.exceed_temperature_limit", "sysman.wrong_unit:api=nvmlDeviceGetPowerUsage"}) {
  const auto context = leased();
  const Device& card = context.device();
  const Handle device = managed_handle(card);
  Queue queue(context);
  Latch latch(context);
  step("given a card that works");
  latch.hold(queue);
  constexpr int kSm = 1, kMemory = 2;
  for (int clock = 0; clock < 4; ++clock) {
    const auto now = reported("nvmlDeviceGetClockInfo", device, clock);
    const auto most = reported("nvmlDeviceGetMaxClockInfo", device, clock);
    expect_true(now > 0 && now <= most,
                fmt::format("clock {} is at most its fastest: {} of {} MHz", clock, now, most));
    if (clock != kSm && clock != kMemory) continue;
    const int khz = attribute(card, clock == kSm ? cudaDevAttrClockRate : cudaDevAttrMemoryClockRate);
    expect_same("the fastest clock, compared with CUDA", std::to_string(khz / 1000), std::to_string(most));
  }
  const auto reasons = reported<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
  constexpr unsigned long long kIdle = 0x1, kHeat = 0x20 | 0x40;
  expect_true((reasons & (kIdle | kHeat)) == 0,
              fmt::format("the card is neither idle nor slowed by heat, got {:#x}", reasons));
  latch.open();
  queue.synchronize();

  const auto celsius = reported("nvmlDeviceGetTemperature", device, 0);
  const auto shutdown = reported("nvmlDeviceGetTemperatureThreshold", device, 0);
  const auto slowdown = reported("nvmlDeviceGetTemperatureThreshold", device, 1);
  expect_true(celsius > 0 && celsius < slowdown && slowdown < shutdown,
              fmt::format("temperature, slowdown and shutdown are in ascending order, got {}, {} and {}",
                          celsius, slowdown, shutdown));
  const auto power = reported("nvmlDeviceGetPowerUsage", device);
  const auto limit = reported("nvmlDeviceGetEnforcedPowerLimit", device);
  expect_true(
      power > 1000 && power < limit + limit / 2,
      fmt::format("the power is more than a watt and within its limit, got {} of {} mW", power, limit));
  const auto width = reported("nvmlDeviceGetCurrPcieLinkWidth", device);
  const auto generation = reported("nvmlDeviceGetCurrPcieLinkGeneration", device);
  expect_true(width >= 1 && width <= 32 && (width & (width - 1)) == 0,
              fmt::format("the number of lanes is a power of two up to 32, got {}", width));
  expect_true(generation >= 1 && generation <= 7,
              fmt::format("the generation of PCIe is from 1 to 7, got {}", generation));
}

// NVML reports power and energy of the same card at the same time. The power of a product is a mean over a time
// before the query.
PROCTOR_CHECK(EnergyCounter, EnergyEqualsPowerTimesTime, "K96",
              "NVML API Reference Guide, nvmlDeviceGetTotalEnergyConsumption, nvmlDeviceGetPowerUsage", kWarn,
              {"sysman.energy_scale", "sysman.repeat_first_answer:api=nvmlDeviceGetTotalEnergyConsumption",
               "sysman.return_previous_answer:api=nvmlDeviceGetTotalEnergyConsumption"}) {
  const auto context = leased();
  const Handle device = managed_handle(context.device());
  step("given the energy of a card at rest before and after a while, and its power");
  const auto energy = [&] {
    return reported<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device);
  };
  using Clock = std::chrono::steady_clock;
  const auto before = Clock::now();
  const auto first = energy();
  const auto began = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(suite::on_simgpu() ? 20 : 1000));
  const auto ended = Clock::now();
  const auto spent = static_cast<double>(energy() - first);
  const std::chrono::duration<double> least = ended - began, most = Clock::now() - before;
  const auto power = static_cast<double>(reported("nvmlDeviceGetPowerUsage", device));
  const double leeway = suite::on_simgpu() ? 1.2 : 3;
  expect_true(spent >= power * least.count() / leeway && spent <= power * most.count() * leeway,
              fmt::format("the energy of {} mJ is about {} mW for {} s", spent, power, least.count()));
}

PROCTOR_CHECK(Nvml, ModesMatchCudaAttributes, "K89",
              "NVML API Reference Guide, nvmlDeviceGetCudaComputeCapability, nvmlEnableState_t", kWarn,
              {"error.swallowed:api=nvmlDeviceGetMigMode"}) {
  const auto context = leased();
  const Device& card = context.device();
  const Handle device = managed_handle(card);
  const auto pair = [&](const char* getter) {
    unsigned first = ~0U, second = ~0U;
    expect_result(getter, kDone, nvml_call(getter, device, &first, &second));
    return std::pair(first, second);
  };
  step("given the modes of a card in NVML and in CUDA");
  const auto [major, minor] = pair("nvmlDeviceGetCudaComputeCapability");
  expect_same("the compute capability",
              fmt::format("{}.{}", attribute(card, cudaDevAttrComputeCapabilityMajor),
                          attribute(card, cudaDevAttrComputeCapabilityMinor)),
              fmt::format("{}.{}", major, minor));
  expect_same("the compute mode", std::to_string(attribute(card, cudaDevAttrComputeMode)),
              std::to_string(reported("nvmlDeviceGetComputeMode", device)));
  expect_true(reported("nvmlDeviceGetPersistenceMode", device) <= 1, "persistence is on or off");
  unsigned current = ~0U, pending = ~0U;
  const int mig = nvml_call("nvmlDeviceGetMigMode", device, &current, &pending);
  expect_true(mig == kNotSupported || (mig == kDone && current <= 1 && pending <= 1),
              "MIG is on or off, if the card supports it");
  const auto [ecc, ecc_later] = pair("nvmlDeviceGetEccMode");
  if (ecc == ~0U) return;
  expect_same("error correction", std::to_string(attribute(card, cudaDevAttrEccEnabled)),
              std::to_string(ecc));
  expect_true(ecc_later <= 1, "error correction after a reboot is on or off");
  if (ecc == 0) return;  // then nothing is counted
  constexpr int kCorrected = 0, kUncorrected = 1, kSinceBoot = 0, kEver = 1;
  for (const int kind : {kCorrected, kUncorrected}) {
    const auto since_boot =
        reported<unsigned long long>("nvmlDeviceGetTotalEccErrors", device, kind, kSinceBoot);
    expect_true(
        since_boot <= reported<unsigned long long>("nvmlDeviceGetTotalEccErrors", device, kind, kEver),
        "the errors since the start are at most those of the lifetime");
    if (kind == kUncorrected)
      expect_same("uncorrected errors since the start", "0", std::to_string(since_boot));
  }
}

// A store to an unmapped address breaks only the context of its process. The driver reports it as an event to all
// listeners.
PROCTOR_CHECK(NvmlEvent, IllegalStoreRaisesXidEvent, "K90",
              "NVML API Reference Guide, nvmlEventSetWait_v2, nvmlEventTypeXidCriticalError; NVIDIA XID "
              "Errors, 13 and 31",
              kWarn, {"error.swallowed:api=nvmlEventSetWait_v2"}) {
  const auto context = leased();
  const Handle device = managed_handle(context.device());
  const auto types = reported<unsigned long long>("nvmlDeviceGetSupportedEventTypes", device);
  expect_true(types != ~0ULL && (types & kXidEvent) != 0, "the card reports its critical errors");
  const auto wait = [&](EventSet set, unsigned milliseconds, ManagedEvent& event) {
    event = {nullptr, 0, 0, 0, 0};
    return nvml_call("nvmlEventSetWait_v2", set, &event, milliseconds);
  };
  const auto listen = [&] {
    const EventSet set = event_set();
    expect_result("nvmlDeviceRegisterEvents", kDone,
                  nvml_call("nvmlDeviceRegisterEvents", device, kXidEvent, set));
    return set;
  };
  ManagedEvent event;
  const EventSet set = listen();
  step("given a card without an error");
  const suite::Stopwatch watch;
  expect_result("an event in 10 ms", kTimeout, wait(set, 10, event));
  expect_waited("that", std::chrono::milliseconds(10), watch);
  step("given a second process that stores to an invalid address");
  Helper helper("break_by_address");
  helper.answer();  // It reports the failed store.
  expect_result("an event", kDone,
                wait(set, static_cast<unsigned>(std::chrono::milliseconds(kPatience).count()), event));
  expect_true(event.device == device && event.type == kXidEvent,
              "the event is a critical error of this card");
  expect_true(event.data == 13 || event.data == 31,
              fmt::format("the event is an Xid of a kernel (13 or 31), got {}", event.data));
  expect_true(event.instance == kNoInstance && event.compute_instance == kNoInstance,
              "the card is not partitioned");
  if (suite::on_simgpu()) expect_result("a second event", kTimeout, wait(set, 0, event));
  const EventSet late = listen();
  expect_result("an event for a set that registers afterwards", kTimeout, wait(late, 0, event));
  for (const EventSet each : {set, late})
    expect_result("nvmlEventSetFree", kDone, nvml_call("nvmlEventSetFree", each));
}

}  // namespace proctor::accel
