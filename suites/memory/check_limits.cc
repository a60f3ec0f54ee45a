// The end of host memory, and more shared memory than the device has: a refused request gets a code that says
// so, and memory from before keeps its bytes.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "suites/accel/check_fixture.h"
#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kHostMemory = by_vendor("Level Zero specification, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
                                              "CUDA Runtime API, cudaHostAlloc");
constexpr const char* kOvercommit =
    by_vendor("oneapi-src/level-zero-tests, test_memory_overcommit", "ROCm/hip-tests, hipHmmOvrSubscription");
constexpr std::size_t kPiece = 32 << 20;
constexpr std::size_t kPage = 4096;

std::uint64_t address_space_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t available_host_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

// While it lives. "memlock": nothing may be locked. "address_space": room for three pieces and a bit.
class HostLimit {
 public:
  explicit HostLimit(const std::string& which) : kind_(which == "memlock" ? RLIMIT_MEMLOCK : RLIMIT_AS) {
    getrlimit(kind_, &before_);
    set({kind_ == RLIMIT_MEMLOCK ? 0 : address_space_in_use() + 4 * kPiece, before_.rlim_max});
  }
  ~HostLimit() { setrlimit(kind_, &before_); }
  HostLimit(const HostLimit&) = delete;
  HostLimit& operator=(const HostLimit&) = delete;

 private:
  void set(const rlimit& limit) const {
    if (setrlimit(kind_, &limit) != 0) suite::fail_because("setup", "setrlimit");
  }

  decltype(RLIMIT_AS) kind_;
  rlimit before_{};
};

// Pieces of memory, the first page of each with contents of its own.
struct Pieces {
  void take(const Context& context, MemoryKind kind, std::size_t bytes, std::size_t most) {
    while (status.ok() && buffers.size() < most) {
      Buffer next;
      status = Buffer::try_allocate(context, {.kind = kind, .bytes = bytes}, next);
      if (!status.ok()) return;
      const auto contents = noise(kPage, buffers.size());
      std::copy(contents.begin(), contents.end(), next.data());
      buffers.push_back(std::move(next));
    }
  }
  bool kept() const {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const auto contents = noise(kPage, i);
      if (!std::equal(contents.begin(), contents.end(), buffers[i].data())) return false;
    }
    return true;
  }

  std::vector<Buffer> buffers{};
  Status status{};
};

PROCTOR_HELPER(limited_host_memory) {
  const auto context = leased();
  Queue queue(context);
  const auto there =
      device_copy(queue, context, noise(kPage, 7));  // threads and staging exist before the limit
  Pieces pieces;
  {
    const HostLimit limit(words.at(0));
    pieces.take(context, MemoryKind::kHost, kPiece, 8);
  }
  const bool kept = pieces.kept();
  const auto had = pieces.buffers.size();
  pieces.buffers.clear();
  const Buffer small = host_memory(context, kPage);
  queue.copy(small.data(), there.data(), kPage);
  queue.synchronize();
  const auto expected = noise(kPage, 7);
  suite::answer({{"status", pieces.status.name()},
                 {"refused", !pieces.status.ok()},
                 {"out_of_memory", pieces.status.out_of_memory()},
                 {"pieces", had},
                 {"kept", kept},
                 {"works", std::equal(expected.begin(), expected.end(), small.data())}});
}

// Whether the limit was met at all.
bool expect_clean_end(const std::string& limit) {
  Helper helper("limited_host_memory", {limit});
  const auto answer = helper.answer();
  const auto code = answer.at("status").get<std::string>();
  const bool refused = answer.at("refused").get<bool>();
  expect_true(!refused || answer.at("out_of_memory").get<bool>(),
              "a refusal says out of memory, it says " + code);
  expect_true(answer.at("kept").get<bool>(), "what was had before keeps its bytes");
  expect_true(answer.at("works").get<bool>(), "a small piece works afterwards");
  return refused;
}

}  // namespace

// Whether locked memory counts is the driver's choice: Intel's does not use it.
PROCTOR_CHECK(Limit, LockedMemoryEndsCleanly, "M31", kHostMemory, kGate,
              {"memory.corrupt_copy:at=17,after=1,times=1", "copy.skip:after=1"}) {
  step("given a second process that may lock no memory and takes 256 MiB of the host's");
  expect_clean_end("memlock");
}

// Where a driver has its addresses from before, nothing ends; no document says what a process with a limit may expect.
PROCTOR_CHECK(Limit, AddressSpaceEndsCleanly, "M31", kHostMemory, suite::kWarn,
              by_vendor<Texts>({"error.wrong_code:err=0x78000004,api=zeMemAllocHost"},
                               {"error.wrong_code:err=1,api=cudaHostAlloc"})) {
  step("given a second process whose addresses end before 256 MiB of host memory");
  const bool met = expect_clean_end("address_space");
  if (suite::on_simgpu()) expect_true(met, "the limit is met");
}

// Either answer is right: a driver may move what does not fit, or refuse it. Only on a machine that could
// hold all of it, and never more than that.
PROCTOR_CHECK(Limit, MoreSharedMemoryThanTheDeviceHas, "M36", kOvercommit, kGate,
              {"alloc.double_use", by_vendor("error.wrong_code:err=0x78000004,api=zeMemAllocShared",
                                             "error.wrong_code:err=1,api=cudaMallocManaged")}) {
  const auto context = leased();
  need(!MemoryCap::of_process().is_set(), kNeedsNoCap);  // it ends far below what the device has
  need(context.device().properties().shared_memory, "unsupported:shared_memory");
  const std::uint64_t wanted = available_memory(context.device()) / 4 * 5;
  const std::uint64_t piece = std::min(context.device().properties().largest_allocation, wanted / 16);
  need(suite::on_simgpu() || wanted < available_host_memory() / 2, "needs:host_memory");
  step("given shared memory of five quarters of what is free, in pieces of " + std::to_string(piece));
  Pieces pieces;
  pieces.take(context, MemoryKind::kShared, piece, wanted / piece);
  suite::measure("memory.shared_reachable", static_cast<double>(pieces.buffers.size() * piece), "B");
  expect_true(pieces.status.ok() || pieces.status.out_of_memory(),
              "a refusal says out of memory, it says " + pieces.status.name());
  expect_true(!pieces.buffers.empty(), "some of it can be had");
  expect_true(pieces.kept(), "every piece keeps its bytes");
}

}  // namespace proctor::accel
