// What the start of a program costs: by posix_spawn alone, as a child of ours, and as a helper whose output is
// kept. `./dev bench` compares them.
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

// In a process that holds much memory, a copy of its page tables would show.
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
