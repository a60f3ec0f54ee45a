// Blocks work of CUDA streams of any kind, for checks.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"

namespace proctor::accel {

template <typename... T>
void launch(const Kernel& kernel, cudaStream_t stream, unsigned groups, unsigned group, T... values) {
  void* arguments[] = {&values...};
  CUDA_CALL(cudaLaunchKernel, native(kernel), dim3(groups), dim3(group), arguments, 0, stream).or_throw();
}

// A latch for streams of any kind: a kernel that waits for the host. Its keeper opens it after a time limit.
struct StreamLatch {
  explicit StreamLatch(const Context& context)
      : module(Module::load(context, "litmus")),
        kernel(module, "gate"),
        flags(closed_flags(context)),
        keeper(flags.as<std::uint32_t>()[0]) {}
  ~StreamLatch() { open(); }
  void hold(cudaStream_t stream) const {
    launch(kernel, stream, 1, 1, flags.data(), flags.data() + 64, kStyles);
  }
  void open() const { keeper.open(); }
  // Returns 1 if the latch was opened in time.
  std::uint32_t done() const {
    return std::atomic_ref(flags.as<std::uint32_t>()[16]).load(std::memory_order_acquire);
  }

  static constexpr std::uint64_t kStyles = 2'000'000'000;
  Module module;
  Kernel kernel;
  Buffer flags;
  mutable LatchKeeper keeper;  // mutable, because opening does not change the logical state
};

// Opens the latch after a delay. A wait that does not really wait returns before that.
class Later {
 public:
  explicit Later(const StreamLatch& latch)
      : thread_([&latch] {
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          latch.open();
        }) {}

 private:
  std::jthread thread_;
};

// Returns whether the stream has no work left, immediately or within `patience`.
inline bool poll_done(cudaStream_t stream,
                      std::chrono::milliseconds patience = std::chrono::milliseconds(200)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const Status status = CUDA_CALL(cudaStreamQuery, stream);
    if (!status.not_ready()) {
      status.or_throw();
      return true;
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
}

}  // namespace proctor::accel
