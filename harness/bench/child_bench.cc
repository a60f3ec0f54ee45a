// Benchmarks the start of a program in three ways: plain posix_spawn, ChildProcess, and run_outside_program(), which
// keeps the output. `./dev bench` compares them.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "harness/base/outside_program.h"

namespace proctor {
namespace {

constexpr const char* kProgram = "/bin/true";

void spawn_alone(benchmark::State& state) {
  char* argv[] = {const_cast<char*>(kProgram), nullptr};
  for (auto _ : state) {
    pid_t pid = 0;
    if (::posix_spawn(&pid, kProgram, nullptr, nullptr, argv, environ) != 0)
      state.SkipWithError("no /bin/true");
    ::waitpid(pid, nullptr, 0);
  }
}

void start_child(benchmark::State& state) {
  for (auto _ : state) {
    auto child = ChildProcess::start({.argv = {kProgram}});
    if (!child || child->wait().exit_code != 0) state.SkipWithError("no /bin/true");
  }
}

void run_helper(benchmark::State& state) {
  for (auto _ : state) {
    if (!run_outside_program({.argv = {kProgram}})) state.SkipWithError("no /bin/true");
  }
}

// If a start copied page tables, it would be slower in a process that holds much memory.
void run_helper_with_memory(benchmark::State& state) {
  const std::vector<char> memory(std::size_t{512} << 20, 'x');
  run_helper(state);
}

BENCHMARK(spawn_alone)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(start_child)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(run_helper)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(run_helper_with_memory)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace proctor

BENCHMARK_MAIN();
