// Checks of devices in the CUDA Runtime. A setting of one device must be kept and must not change another device.
// The reported properties must agree with the documents for the device's generation.
#include <algorithm>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/refusal.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kManagement = "CUDA Runtime API, Device Management";
constexpr const char* kInvalidValue = "cudaErrorInvalidValue";

unsigned device_flags() {
  unsigned flags = 0xdead;
  CUDA_CALL(cudaGetDeviceFlags, &flags).or_throw();
  return flags;
}

std::size_t limit_of(cudaLimit limit) {
  std::size_t value = 0xdead;
  CUDA_CALL(cudaDeviceGetLimit, &value, limit).or_throw();
  return value;
}

int current_device() {
  int device = -1;
  CUDA_CALL(cudaGetDevice, &device).or_throw();
  return device;
}

}  // namespace

PROCTOR_CHECK(Device, FlagsPersistPerDevice, "K57", "CUDA Runtime API, cudaSetDeviceFlags, cudaInitDevice",
              kGate,
              .faults = {"error.swallowed:api=cudaSetDeviceFlags", "error.swallowed:api=cudaInitDevice"},
              .devices = 2) {
  const auto devices = leased_devices(2);
  use(devices[1]);
  const unsigned others = device_flags();
  use(devices[0]);
  step("given each way to wait for a device, set for one of two");
  for (const unsigned schedule : {cudaDeviceScheduleSpin, cudaDeviceScheduleYield,
                                  cudaDeviceScheduleBlockingSync, cudaDeviceScheduleAuto}) {
    const std::string text = std::to_string(schedule);
    expect_status(kSuccess, CUDA_CALL(cudaSetDeviceFlags, schedule | cudaDeviceMapHost));
    expect_same("flags after " + text + " (8: memory of the host is mapped, always)",
                std::to_string(schedule | cudaDeviceMapHost),
                std::to_string(device_flags() & (cudaDeviceScheduleMask | cudaDeviceMapHost)));
    expect_status(kSuccess, CUDA_CALL(cudaInitDevice, native(devices[0]), cudaDeviceScheduleSpin, 0));
    expect_same("flags after cudaInitDevice without any", text,
                std::to_string(device_flags() & cudaDeviceScheduleMask));
    expect_status(kSuccess,
                  CUDA_CALL(cudaInitDevice, native(devices[0]), schedule, cudaInitDeviceFlagsAreValid));
    expect_same("flags after cudaInitDevice", text, std::to_string(device_flags() & cudaDeviceScheduleMask));
  }
  for (const unsigned wrong : {3U, 5U, 6U, 7U, 0x40000000U}) {
    expect_status(kInvalidValue, CUDA_CALL(cudaSetDeviceFlags, wrong));
    expect_status(kInvalidValue,
                  CUDA_CALL(cudaInitDevice, native(devices[0]), wrong, cudaInitDeviceFlagsAreValid));
  }
  expect_status(kInvalidValue, CUDA_CALL(cudaInitDevice, native(devices[0]), 0, 2));
  expect_status("cudaErrorInvalidDevice", CUDA_CALL(cudaInitDevice, 99, 0, 0));
  expect_same("the current device", std::to_string(native(devices[0])), std::to_string(current_device()));
  use(devices[1]);
  expect_same("flags of the other device", std::to_string(others), std::to_string(device_flags()));
}

namespace {

struct Limit {
  cudaLimit limit;
  const char* name;
  std::size_t usual;   // the documented default
  std::size_t wanted;  // 0: the check does not set this limit
};
constexpr Limit kDeviceLimits[] = {
    {cudaLimitStackSize, "cudaLimitStackSize", 1024, 4096},
    {cudaLimitPrintfFifoSize, "cudaLimitPrintfFifoSize", 1 << 20, 4 << 20},
    {cudaLimitMallocHeapSize, "cudaLimitMallocHeapSize", 8 << 20, 16 << 20},
    {cudaLimitDevRuntimePendingLaunchCount, "cudaLimitDevRuntimePendingLaunchCount", 2048, 4096},
    {cudaLimitMaxL2FetchGranularity, "cudaLimitMaxL2FetchGranularity", 64,
     0},  // a hint that a device may ignore
    {cudaLimitPersistingL2CacheSize, "cudaLimitPersistingL2CacheSize", 0, 0},
};

}  // namespace

PROCTOR_CHECK(Device, LimitsArePerDevice, "K57", "CUDA Runtime API, cudaDeviceSetLimit, cudaDeviceGetLimit",
              kGate,
              .faults = {"error.swallowed:api=cudaDevice?etLimit", "error.wrong_code:api=cudaDevice?etLimit"},
              .devices = 2, .alone = true) {
  const auto devices = leased_devices(2);
  step("given each limit, set for one of two devices");
  for (const Limit& limit : kDeviceLimits) {
    if (limit.wanted == 0) continue;
    use(devices[1]);
    const std::size_t others = limit_of(limit.limit);
    use(devices[0]);
    expect_status(kSuccess, CUDA_CALL(cudaDeviceSetLimit, limit.limit, limit.wanted));
    // "The driver is free to modify the requested value". The simulated driver does not.
    const std::size_t got = limit_of(limit.limit);
    if (suite::on_simgpu()) expect_same(limit.name, std::to_string(limit.wanted), std::to_string(got));
    use(devices[1]);
    expect_same(std::string(limit.name) + " of the other device", std::to_string(others),
                std::to_string(limit_of(limit.limit)));
  }
  std::size_t value = 0;
  expect_status("cudaErrorUnsupportedLimit", CUDA_CALL(cudaDeviceGetLimit, &value, no_such<cudaLimit>()));
  expect_status(kInvalidValue, CUDA_CALL(cudaDeviceGetLimit, nullptr, cudaLimitStackSize));
}

PROCTOR_CHECK(Device, InitialLimitsMatchDocumentedDefaults, "K57",
              "CUDA Programming Guide, Formatted Output, Dynamic Memory, Dynamic Parallelism: defaults",
              kWarn, .faults = {"error.swallowed:api=cudaDeviceGetLimit"}, .devices = 2, .alone = true) {
  for (const Device& device : leased_devices(2)) {
    use(device);
    step("given no limit that was set");
    for (const Limit& limit : kDeviceLimits)
      expect_same(limit.name, std::to_string(limit.usual), std::to_string(limit_of(limit.limit)));
    std::size_t depth = 0;
    const Status status = CUDA_CALL(cudaDeviceGetLimit, &depth, cudaLimitDevRuntimeSyncDepth);
    const bool has_it = device.record()->native.major < 9;
    expect_status(has_it ? kSuccess : "cudaErrorUnsupportedLimit", status);
    if (has_it) expect_same("cudaLimitDevRuntimeSyncDepth", "2", std::to_string(depth));
  }
  std::size_t value = 0;
  expect_status("cudaErrorUnsupportedLimit", CUDA_CALL(cudaDeviceGetLimit, &value, no_such<cudaLimit>()));
}

PROCTOR_CHECK(Device, CachePreferencesAreAccepted, "K57", "CUDA Runtime API, cudaDeviceSetCacheConfig", kGate,
              .faults = {"error.swallowed:api=cudaDeviceGetCacheConfig"}, .alone = true) {
  use(leased_device());
  step("given each preference for shared memory or cache");
  for (const auto wanted : {cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1,
                            cudaFuncCachePreferEqual}) {
    expect_status(kSuccess, CUDA_CALL(cudaDeviceSetCacheConfig, wanted));
    auto got = no_such<cudaFuncCache>();
    expect_status(kSuccess, CUDA_CALL(cudaDeviceGetCacheConfig, &got));
    expect_true(got >= cudaFuncCachePreferNone && got <= cudaFuncCachePreferEqual,
                "the reported preference is one of them");
  }
  expect_status(kInvalidValue, CUDA_CALL(cudaDeviceGetCacheConfig, nullptr));
}

PROCTOR_CHECK(Device, ChooseDeviceReturnsExistingDevice, "K58", "CUDA Runtime API, cudaChooseDevice", kGate,
              .faults = {"error.swallowed:api=cudaChooseDevice"}, .devices = 2) {
  const auto devices = leased_devices(2);
  step("given the properties of each device as the request, and a request for more than any device has");
  for (const Device& device : devices) {
    const cudaDeviceProp& wanted = device.record()->native;
    int chosen = -1;
    CUDA_CALL(cudaChooseDevice, &chosen, &wanted).or_throw();
    expect_true(chosen >= 0 && chosen < 2, "the chosen device exists, got " + std::to_string(chosen));
    // No document defines which device matches best. The simulator selects by the size of memory.
    const bool differ = devices[0].properties().memory != devices[1].properties().memory;
    if (!suite::on_simgpu() || !differ) continue;
    const cudaDeviceProp& has = devices[chosen == 1 ? 1 : 0].record()->native;
    expect_same("the name of the device that is chosen for " + describe(device), wanted.name, has.name);
    expect_same("its memory", std::to_string(wanted.totalGlobalMem), std::to_string(has.totalGlobalMem));
  }
  cudaDeviceProp everything{};
  everything.totalGlobalMem = SIZE_MAX;
  int chosen = -1;
  expect_status(kSuccess, CUDA_CALL(cudaChooseDevice, &chosen, &everything));
  expect_true(chosen >= 0 && chosen < 2, "the chosen device exists, got " + std::to_string(chosen));
  expect_status(kInvalidValue, CUDA_CALL(cudaChooseDevice, nullptr, &everything));
  expect_status(kInvalidValue, CUDA_CALL(cudaChooseDevice, &chosen, nullptr));
}

namespace {

// Sends the results for several lists of devices, and the current device of a thread that has selected none. The
// process is new, so no thread has selected a device.
PROCTOR_HELPER(set_valid_devices) {
  std::vector<std::string> answers;
  std::vector<int> current;
  int list[3] = {1, 0, 99};
  const auto ask = [&](int* devices, int count) {
    std::thread([&] {
      answers.push_back(CUDA_CALL(cudaSetValidDevices, devices, count).name());
      current.push_back(CUDA_CALL(cudaFree, nullptr).ok() ? current_device() : -1);
    }).join();
  };
  ask(list, 2);
  ask(list + 1, 1);
  ask(list, 1);
  ask(nullptr, 0);
  ask(nullptr, 1);
  ask(list + 1, 2);  // contains a device that does not exist
  ask(list, 3);      // longer than the number of devices
  ask(list + 2, 1);
  suite::answer({{"answers", answers}, {"current", current}});
}

}  // namespace

PROCTOR_CHECK(Device, FirstValidDeviceBecomesCurrent, "K58", "CUDA Runtime API, cudaSetValidDevices", kWarn,
              .faults = {"error.swallowed:api=cudaSetValidDevices",
                         "error.wrong_code:api=cudaSetValidDevices"},
              .devices = 2) {
  leased_devices(2);
  step("given lists of devices in a process that has chosen none");
  suite::Helper helper("set_valid_devices");
  const auto answer = helper.answer();
  const nlohmann::json expected = {kSuccess,      kSuccess,
                                   kSuccess,      kSuccess,
                                   kInvalidValue, "cudaErrorInvalidDevice",
                                   kInvalidValue, "cudaErrorInvalidDevice"};
  expect_same("answers", expected.dump(), answer.at("answers").dump());
  expect_same("devices of threads with the lists {1,0}, {0}, {1} and all", "[1,0,1,0]",
              nlohmann::json(
                  std::vector<nlohmann::json>(answer.at("current").begin(), answer.at("current").begin() + 4))
                  .dump());
}

namespace {

int peer_attribute(cudaDeviceP2PAttr attribute, int from, int to) {
  int value = -99;
  CUDA_CALL(cudaDeviceGetP2PAttribute, &value, attribute, from, to).or_throw();
  return value;
}

}  // namespace

PROCTOR_CHECK(Device, PeerAttributesMatchPeerAccess, "V47",
              "project rule: The attributes of a peer agree with cudaDeviceCanAccessPeer.", kWarn,
              .faults = {"visibility.invert_peer_access"}, .devices = 2) {
  leased_devices(2);
  for (const int from : {0, 1}) {
    const int to = 1 - from;
    step("given the peer attributes of device " + std::to_string(from));
    int reachable = -1;
    CUDA_CALL(cudaDeviceCanAccessPeer, &reachable, from, to).or_throw();
    const int access = peer_attribute(cudaDevP2PAttrAccessSupported, from, to);
    expect_same("access is supported", std::to_string(reachable), std::to_string(access));
    const int atomics = peer_attribute(cudaDevP2PAttrNativeAtomicSupported, from, to);
    const int arrays = peer_attribute(cudaDevP2PAttrCudaArrayAccessSupported, from, to);
    expect_true(atomics == 0 || (atomics == 1 && access == 1), "atomics need access");
    expect_true(arrays == 0 || (arrays == 1 && access == 1), "arrays need access");
    expect_true(peer_attribute(cudaDevP2PAttrPerformanceRank, from, to) >= 0, "the rank is not negative");
  }
}

PROCTOR_CHECK(Device, BadPeerAttributeQueryIsRejected, "V47", "CUDA Runtime API, cudaDeviceGetP2PAttribute",
              kGate, .faults = {"error.swallowed:api=cudaDeviceGetP2PAttribute"}, .devices = 2) {
  leased_devices(2);
  step("given the peer attributes of two devices, and an attribute that does not exist");
#if CUDART_VERSION >= 13000
  for (const int from : {0, 1}) {
    const int all = peer_attribute(cudaDevP2PAttrNativeAtomicSupported, from, 1 - from);
    const int some = peer_attribute(cudaDevP2PAttrOnlyPartialNativeAtomicSupported, from, 1 - from);
    expect_true(some == 0 || (some == 1 && all == 0), "either all atomics are native or only some");
  }
#endif
  int value = 0;
  constexpr auto kAccess = cudaDevP2PAttrAccessSupported;
  expect_status("cudaErrorInvalidDevice", CUDA_CALL(cudaDeviceGetP2PAttribute, &value, kAccess, 0, 0));
  expect_status("cudaErrorInvalidDevice", CUDA_CALL(cudaDeviceGetP2PAttribute, &value, kAccess, 0, 2));
  expect_status("cudaErrorInvalidDevice", CUDA_CALL(cudaDeviceGetP2PAttribute, &value, kAccess, -1, 0));
  expect_status(kInvalidValue, CUDA_CALL(cudaDeviceGetP2PAttribute, nullptr, kAccess, 0, 1));
  expect_status(kInvalidValue,
                CUDA_CALL(cudaDeviceGetP2PAttribute, &value, no_such<cudaDeviceP2PAttr>(), 0, 1));
}

PROCTOR_CHECK(Device, RepeatedPeerAccessChangeFails, "V47", "CUDA Runtime API, cudaDeviceEnablePeerAccess",
              kGate,
              .faults = {"error.swallowed:api=cudaDevice*PeerAccess",
                         "error.wrong_code:api=cudaDevice*PeerAccess"},
              .devices = 2) {
  const auto devices = leased_devices(2);
  int reachable = 0;
  CUDA_CALL(cudaDeviceCanAccessPeer, &reachable, 0, 1).or_throw();
  need(reachable == 1, "unsupported:peer_access");
  use(devices[0]);
  step("given access that is enabled and disabled, twice each");
  for (int round = 0; round < 2; ++round) {
    expect_status("cudaErrorPeerAccessNotEnabled", CUDA_CALL(cudaDeviceDisablePeerAccess, 1));
    expect_status(kSuccess, CUDA_CALL(cudaDeviceEnablePeerAccess, 1, 0));
    expect_status("cudaErrorPeerAccessAlreadyEnabled", CUDA_CALL(cudaDeviceEnablePeerAccess, 1, 0));
    use(devices[1]);
    expect_status("cudaErrorPeerAccessNotEnabled", CUDA_CALL(cudaDeviceDisablePeerAccess, 0));
    use(devices[0]);
    expect_status(kSuccess, CUDA_CALL(cudaDeviceDisablePeerAccess, 1));
  }
  expect_status(kInvalidValue, CUDA_CALL(cudaDeviceEnablePeerAccess, 1, 1));
  expect_refused("access of a device to itself", CUDA_CALL(cudaDeviceEnablePeerAccess, 0, 0));
  expect_status("cudaErrorInvalidDevice", CUDA_CALL(cudaDeviceEnablePeerAccess, 2, 0));
  expect_status("cudaErrorInvalidDevice", CUDA_CALL(cudaDeviceDisablePeerAccess, 0));
}

// ---- reported properties ----

namespace {

constexpr std::size_t kKiB = 1024;

// A row of the programming guide, "Technical Specifications per Compute Capability" and "Throughput of Native
// Arithmetic Instructions".
struct Generation {
  int major, minor;
  int threads, blocks;                            // of a multiprocessor
  std::size_t shared, shared_of_block, reserved;  // KiB
  int double_ratio;
};
constexpr Generation kGenerations[] = {
    {7, 0, 2048, 32, 96, 96, 0, 2},     {7, 5, 1024, 16, 64, 64, 0, 32},   {8, 0, 2048, 32, 164, 163, 1, 2},
    {8, 6, 1536, 16, 100, 99, 1, 32},   {8, 7, 1536, 16, 164, 163, 1, 32}, {8, 9, 1536, 24, 100, 99, 1, 64},
    {9, 0, 2048, 32, 228, 227, 1, 2},   {10, 0, 2048, 32, 228, 227, 1, 2}, {10, 3, 2048, 32, 228, 227, 1, 64},
    {11, 0, 1536, 24, 228, 227, 1, 64}, {12, 0, 1536, 24, 100, 99, 1, 64}, {12, 1, 1536, 24, 100, 99, 1, 64},
};

template <typename T>
void expect_number(const std::string& what, T expected, T got) {
  expect_same(what, std::to_string(expected), std::to_string(got));
}

int attribute(cudaDeviceAttr which, const Device& device) {
  int value = -99;
  CUDA_CALL(cudaDeviceGetAttribute, &value, which, native(device)).or_throw();
  return value;
}

void expect_what_all_have(const cudaDeviceProp& reported) {
  expect_number("warpSize", 32, reported.warpSize);
  expect_number("maxThreadsPerBlock", 1024, reported.maxThreadsPerBlock);
  const int block[] = {1024, 1024, 64}, grid[] = {0x7fffffff, 65535, 65535};
  for (int i = 0; i < 3; ++i) {
    expect_number("maxThreadsDim " + std::to_string(i), block[i], reported.maxThreadsDim[i]);
    expect_number("maxGridSize " + std::to_string(i), grid[i], reported.maxGridSize[i]);
    expect_number("maxTexture3D " + std::to_string(i), 16384, reported.maxTexture3D[i]);
  }
  expect_number("totalConstMem", 64 * kKiB, reported.totalConstMem);
  expect_number("sharedMemPerBlock", 48 * kKiB, reported.sharedMemPerBlock);
  expect_number("regsPerBlock", 65536, reported.regsPerBlock);
  expect_number("regsPerMultiprocessor", 65536, reported.regsPerMultiprocessor);
  expect_number("maxTexture1D", 131072, reported.maxTexture1D);
  expect_number("maxTexture2D 0", 131072, reported.maxTexture2D[0]);
  expect_number("maxTexture2D 1", 65536, reported.maxTexture2D[1]);
}

}  // namespace

PROCTOR_CHECK(Device, PropertiesMatchComputeCapability, "V51",
              "CUDA Programming Guide, Technical Specifications per Compute Capability", kGate,
              .faults = {"kernel.overstate_limits:api=cudaGetDeviceProperties"}, .devices = 2) {
  for (const Device& device : leased_devices(2)) {
    cudaDeviceProp reported{};
    step("given the properties of a device");
    CUDA_CALL(cudaGetDeviceProperties, &reported, native(device)).or_throw();
    need(reported.major >= 7, "needs:compute_capability>=7.0");
    expect_what_all_have(reported);
    const auto* const known = std::ranges::find_if(kGenerations, [&](const Generation& one) {
      return one.major == reported.major && one.minor == reported.minor;
    });
    if (known == std::end(kGenerations)) continue;
    expect_number("maxThreadsPerMultiProcessor", known->threads, reported.maxThreadsPerMultiProcessor);
    expect_number("maxBlocksPerMultiProcessor", known->blocks, reported.maxBlocksPerMultiProcessor);
    expect_number("sharedMemPerMultiprocessor", known->shared * kKiB, reported.sharedMemPerMultiprocessor);
    expect_number("sharedMemPerBlockOptin", known->shared_of_block * kKiB, reported.sharedMemPerBlockOptin);
    expect_number("reservedSharedMemPerBlock", known->reserved * kKiB, reported.reservedSharedMemPerBlock);
  }
}

// No document specifies these values for all cards. All cards that were examined have them.
PROCTOR_CHECK(Device, PropertiesHaveUsualValues, "V51",
              "project rule: The properties have the usual values that deviceQuery prints on Linux.", kWarn,
              .faults = {"kernel.overstate_limits:api=cudaDeviceGetAttribute"}, .devices = 2) {
  for (const Device& device : leased_devices(2)) {
    const cudaDeviceProp& reported = device.record()->native;
    step("given the attributes of cards made since 2017");
    std::size_t free = 0, total = 0;
    use(device);
    CUDA_CALL(cudaMemGetInfo, &free, &total).or_throw();
    expect_number("totalGlobalMem", total, reported.totalGlobalMem);
    expect_number("memPitch", std::size_t{0x7fffffff}, reported.memPitch);
    expect_number("textureAlignment", std::size_t{512}, reported.textureAlignment);
    expect_number("texturePitchAlignment", std::size_t{32}, reported.texturePitchAlignment);
    expect_number("surfaceAlignment", std::size_t{512}, reported.surfaceAlignment);
    expect_number("maxThreadsPerBlock", reported.maxThreadsPerBlock,
                  attribute(cudaDevAttrMaxThreadsPerBlock, device));
    for (const auto ability :
         {cudaDevAttrCanMapHostMemory, cudaDevAttrUnifiedAddressing, cudaDevAttrManagedMemory,
          cudaDevAttrHostRegisterSupported, cudaDevAttrCanUseHostPointerForRegisteredMem,
          cudaDevAttrConcurrentKernels, cudaDevAttrStreamPrioritiesSupported, cudaDevAttrCooperativeLaunch,
          cudaDevAttrComputePreemptionSupported, cudaDevAttrGlobalL1CacheSupported,
          cudaDevAttrLocalL1CacheSupported, cudaDevAttrMemoryPoolsSupported, cudaDevAttrGpuOverlap})
      expect_number("ability " + std::to_string(ability), 1, attribute(ability, device));
    for (const auto choice :
         {cudaDevAttrEccEnabled, cudaDevAttrHostNativeAtomicSupported, cudaDevAttrKernelExecTimeout,
          cudaDevAttrIntegrated, cudaDevAttrTccDriver, cudaDevAttrIsMultiGpuBoard,
          cudaDevAttrConcurrentManagedAccess, cudaDevAttrIpcEventSupport}) {
      const int got = attribute(choice, device);
      expect_true(got == 0 || got == 1,
                  "choice " + std::to_string(choice) + " is 0 or 1, got " + std::to_string(got));
    }
    expect_number("cudaDevAttrComputeMode", 0, attribute(cudaDevAttrComputeMode, device));
    expect_true(attribute(cudaDevAttrHostNumaId, device) >= -1, "the NUMA node is valid, or -1");
    expect_true(reported.asyncEngineCount >= 1 && reported.asyncEngineCount <= 8,
                "the device has an engine for copies");
    expect_true(reported.memoryBusWidth > 0 && reported.memoryBusWidth % 32 == 0,
                "the memory bus has a width");
    expect_true(reported.l2CacheSize > 0, "the device has a cache");
    expect_true(reported.major < 8 || reported.persistingL2CacheMaxSize > 0,
                "a part of the cache can be set aside");
    expect_true(reported.persistingL2CacheMaxSize <= reported.l2CacheSize / 4 * 3,
                "the part of the cache is at most three quarters");
    const int core = attribute(cudaDevAttrClockRate, device),
              memory = attribute(cudaDevAttrMemoryClockRate, device);
    expect_true(core >= 300'000 && core <= 5'000'000 && core % 1000 == 0, "the clock is in kHz");
    expect_true(memory >= 300'000 && memory <= 20'000'000 && memory % 1000 == 0,
                "the memory clock is in kHz");
    const auto* const known = std::ranges::find_if(kGenerations, [&](const Generation& one) {
      return one.major == reported.major && one.minor == reported.minor;
    });
    if (known != std::end(kGenerations))
      expect_number("single to double", known->double_ratio,
                    attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio, device));
    int last = -99;
    const Status beyond = CUDA_CALL(cudaDeviceGetAttribute, &last, cudaDevAttrMax, native(device));
    expect_status(kInvalidValue, beyond);
    expect_status(kInvalidValue,
                  CUDA_CALL(cudaDeviceGetAttribute, &last, static_cast<cudaDeviceAttr>(0), native(device)));
  }
}

}  // namespace proctor::accel
