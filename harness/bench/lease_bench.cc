// Benchmarks acquiring and releasing an uncontended device lease. `./dev bench` runs it.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>

#include "harness/devices/leases/lease.h"

namespace proctor {
namespace {

void lease_take_and_release(benchmark::State& state) {
  const std::string path = "/dev/shm/proctor-bench-" + std::to_string(::getpid());
  auto directory = LeaseDirectory::open(path);
  if (!directory) return state.SkipWithError(directory.error().what.c_str());
  for (auto _ : state) {
    auto taken = directory->take("xpu:0000:03:00.0", {.run = "bench", .command = "case"});
    auto* lease = taken ? std::get_if<Lease>(&*taken) : nullptr;
    if (lease == nullptr || !lease->mark_clean()) {
      state.SkipWithError("failed to take an uncontended lease");
      break;
    }
  }
  std::filesystem::remove_all(path);
}
BENCHMARK(lease_take_and_release)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace proctor

BENCHMARK_MAIN();
