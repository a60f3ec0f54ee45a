// The modes of a child for CUDA, and the document of each. Modes of every vendor are in child.h.
//
//   twice             {"seen":.., "again":..}
//   count-of-nothing  {"result":CODE,"count":N,"others":{FUNCTION:CODE}}: cudaGetDeviceCount, with a count of -7
//                     before; and other calls that need a device
//   null-count        {"result":CODE}: cudaGetDeviceCount(nullptr)
//   select            {"inside":[{"set","get","ordinal","uuid"}]}: each device in a separate thread; creates contexts
//   set-device N      {"result":CODE}: cudaSetDevice(N)
//   bus-ids           {"round":[{"id","result","ordinal","meant"}], "bad":{TEXT:CODE}, "odd":{TEXT:CODE}}:
//                     "round": each id in each of its forms; "bad": texts that name no device; "odd": ids with
//                     one letter changed
//   bus-id-rooms      {"rooms":[{"room","needed","result","beyond"}]}: cudaDeviceGetPCIBusId of device 0 with
//                     each buffer size; "beyond": true if it wrote past the end
//   attributes        {"devices":[[{"name","attribute","property"}]]}
//   peers             {"pairs":[[{"result","reachable"}]], "outside":{"-1","N"}, "null":CODE}
//   enable-peers      {"pairs":[[{"reachable","enabled":CODE}]]}; creates contexts
//   fork              {"before":CODE, "after":CODE|"hang"|"signal:N"}: of cudaFree(nullptr), then of
//                     cudaMalloc in the child of a fork; creates a context
//   allocate BYTES    {"result":CODE,"uuid","before":{UUID:BYTES},"after":{..}}; creates a context
//   management        {"devices":[{"uuid","pci","memory","minor"}]}; minor: -1 and memory: null if NVML lacks the value
//   management-names NAMES  {"names":[{"name","meant","result","uuid"}]}: nvmlDeviceGetHandleByUUID of each of
//                     NAMES, and of names that no device has; "meant" is the device that the name must find,
//                     or ""
//   level-zero        {"seen":.., "level_zero":ENUMERATION}
//   speed             {"devices":[{"uuid","speed"}]}: multiprocessors times clock
//
// If a document has "problem", it is the reason for which the check is skipped.
#include "suites/visibility/child.h"

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/words.h"
#include "suites/accel/xpu/level_zero.h"
#include "suites/visibility/cuda/enumerate_cuda.h"
#include "suites/visibility/cuda/nvml.h"
#include "suites/visibility/enumerate_level_zero.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

std::string name(cudaError_t result) { return cudaGetErrorName(result); }

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

// A value that the runtime reports in two ways: cudaDeviceGetAttribute and a member of cudaDeviceProp.
struct Attribute {
  const char* name;
  cudaDeviceAttr attribute;
  std::int64_t (*property)(const cudaDeviceProp&);
};
#define ATTRIBUTE(attribute, member)                                                \
  {                                                                                 \
#attribute, cudaDevAttr##attribute,                                             \
        [](const cudaDeviceProp& p) { return static_cast<std::int64_t>(p.member); } \
  }
constexpr Attribute kAttributes[] = {
    ATTRIBUTE(MaxThreadsPerBlock, maxThreadsPerBlock),
    ATTRIBUTE(MaxBlockDimX, maxThreadsDim[0]),
    ATTRIBUTE(MaxBlockDimY, maxThreadsDim[1]),
    ATTRIBUTE(MaxBlockDimZ, maxThreadsDim[2]),
    ATTRIBUTE(MaxGridDimX, maxGridSize[0]),
    ATTRIBUTE(MaxGridDimY, maxGridSize[1]),
    ATTRIBUTE(MaxGridDimZ, maxGridSize[2]),
    ATTRIBUTE(MaxSharedMemoryPerBlock, sharedMemPerBlock),
    ATTRIBUTE(TotalConstantMemory, totalConstMem),
    ATTRIBUTE(WarpSize, warpSize),
    ATTRIBUTE(MaxPitch, memPitch),
    ATTRIBUTE(MaxRegistersPerBlock, regsPerBlock),
    ATTRIBUTE(TextureAlignment, textureAlignment),
    ATTRIBUTE(TexturePitchAlignment, texturePitchAlignment),
    ATTRIBUTE(SurfaceAlignment, surfaceAlignment),
    ATTRIBUTE(MultiProcessorCount, multiProcessorCount),
    ATTRIBUTE(Integrated, integrated),
    ATTRIBUTE(CanMapHostMemory, canMapHostMemory),
    ATTRIBUTE(MaxTexture1DWidth, maxTexture1D),
    ATTRIBUTE(MaxTexture2DWidth, maxTexture2D[0]),
    ATTRIBUTE(MaxTexture2DHeight, maxTexture2D[1]),
    ATTRIBUTE(MaxTexture3DWidth, maxTexture3D[0]),
    ATTRIBUTE(MaxTexture3DHeight, maxTexture3D[1]),
    ATTRIBUTE(MaxTexture3DDepth, maxTexture3D[2]),
    ATTRIBUTE(ConcurrentKernels, concurrentKernels),
    ATTRIBUTE(EccEnabled, ECCEnabled),
    ATTRIBUTE(PciBusId, pciBusID),
    ATTRIBUTE(PciDeviceId, pciDeviceID),
    ATTRIBUTE(PciDomainId, pciDomainID),
    ATTRIBUTE(TccDriver, tccDriver),
    ATTRIBUTE(GlobalMemoryBusWidth, memoryBusWidth),
    ATTRIBUTE(L2CacheSize, l2CacheSize),
    ATTRIBUTE(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor),
    ATTRIBUTE(AsyncEngineCount, asyncEngineCount),
    ATTRIBUTE(UnifiedAddressing, unifiedAddressing),
    ATTRIBUTE(ComputeCapabilityMajor, major),
    ATTRIBUTE(ComputeCapabilityMinor, minor),
    ATTRIBUTE(StreamPrioritiesSupported, streamPrioritiesSupported),
    ATTRIBUTE(GlobalL1CacheSupported, globalL1CacheSupported),
    ATTRIBUTE(LocalL1CacheSupported, localL1CacheSupported),
    ATTRIBUTE(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor),
    ATTRIBUTE(MaxRegistersPerMultiprocessor, regsPerMultiprocessor),
    ATTRIBUTE(ManagedMemory, managedMemory),
    ATTRIBUTE(IsMultiGpuBoard, isMultiGpuBoard),
    ATTRIBUTE(MultiGpuBoardGroupID, multiGpuBoardGroupID),
    ATTRIBUTE(HostNativeAtomicSupported, hostNativeAtomicSupported),
    ATTRIBUTE(PageableMemoryAccess, pageableMemoryAccess),
    ATTRIBUTE(ConcurrentManagedAccess, concurrentManagedAccess),
    ATTRIBUTE(ComputePreemptionSupported, computePreemptionSupported),
    ATTRIBUTE(CanUseHostPointerForRegisteredMem, canUseHostPointerForRegisteredMem),
    ATTRIBUTE(CooperativeLaunch, cooperativeLaunch),
    ATTRIBUTE(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin),
    ATTRIBUTE(PageableMemoryAccessUsesHostPageTables, pageableMemoryAccessUsesHostPageTables),
    ATTRIBUTE(DirectManagedMemAccessFromHost, directManagedMemAccessFromHost),
    ATTRIBUTE(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor),
    ATTRIBUTE(MaxPersistingL2CacheSize, persistingL2CacheMaxSize),
    ATTRIBUTE(MaxAccessPolicyWindowSize, accessPolicyMaxWindowSize),
    ATTRIBUTE(ReservedSharedMemoryPerBlock, reservedSharedMemPerBlock),
};
#undef ATTRIBUTE

json seen() { return {{"seen", to_json(enumerate_cuda())}}; }

void set_variable(const Arguments& arguments) { setenv(arguments.at(1).c_str(), arguments.at(2).c_str(), 1); }

json null_count() {
  device_count();  // A first call that succeeds.
  return {{"result", name(cudaGetDeviceCount(nullptr))}};
}

json count_of_nothing() {
  int count = -7;
  const auto result = cudaGetDeviceCount(&count);
  int device = 0;
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  cudaDeviceProp properties{};
  cudaPointerAttributes attributes{};
  const json others = {{"cudaGetDevice", name(cudaGetDevice(&device))},
                       {"cudaGetDeviceProperties", name(cudaGetDeviceProperties(&properties, 0))},
                       {"cudaChooseDevice", name(cudaChooseDevice(&device, &properties))},
                       {"cudaDeviceGetByPCIBusId", name(cudaDeviceGetByPCIBusId(&device, "0000:04:00.0"))},
                       {"cudaPointerGetAttributes", name(cudaPointerGetAttributes(&attributes, &count))},
                       {"cudaMalloc", name(cudaMalloc(&memory, 64))},
                       {"cudaStreamCreate", name(cudaStreamCreate(&stream))}};
  return {{"result", name(result)}, {"count", count}, {"others", others}};
}

json select_one(int ordinal) {
  json answer;
  std::thread([&] {
    int current = -1;
    cudaDeviceProp properties{};
    answer["set"] = name(cudaSetDevice(ordinal));
    answer["get"] = name(cudaGetDevice(&current));
    answer["ordinal"] = current;
    cudaGetDeviceProperties(&properties, current);
    answer["uuid"] = uuid_text(properties.uuid);
  }).join();
  int elsewhere = -1;
  cudaGetDevice(&elsewhere);
  answer["elsewhere"] = elsewhere;
  return answer;
}

json select() {
  const int count = device_count();
  json inside = json::array();
  for (int i = 0; i < count; ++i) inside.push_back(select_one(i));
  return {{"inside", inside}};
}

json answers_to(const std::vector<std::string>& bus_ids) {
  json answers;
  for (const std::string& text : bus_ids) {
    int ordinal = -1;
    answers[text] = name(cudaDeviceGetByPCIBusId(&ordinal, text.c_str()));
  }
  return answers;
}

json bus_ids() {
  json round = json::array();
  std::vector<std::string> odd;
  for (int i = 0; i < device_count(); ++i) {
    char reported[32] = {};
    const auto asked = cudaDeviceGetPCIBusId(reported, sizeof reported, i);
    const std::string id = reported;
    if (asked != cudaSuccess) {
      round.push_back({{"id", id}, {"result", name(asked)}, {"ordinal", -1}, {"meant", i}});
      continue;
    }
    const auto domain = id.find(':') + 1;
    std::vector<std::string> forms = {id, id.substr(0, id.find('.'))};
    // An address without a domain is in domain 0.
    if (std::stoul(id, nullptr, 16) == 0) forms.push_back(id.substr(domain));
    for (const std::string& form : forms) {
      int ordinal = -1;
      const auto result = cudaDeviceGetByPCIBusId(&ordinal, form.c_str());
      round.push_back({{"id", form}, {"result", name(result)}, {"ordinal", ordinal}, {"meant", i}});
    }
    const auto place = id.substr(domain);
    for (const std::string& text : {id + "z", id.substr(0, id.find('.')) + "z", place + "z",
                                    place.substr(0, place.find('.')), ":" + place})
      odd.push_back(text);
  }
  return {{"round", round}, {"bad", answers_to({"", "card", "ffff:ff:1f.7"})}, {"odd", answers_to(odd)}};
}

json bus_id_rooms() {
  constexpr char kUntouched = 'x';
  std::string whole(32, kUntouched);
  cudaDeviceGetPCIBusId(whole.data(), static_cast<int>(whole.size()), 0);
  const auto needed = static_cast<int>(std::strlen(whole.c_str())) + 1;
  json rooms = json::array();
  for (int room = 1; room <= needed + 1; ++room) {
    std::string text(64, kUntouched);
    const auto result = cudaDeviceGetPCIBusId(text.data(), room, 0);
    const bool beyond = text.find_first_not_of(kUntouched, static_cast<std::size_t>(room)) != text.npos;
    rooms.push_back({{"room", room}, {"needed", needed}, {"result", name(result)}, {"beyond", beyond}});
  }
  return {{"rooms", rooms}};
}

// The attributes that the driver supports.
json attributes() {
  json devices = json::array();
  for (int i = 0; i < device_count(); ++i) {
    cudaDeviceProp properties{};
    cudaGetDeviceProperties(&properties, i);
    json all = json::array();
    for (const auto& [attribute_name, attribute, property] : kAttributes) {
      int value = 0;
      if (cudaDeviceGetAttribute(&value, attribute, i) != cudaSuccess) continue;
      all.push_back({{"name", attribute_name}, {"attribute", value}, {"property", property(properties)}});
    }
    devices.push_back(all);
  }
  return {{"devices", devices}};
}

json peer(int from, int to) {
  int reachable = -1;
  const auto result = cudaDeviceCanAccessPeer(&reachable, from, to);
  return {{"result", name(result)}, {"reachable", reachable}};
}

json peers() {
  const int count = device_count();
  json pairs = json::array();
  for (int from = 0; from < count; ++from) {
    json row = json::array();
    for (int to = 0; to < count; ++to) row.push_back(peer(from, to));
    pairs.push_back(row);
  }
  return {{"pairs", pairs},
          {"outside", {{"-1", peer(0, -1)["result"]}, {"N", peer(0, count)["result"]}}},
          {"null", name(cudaDeviceCanAccessPeer(nullptr, 0, count > 1 ? 1 : 0))}};
}

json enable_peers() {
  const int count = device_count();
  json pairs = json::array();
  for (int from = 0; from < count; ++from) {
    json row = json::array();
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      cudaSetDevice(from);
      row.push_back(
          {{"reachable", peer(from, to)["reachable"]}, {"enabled", name(cudaDeviceEnablePeerAccess(to, 0))}});
    }
    pairs.push_back(row);
  }
  return {{"pairs", pairs}};
}

// The code goes through a pipe, because it does not fit into an exit status.
json forked() {
  json answer = {{"before", name(cudaFree(nullptr))}};
  int pipes[2];
  if (pipe(pipes) != 0) return answer;
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);  // A hang is a valid result.
    signal(SIGALRM, SIG_DFL);
    void* memory = nullptr;
    const int code = cudaMalloc(&memory, 256);
    _exit(write(pipes[1], &code, sizeof code) == sizeof code ? 0 : 1);
  }
  close(pipes[1]);
  int code = 0;
  const bool reported = child > 0 && read(pipes[0], &code, sizeof code) == sizeof code;
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (reported) {
    answer["after"] = name(static_cast<cudaError_t>(code));
  } else {
    answer["after"] = WTERMSIG(status) == SIGALRM ? "hang" : "signal:" + std::to_string(WTERMSIG(status));
  }
  return answer;
}

json allocate(std::size_t bytes) {
  std::string why;
  const auto nvml = Nvml::load(why);
  if (!nvml) return {{"problem", why}};
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, 0);
  cudaFree(nullptr);  // Creates the context, which itself takes memory.
  json answer = {{"uuid", uuid_text(properties.uuid)}, {"before", nvml->used()}};
  void* memory = nullptr;
  answer["result"] = name(cudaMalloc(&memory, bytes));
  cudaDeviceSynchronize();
  answer["after"] = nvml->used();
  return answer;
}

json management() {
  std::string why;
  const auto nvml = Nvml::load(why);
  if (!nvml) return {{"problem", why}};
  return {{"devices", nvml->devices()}};
}

json management_names(const std::string& uuids) {
  std::string why;
  const auto nvml = Nvml::load(why);
  if (!nvml) return {{"problem", why}};
  json names = json::array();
  const auto ask = [&](const std::string& name, const std::string& meant) {
    auto answer = nvml->device_named(name);
    answer["name"] = name;
    answer["meant"] = meant;
    names.push_back(std::move(answer));
  };
  for (const std::string_view each : split(uuids, ',')) {
    const std::string uuid(each);
    ask(uuid, uuid);
    for (const std::size_t length : {uuid.size() - 1, std::size_t{12}, std::size_t{4}, std::size_t{0}})
      ask(uuid.substr(0, length), "");
    ask(uuid + "0", "");
    std::string wrong = uuid;
    wrong.back() = wrong.back() == '0' ? 'g' : '0';
    ask(wrong, "");
  }
  return {{"names", names}};
}

json level_zero() {
  json answer = seen();
  std::string why;
  const auto ze = xpu::load_level_zero(why);
  Enumeration none;
  none.init = std::string("library_missing:") + xpu::kLoaderName;
  answer["level_zero"] = to_json(ze ? enumerate_level_zero(*ze) : none);
  return answer;
}

json speed() {
  json devices = json::array();
  for (int i = 0; i < device_count(); ++i) {
    cudaDeviceProp properties{};
    int kilohertz = 0;
    cudaGetDeviceProperties(&properties, i);
    cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, i);
    devices.push_back({{"uuid", uuid_text(properties.uuid)},
                       {"speed", std::int64_t{properties.multiProcessorCount} * kilohertz}});
  }
  return {{"devices", devices}};
}

constexpr Mode kModes[] = {{"enumerate"},
                           {"enumerate-after-setenv", 2},
                           {"hold"},
                           {"setenv-after-init", 2},
                           {"grandchild"},
                           {"twice"},
                           {"count-of-nothing"},
                           {"null-count"},
                           {"select"},
                           {"set-device", 1},
                           {"bus-ids"},
                           {"bus-id-rooms"},
                           {"attributes"},
                           {"peers"},
                           {"enable-peers"},
                           {"fork"},
                           {"allocate", 1},
                           {"management"},
                           {"management-names", 1},
                           {"level-zero"},
                           {"speed"}};

}  // namespace

std::span<const Mode> modes() { return kModes; }

json answer_of(const Arguments& arguments) {
  const std::string& mode = arguments[0];
  if (mode == "enumerate" || mode == "hold") return seen();
  if (mode == "enumerate-after-setenv") {
    set_variable(arguments);
    return seen();
  }
  if (mode == "setenv-after-init") {
    const auto first = enumerate_cuda();
    set_variable(arguments);
    return {{"seen", to_json(first)}, {"again", to_json(enumerate_cuda())}};
  }
  if (mode == "twice") {
    const auto first = enumerate_cuda();
    return {{"seen", to_json(first)}, {"again", to_json(enumerate_cuda())}};
  }
  if (mode == "count-of-nothing") return count_of_nothing();
  if (mode == "null-count") return null_count();
  if (mode == "select") return select();
  if (mode == "set-device") return {{"result", name(cudaSetDevice(std::stoi(arguments[1])))}};
  if (mode == "bus-ids") return bus_ids();
  if (mode == "bus-id-rooms") return bus_id_rooms();
  if (mode == "attributes") return attributes();
  if (mode == "peers") return peers();
  if (mode == "enable-peers") return enable_peers();
  if (mode == "fork") return forked();
  if (mode == "allocate") return allocate(std::stoull(arguments[1]));
  if (mode == "management") return management();
  if (mode == "management-names") return management_names(arguments[1]);
  if (mode == "level-zero") return level_zero();
  return speed();
}

}  // namespace proctor::visibility
