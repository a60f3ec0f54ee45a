// What a child of the suite answers. The modes of every vendor are in child.h, these are CUDA's:
//
//   twice             {"seen":.., "again":..}
//   count-of-nothing  {"result":CODE,"count":N}: cudaGetDeviceCount, its answer set to -7 before
//   null-count        {"result":CODE}: cudaGetDeviceCount(nullptr)
//   select            {"inside":[{"set","get","ordinal","uuid"}]}: each in a thread of its own;
//                     "first":CODE, "outside":{"-1":CODE,"N":CODE}: cudaSetDevice(0), (-1), (N)
//   bus-ids           {"round":[{"id","result","ordinal"}], "bad":{TEXT:CODE}}
//   peers             {"pairs":[[{"result","reachable"}]], "outside":{"-1","N"}, "null":CODE}
//   enable-peers      {"pairs":[[{"reachable","enabled":CODE}]]}; makes contexts
//   fork              {"before":CODE, "after":CODE|"hang"|"signal:N"}: of cudaFree(nullptr), then of
//                     cudaMalloc in the child of a fork; makes a context
//   allocate BYTES    {"result":CODE,"uuid","before":{UUID:BYTES},"after":{..}}; makes a context
//   management        {"devices":[{"uuid","pci","memory"}]}
//   level-zero        {"seen":.., "level_zero":ENUMERATION}
//   speed             {"devices":[{"uuid","speed"}]}: multiprocessors times clock
//
// "problem" in a document is why the check is skipped.
#include "suites/visibility/child.h"

#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

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

json seen() { return {{"seen", to_json(enumerate_cuda())}}; }

void set_variable(const Arguments& arguments) { setenv(arguments.at(1).c_str(), arguments.at(2).c_str(), 1); }

json null_count() {
  device_count();  // a first call that works
  return {{"result", name(cudaGetDeviceCount(nullptr))}};
}

json count_of_nothing() {
  int count = -7;
  const auto result = cudaGetDeviceCount(&count);
  return {{"result", name(result)}, {"count", count}};
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
  return {{"inside", inside},
          {"first", name(cudaSetDevice(0))},
          {"outside", {{"-1", name(cudaSetDevice(-1))}, {"N", name(cudaSetDevice(count))}}}};
}

json bus_ids() {
  json round = json::array();
  for (int i = 0; i < device_count(); ++i) {
    char id[32] = {};
    int ordinal = -1;
    cudaDeviceGetPCIBusId(id, sizeof id, i);
    const auto result = cudaDeviceGetByPCIBusId(&ordinal, id);
    round.push_back({{"id", id}, {"result", name(result)}, {"ordinal", ordinal}});
  }
  json bad;
  for (const char* text : {"", "card", "ffff:ff:1f.7"}) {
    int ordinal = -1;
    bad[text] = name(cudaDeviceGetByPCIBusId(&ordinal, text));
  }
  return {{"round", round}, {"bad", bad}};
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

// The code goes through a pipe: an exit status has no room for it.
json forked() {
  json answer = {{"before", name(cudaFree(nullptr))}};
  int pipes[2];
  if (pipe(pipes) != 0) return answer;
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);  // a hang is an answer, too
    signal(SIGALRM, SIG_DFL);
    void* memory = nullptr;
    const int code = cudaMalloc(&memory, 256);
    _exit(write(pipes[1], &code, sizeof code) == sizeof code ? 0 : 1);
  }
  close(pipes[1]);
  int code = 0;
  const bool told = child > 0 && read(pipes[0], &code, sizeof code) == sizeof code;
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (told) {
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
  cudaFree(nullptr);  // the context itself takes memory
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
                           {"bus-ids"},
                           {"peers"},
                           {"enable-peers"},
                           {"fork"},
                           {"allocate", 1},
                           {"management"},
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
  if (mode == "bus-ids") return bus_ids();
  if (mode == "peers") return peers();
  if (mode == "enable-peers") return enable_peers();
  if (mode == "fork") return forked();
  if (mode == "allocate") return allocate(std::stoull(arguments[1]));
  if (mode == "management") return management();
  if (mode == "level-zero") return level_zero();
  return speed();
}

}  // namespace proctor::visibility
