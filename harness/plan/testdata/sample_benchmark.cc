// A Google Benchmark program with difficult lists and results. It prints other text around the list. Names
// contain every special character. There are repetitions and counters, and benchmarks that fail, crash, hang,
// exit and leak. These variables change the whole program:
//
//   SAMPLE_TWICE  two benchmarks of one name      SAMPLE_LIST  behaviour instead of a list: crash, none
//   SAMPLE_EXIT   the exit code                   SAMPLE_FILE  damage of the result file: none, empty,
//   SAMPLE_ALL    ignores the filter                           broken, other (figures of another benchmark)
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using benchmark::State;

void spin(State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
}

template <typename A, typename B>
void typed(State& state) {
  spin(state);
}

void counted(State& state) {
  spin(state);
  state.SetItemsProcessed(state.iterations() * 3);
  state.SetBytesProcessed(state.iterations() * 4096);
  state.counters["seven"] = 7;
  state.SetLabel("a label: NaN, \"Infinity\"");
}

void complex(State& state) {
  spin(state);
  state.SetComplexityN(state.range(0));
}

// Each repetition reports a different counter. Only repetitions of one benchmark share this state.
void varied(State& state) {
  static int repetition = 0;
  spin(state);
  state.counters["which"] = ++repetition;
}

void fails_the_second_time(State& state) {
  static int repetition = 0;
  if (++repetition == 2) state.SkipWithError("the second time");
  spin(state);
}

void fails(State& state) {
  state.SkipWithError("no \"card\"\nat all");
  spin(state);
}

void not_a_number(State& state) {
  spin(state);
  state.counters["share"] = std::nan("");
  state.counters["speed"] = HUGE_VAL;
}

void crashes(State& state) {
  for (auto _ : state) std::raise(SIGSEGV);
}

void hangs(State& state) {
  for (auto _ : state) pause();
}

void leaves(State& state) {
  for (auto _ : state) std::exit(0);
}

// The child lives until another process kills it.
void leaks(State& state) {
  if (fork() == 0) {
    pause();
    _exit(0);
  }
  spin(state);
}

void add(const std::string& name, void (*function)(State&) = spin) {
  benchmark::RegisterBenchmark(name.c_str(), function)->Iterations(10);
}

BENCHMARK(spin);
BENCHMARK(spin)->Name("sized")->Arg(8)->Arg(64)->Iterations(10)->UseRealTime();
BENCHMARK_TEMPLATE(typed, unsigned int, std::pair<int, char>)->Iterations(10);
BENCHMARK(spin)->Name("threads")->Threads(4)->Iterations(10);
BENCHMARK(varied)->Repetitions(4)->Iterations(10)->Unit(benchmark::kMicrosecond);
BENCHMARK(varied)->Name("withheld")->Repetitions(4)->Iterations(10)->ReportAggregatesOnly(true);
BENCHMARK(complex)->Repetitions(2)->Range(8, 64)->Iterations(10)->Complexity();

void add_others() {
  add("counted", counted);
  add("two words");  // a name with a blank, between names without one
  add(R"(every.[\()*+?{|^$ sign]})");
  add("comma,quote\"d blank\"'/a:b=c;d&e%f#g!h~i`j@k-l_m");
  add("caf\xc3\xa9/\xf0\x9f\x98\x80");
  add("prefix");
  add("prefix_and_more");
  add("fails", fails);
  add("fails_the_second_time", fails_the_second_time);
  benchmark::RegisterBenchmark("fails_the_second_time_of_three", fails_the_second_time)
      ->Repetitions(3)
      ->Iterations(10);
  add("not_a_number", not_a_number);
  add("crashes", crashes);
  add("hangs", hangs);
  add("leaves", leaves);
  add("leaks", leaks);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Damages the result file, as a program with its own main() can do.
void spoil(const std::string& file) {
  const std::string how = variable("SAMPLE_FILE");
  if (how == "none") std::remove(file.c_str());
  if (how == "empty") std::ofstream(file).flush();
  if (how == "broken") std::ofstream(file) << R"({"benchmarks": [{"name": "spin", )";
  if (how == "other")
    std::ofstream(file) << R"({"benchmarks": [{"run_name": "sized/8", "run_type": "iteration",
                                               "iterations": 1, "real_time": 1, "time_unit": "ns"}]})";
}

}  // namespace

int main(int argc, char** argv) {
  std::puts("Loading the driver.");
  std::fputs("from_stderr\n", stderr);
  std::string file;
  bool lists = false;
  for (const std::string& word : std::vector<std::string>(argv, argv + argc)) {
    const std::string option = "--benchmark_out=";
    if (word.rfind(option, 0) == 0) file = word.substr(option.size());
    lists = lists || word == "--benchmark_list_tests=true";
  }
  if (lists && variable("SAMPLE_LIST") == "crash") std::raise(SIGSEGV);
  if (lists && variable("SAMPLE_LIST") == "none") return 0;
  add_others();
  if (!variable("SAMPLE_TWICE").empty()) add("prefix");
  benchmark::Initialize(&argc, argv);
  if (argc > 1) return 4;
  if (variable("SAMPLE_ALL").empty())
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(nullptr, nullptr, lists ? "^prefix/" : "^prefix");
  if (!lists) spoil(file);
  std::puts("Unloading the driver.");
  return lists ? 0 : std::atoi(variable("SAMPLE_EXIT").c_str());
}
