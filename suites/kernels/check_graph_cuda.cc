// Checks of graphs that are captured from streams. Nothing runs during the capture, and everything runs each time
// that the graph is launched.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/refusal.h"
#include "suites/kernels/counter.h"
#include "suites/main/check.h"

// The variants for programs that are compiled with the per-thread default stream. That stream can be captured.
extern "C" {
decltype(cudaMemcpy) cudaMemcpy_ptds;
decltype(cudaMemcpy2D) cudaMemcpy2D_ptds;
}

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::step;

constexpr const char* kGraphs = "CUDA Programming Guide, CUDA Graphs, Stream Capture";
constexpr const char* kCodes =
    "CUDA Runtime API, cudaErrorStreamCaptureUnsupported to cudaErrorStreamCaptureWrongThread";

void begin(const Queue& queue) {
  CUDA_CALL(cudaStreamBeginCapture, native(queue), cudaStreamCaptureModeThreadLocal).or_throw();
}

// The graph of the commands that were captured since begin(), instantiated for launches.
class Graph {
 public:
  explicit Graph(const Queue& queue) {
    CUDA_CALL(cudaStreamEndCapture, native(queue), &graph_).or_throw();
    CUDA_CALL(cudaGraphInstantiate, &runnable_, graph_, 0).or_throw();
  }
  ~Graph() {
    if (runnable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(runnable_));
    if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  cudaGraph_t graph() const { return graph_; }
  cudaGraphExec_t runnable() const { return runnable_; }
  void launch(const Queue& queue) const { CUDA_CALL(cudaGraphLaunch, runnable_, native(queue)).or_throw(); }
  // Changes this graph, so that it runs the commands of `other`.
  void update(const Graph& other) const {
    cudaGraphExecUpdateResultInfo result{};
    CUDA_CALL(cudaGraphExecUpdate, runnable_, other.graph_, &result).or_throw();
  }
  std::size_t nodes() const {
    std::size_t count = 0;
    CUDA_CALL(cudaGraphGetNodes, graph_, nullptr, &count).or_throw();
    return count;
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t runnable_ = nullptr;
};

// Ends a capture that failed on purpose.
Status end(const Queue& queue) {
  cudaGraph_t graph = nullptr;
  const Status status = CUDA_CALL(cudaStreamEndCapture, native(queue), &graph);
  if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  static_cast<void>(cudaGetLastError());
  return status;
}

}  // namespace

PROCTOR_CHECK(Graph, CaptureRunsNoWork, "K45", kGraphs, kGate, {"order.execute_captured_work"}) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context);
  step("given a capture of five kernels that is never launched");
  begin(queue);
  for (int i = 0; i < 5; ++i) counter.add_one(queue);
  const Graph graph(queue);
  queue.synchronize();
  expect_same("nodes of the graph", "5", std::to_string(graph.nodes()));
  expect_same("count", "0", std::to_string(counter.value()));
}

PROCTOR_CHECK(Graph, EachLaunchRunsEveryNode, "K45", kGraphs, kGate,
              {"order.list_runs_once", "kernel.skip:kernel=increment,after=7,times=1"}) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context);
  begin(queue);
  for (int i = 0; i < 5; ++i) counter.add_one(queue);
  const Graph graph(queue);
  step("given a graph of five kernels that is launched three times");
  for (int i = 0; i < 3; ++i) graph.launch(queue);
  queue.synchronize();
  expect_same("count", "15", std::to_string(counter.value()));
}

PROCTOR_CHECK(Graph, LaunchReplaysCopiesAndFills, "K45", kGraphs, kGate,
              {"memory.corrupt_copy:at=17,after=3,times=1", "copy.skip_fill"}) {
  const auto context = leased();
  Queue queue(context);
  const Buffer from = host_memory(context, 4096), to = host_memory(context, 4096);
  const Buffer there = device_memory(context, 8192);
  const std::byte pattern{0x5a};
  begin(queue);
  queue.fill(there.data(), {&pattern, 1}, 8192);
  queue.copy(there.data() + 2048, from.data(), 4096);
  queue.copy(to.data(), there.data(), 4096);
  const Graph graph(queue);
  step("given a graph of a fill and two copies, launched with other bytes each time");
  for (std::uint64_t round = 0; round < 4; ++round) {
    const auto sent = noise(4096, round);
    write(queue, context, from.data(), sent);
    graph.launch(queue);
    queue.synchronize();
    std::vector<std::byte> expected(4096, pattern);
    std::copy_n(sent.begin(), 2048, expected.begin() + 2048);
    expect_bytes("round " + std::to_string(round), expected, {to.data(), to.bytes()}, context.device());
  }
}

PROCTOR_CHECK(Graph, ForkedStreamsFormOneGraph, "K45", kGraphs, kGate,
              {"kernel.skip:kernel=transform", "kernel.wrong_result:kernel=transform,arg=1,at=4"}) {
  const auto context = leased();
  Queue first(context), second(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill"), transform(module, "transform");
  const Buffer words = device_memory(context, 1024);
  const auto result = device_copy(first, context, std::vector<std::uint32_t>(256));
  const Event filled(context), made(context);
  step("given a capture that a second stream joins by an event and leaves by another");
  begin(first);
  first.launch(fill, cover(256, 64), arguments(words, 5u, 256u));
  CUDA_CALL(cudaEventRecord, native(filled), native(first)).or_throw();
  CUDA_CALL(cudaStreamWaitEvent, native(second), native(filled), 0).or_throw();
  second.launch(transform, cover(256, 64), arguments(words, result, 1u, 256u));
  CUDA_CALL(cudaEventRecord, native(made), native(second)).or_throw();
  CUDA_CALL(cudaStreamWaitEvent, native(first), native(made), 0).or_throw();
  const Graph graph(first);
  graph.launch(first);
  first.synchronize();
  expect_words("words that the second stream computed", std::vector<std::uint32_t>(256, 16),
               read_as<std::uint32_t>(first, context, result), context.device());
}

PROCTOR_CHECK(Graph, UpdateChangesKernelArguments, "K45", "CUDA Runtime API, cudaGraphExecUpdate", kGate,
              {"kernel.skip:kernel=fill,after=1", "kernel.wrong_argument:kernel=fill,arg=1,after=1"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  const Buffer words = device_memory(context, 1024);
  const auto capture = [&](std::uint32_t value) {
    begin(queue);
    queue.launch(fill, cover(256, 64), arguments(words, value, 256u));
    return std::make_unique<Graph>(queue);
  };
  const auto first = capture(5), second = capture(9);
  const auto expect = [&](std::uint32_t value) {
    first->launch(queue);
    queue.synchronize();
    expect_words("words that the graph wrote", std::vector<std::uint32_t>(256, value),
                 read_as<std::uint32_t>(queue, context, words), context.device());
  };
  step("given a graph that is launched, updated to another one's arguments, and launched again");
  expect(5);
  first->update(*second);
  expect(9);
}

PROCTOR_CHECK(StreamCapture, StreamSynchronizeInvalidatesCapture, "K45", kCodes, kGate,
              {"error.wrong_code", "error.swallowed"}) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context);
  step("given a wait for a stream that captures");
  begin(queue);
  counter.add_one(queue);
  expect_status("cudaErrorStreamCaptureUnsupported", CUDA_CALL(cudaStreamSynchronize, native(queue)));
  expect_status("cudaErrorStreamCaptureInvalidated", end(queue));
  counter.add_one(queue);
  queue.synchronize();
  expect_same("number of kernels that ran after it", "1", std::to_string(counter.value()));
}

namespace {

std::vector<int> types_of(std::span<const cudaGraphNode_t> nodes) {
  std::vector<int> types;
  for (const cudaGraphNode_t node : nodes) {
    auto type = no_such<cudaGraphNodeType>();
    CUDA_CALL(cudaGraphNodeGetType, node, &type).or_throw();
    types.push_back(type);
  }
  std::ranges::sort(types);
  return types;
}

void do_nothing(void*) {}

}  // namespace

PROCTOR_CHECK(Graph, NodesMatchCapturedWork, "K45",
              "CUDA Runtime API, cudaGraphGetNodes, cudaGraphNodeGetType", kGate,
              {"error.swallowed:api=cudaGraphNodeGetType"}) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context);
  const Buffer memory = device_memory(context, 256), host = host_memory(context, 256);
  const std::byte pattern{1};
  begin(queue);
  counter.add_one(queue);
  queue.fill(memory.data(), {&pattern, 1}, 256);
  queue.copy(host.data(), memory.data(), 256);
  CUDA_CALL(cudaLaunchHostFunc, native(queue), do_nothing, nullptr).or_throw();
  const Graph graph(queue);
  step(
      "given a graph of a kernel, a fill, a copy and a function, and room for fewer, as many and more nodes");
  const auto unused = reinterpret_cast<cudaGraphNode_t>(std::uintptr_t{16});
  for (const std::size_t room : {1U, 3U, 4U, 6U}) {
    std::vector<cudaGraphNode_t> nodes(8, unused);
    std::size_t count = room;
    CUDA_CALL(cudaGraphGetNodes, graph.graph(), nodes.data(), &count).or_throw();
    const std::string what = "with room for " + std::to_string(room) + ": ";
    expect_same(what + "how many there are", std::to_string(std::min<std::size_t>(room, 4)),
                std::to_string(count));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool in_room = i < room, there = i < std::min<std::size_t>(room, 4);
      expect_same(what + "node " + std::to_string(i),
                  there     ? "a node"
                  : in_room ? "null"
                            : "untouched",
                  nodes[i] == nullptr  ? "null"
                  : nodes[i] == unused ? "untouched"
                                       : "a node");
    }
    if (room < 4) continue;
    expect_same("types of the nodes (0: kernel, 1: copy, 2: fill, 3: function)", "{0, 1, 2, 3}",
                fmt::format("{{{}}}", fmt::join(types_of(std::span(nodes).first(4)), ", ")));
    expect_status("cudaErrorInvalidValue", CUDA_CALL(cudaGraphNodeGetType, nodes[0], nullptr));
  }
  expect_same("nodes", "4", std::to_string(graph.nodes()));
}

PROCTOR_CHECK(Graph, UpdateRequiresSameTopology, "K45", "CUDA Runtime API, cudaGraphExecUpdate", kGate,
              {"error.swallowed:api=cudaGraphExecUpdate", "error.wrong_code:api=cudaGraphExecUpdate"}) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context);
  const Buffer memory = device_memory(context, 256);
  const std::byte pattern{1};
  const auto captured = [&](int kernels, bool fill) {
    begin(queue);
    for (int i = 0; i < kernels; ++i) counter.add_one(queue);
    if (fill) queue.fill(memory.data(), {&pattern, 1}, 256);
    return std::make_unique<Graph>(queue);
  };
  const auto two = captured(2, false), three = captured(3, false), mixed = captured(1, true);
  step("given graphs of another number of nodes, of other nodes, and of the same");
  const auto update = [&](const Graph& other, cudaGraphExecUpdateResult expected) {
    cudaGraphExecUpdateResultInfo info{};
    info.result = cudaGraphExecUpdateError;
    const Status status = CUDA_CALL(cudaGraphExecUpdate, two->runnable(), other.graph(), &info);
    expect_status(expected == cudaGraphExecUpdateSuccess ? kSuccess : "cudaErrorGraphExecUpdateFailure",
                  status);
    expect_same("result", std::to_string(expected), std::to_string(info.result));
    static_cast<void>(cudaGetLastError());
  };
  update(*three, cudaGraphExecUpdateErrorTopologyChanged);
  update(*mixed, cudaGraphExecUpdateErrorNodeTypeChanged);
  update(*captured(2, false), cudaGraphExecUpdateSuccess);
  two->launch(queue);
  queue.synchronize();
  expect_same("number of kernels that it runs then", "2", std::to_string(counter.value()));
}

PROCTOR_CHECK(Graph, ExecutableOutlivesSourceGraph, "K45",
              "CUDA Runtime API, cudaGraphInstantiate, cudaGraphUpload", kGate,
              {"kernel.skip:kernel=increment", "error.swallowed:api=cudaGraphUpload"}) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context);
  step("given a graph that is destroyed when it has been made ready in each way");
  std::uint32_t runs = 0;
  for (const unsigned long long flags : {0ULL, 0ULL + cudaGraphInstantiateFlagAutoFreeOnLaunch,
                                         0ULL + cudaGraphInstantiateFlagUseNodePriority}) {
    for (const bool by_flags : {false, true}) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t runnable = nullptr;
      begin(queue);
      counter.add_one(queue);
      CUDA_CALL(cudaStreamEndCapture, native(queue), &graph).or_throw();
      if (by_flags) {
        CUDA_CALL(cudaGraphInstantiateWithFlags, &runnable, graph, flags).or_throw();
      } else {
        CUDA_CALL(cudaGraphInstantiate, &runnable, graph, flags).or_throw();
      }
      expect_status(kSuccess, CUDA_CALL(cudaGraphDestroy, graph));
      for (int i = 0; i < 2; ++i)
        expect_status(kSuccess, CUDA_CALL(cudaGraphUpload, runnable, native(queue)));
      queue.synchronize();
      expect_same("count when it is uploaded", std::to_string(runs), std::to_string(counter.value()));
      for (int i = 0; i < 2; ++i) CUDA_CALL(cudaGraphLaunch, runnable, native(queue)).or_throw();
      queue.synchronize();
      runs += 2;
      expect_same("count when it has run twice", std::to_string(runs), std::to_string(counter.value()));
      expect_status(kSuccess, CUDA_CALL(cudaGraphExecDestroy, runnable));
    }
  }
  expect_status("cudaErrorInvalidValue", CUDA_CALL(cudaGraphUpload, nullptr, native(queue)));
}

PROCTOR_CHECK(StreamCapture, UnjoinedStreamFailsEndCapture, "K45", kCodes, kGate,
              {"error.wrong_code", "error.swallowed"}) {
  const auto context = leased();
  Counter counter(context);
  Queue first(context), second(context);
  const Event forked(context);
  step("given a second stream that joins a capture and does not leave it");
  begin(first);
  CUDA_CALL(cudaEventRecord, native(forked), native(first)).or_throw();
  CUDA_CALL(cudaStreamWaitEvent, native(second), native(forked), 0).or_throw();
  counter.add_one(second);
  expect_status("cudaErrorStreamCaptureUnjoined", end(first));
}

PROCTOR_CHECK(StreamCapture, SynchronousCopyInvalidatesCapture, "K45", kCodes, kGate,
              {"error.wrong_code", "error.swallowed"}) {
  const auto context = leased();
  use(context.device());
  const Buffer from = device_memory(context, 64);
  std::vector<std::byte> to(64);
  for (const bool flat : {true, false}) {
    step(std::string("given a synchronous copy of ") + (flat ? "bytes" : "rows") +
         " in the thread's stream, which captures");
    CUDA_CALL(cudaStreamBeginCapture, cudaStreamPerThread, cudaStreamCaptureModeThreadLocal).or_throw();
    expect_status("cudaErrorStreamCaptureUnsupported",
                  flat ? CUDA_CALL(cudaMemcpy_ptds, to.data(), from.data(), 64, cudaMemcpyDefault)
                       : CUDA_CALL(cudaMemcpy2D_ptds, to.data(), 8, from.data(), 8, 8, 8, cudaMemcpyDefault));
    cudaGraph_t graph = nullptr;
    expect_status("cudaErrorStreamCaptureInvalidated",
                  CUDA_CALL(cudaStreamEndCapture, cudaStreamPerThread, &graph));
    static_cast<void>(cudaGetLastError());
  }
}

PROCTOR_CHECK(Graph, EveryCopyAndFillIsCaptured, "K45", kGraphs, kGate,
              {"copy.skip", "order.execute_captured_work"}) {
  const auto context = leased();
  Queue queue(context);
  constexpr std::size_t kRow = 64, kCalls = 6;
  const Buffer from = device_memory(context, kRow), there = device_memory(context, kRow);
  const Buffer to = host_memory(context, kRow * kCalls);
  std::memset(to.data(), 0, to.bytes());
  const auto place = [&](std::size_t call) { return to.data() + call * kRow; };
  const cudaStream_t stream = native(queue);
  cudaMemcpy3DParms what{};
  what.srcPtr = {there.data(), 8, 8, 8};
  what.dstPtr = {place(2), 8, 8, 8};
  what.extent = {8, 8, 1};
  what.kind = cudaMemcpyDefault;
  step("given a graph of each kind of copy and fill, and a source that is changed before it is launched");
  begin(queue);
  CUDA_CALL(cudaMemcpyAsync, there.data(), from.data(), kRow, cudaMemcpyDeviceToDevice, stream).or_throw();
  CUDA_CALL(cudaMemcpyAsync, place(0), there.data(), kRow, cudaMemcpyDefault, stream).or_throw();
  CUDA_CALL(cudaMemcpy2DAsync, place(1), 8, there.data(), 8, 8, 8, cudaMemcpyDefault, stream).or_throw();
  CUDA_CALL(cudaMemcpy3DAsync, &what, stream).or_throw();
  CUDA_CALL(cudaMemsetAsync, place(3), 0x11, kRow, stream).or_throw();
  CUDA_CALL(cudaMemset2DAsync, place(4), 8, 0x22, 8, 8, stream).or_throw();
  CUDA_CALL(cudaMemset3DAsync, cudaPitchedPtr{place(5), 8, 8, 8}, 0x33, cudaExtent{8, 8, 1}, stream)
      .or_throw();
  const Graph graph(queue);
  queue.synchronize();
  expect_bytes("the targets before a launch", std::vector<std::byte>(to.bytes()), {to.data(), to.bytes()},
               context.device());
  for (std::uint64_t round = 0; round < 2; ++round) {
    const auto sent = noise(kRow, round);
    write(queue, context, from.data(), sent);
    graph.launch(queue);
    queue.synchronize();
    std::vector<std::byte> expected;
    for (int copies = 0; copies < 3; ++copies) expected.insert(expected.end(), sent.begin(), sent.end());
    for (const int value : {0x11, 0x22, 0x33}) expected.resize(expected.size() + kRow, std::byte(value));
    expect_bytes("the targets", expected, {to.data(), to.bytes()}, context.device());
  }
}

PROCTOR_CHECK(StreamCapture, MemoryAllocationInvalidatesCapture, "K45",
              "CUDA Runtime API, cudaThreadExchangeStreamCaptureMode: potentially unsafe calls", suite::kWarn,
              {"error.wrong_code:api=cudaMalloc*", "error.swallowed:api=cudaHostAlloc"}) {
  const auto context = leased();
  Queue queue(context);
  void *memory = nullptr, *pinned = nullptr, *out = nullptr;
  CUDA_CALL(cudaMalloc, &memory, 4096).or_throw();
  CUDA_CALL(cudaMallocHost, &pinned, 4096).or_throw();
  const std::pair<const char*, std::function<Status()>> calls[] = {
      {"cudaMalloc", [&] { return CUDA_CALL(cudaMalloc, &out, 4096); }},
      {"cudaMallocHost", [&] { return CUDA_CALL(cudaMallocHost, &out, 4096); }},
      {"cudaHostAlloc", [&] { return CUDA_CALL(cudaHostAlloc, &out, 4096, cudaHostAllocDefault); }},
      {"cudaFree", [&] { return CUDA_CALL(cudaFree, memory); }},
      {"cudaFreeHost", [&] { return CUDA_CALL(cudaFreeHost, pinned); }},
  };
  for (const auto& [name, call] : calls) {
    step(std::string("given ") + name + " while a stream captures");
    begin(queue);
    expect_status("cudaErrorStreamCaptureUnsupported", call());
    expect_status("cudaErrorStreamCaptureInvalidated", end(queue));
  }
  expect_status(kSuccess, CUDA_CALL(cudaFree, memory));
  expect_status(kSuccess, CUDA_CALL(cudaFreeHost, pinned));
}

}  // namespace proctor::accel
