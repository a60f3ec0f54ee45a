#include "harness/base/narrowing_variables.h"

#include <algorithm>

#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr NarrowingRow kRows[] = {
    // The dynamic loader (ld.so(8)): the libraries of a program. With LD_TRACE_LOADED_OBJECTS or
    // LD_DEBUG=help the program does not start. For some variables, presence is enough.
    {.name = "LD_*"},
    {.name = "LD_TRACE_LOADED_OBJECTS", .when_empty = true},
    {.name = "GLIBC_TUNABLES"},
    // Libraries that the CUDA driver and NVTX load into each process.
    {.name = "CUDA_INJECTION*_PATH"},
    {.name = "NVTX_INJECTION*_PATH"},

    // Sanitizers: `exitcode=0`, `detect_leaks=0`, suppressions.
    {.name = "ASAN_OPTIONS"},
    {.name = "HWASAN_OPTIONS"},
    {.name = "LSAN_OPTIONS"},
    {.name = "MSAN_OPTIONS"},
    {.name = "RTSAN_OPTIONS"},
    {.name = "TSAN_OPTIONS"},
    {.name = "UBSAN_OPTIONS"},

    // Shells: startup files, options (`noexec` executes nothing), and functions that replace commands.
    {.name = "BASH_ENV"},
    {.name = "BASH_FUNC_*"},
    {.name = "BASHOPTS"},
    {.name = "CDPATH"},
    {.name = "GLOBIGNORE"},
    {.name = "POSIXLY_CORRECT", .when_empty = true},
    {.name = "SHELLOPTS"},
    {.name = "ZDOTDIR"},

    // Python: disabled assertions, other modules, a prompt that replaces the exit code.
    {.name = "PYTHONBREAKPOINT"},
    {.name = "PYTHONHOME"},
    {.name = "PYTHONINSPECT"},
    {.name = "PYTHONOPTIMIZE"},
    {.name = "PYTHONPATH"},
    {.name = "PYTHONPLATLIBDIR"},
    {.name = "PYTHONPYCACHEPREFIX"},
    {.name = "PYTHONUSERBASE"},
    {.name = "PYTHONWARNINGS"},

    // Other languages: options and code that every program of the language loads.
    {.name = "CLASSPATH"},
    {.name = "JAVA_TOOL_OPTIONS"},
    {.name = "JDK_JAVA_OPTIONS"},
    {.name = "_JAVA_OPTIONS"},
    {.name = "LUA_INIT*"},
    {.name = "NODE_OPTIONS"},
    {.name = "NODE_PATH"},
    {.name = "PERL5DB"},
    {.name = "PERL5LIB"},
    {.name = "PERL5OPT"},
    {.name = "RUBYLIB"},
    {.name = "RUBYOPT"},

    // pytest: options, plugins.
    {.name = "PYTEST_ADDOPTS", .kind = "pytest"},
    {.name = "PYTEST_DISABLE_PLUGIN_AUTOLOAD", .kind = "pytest"},
    {.name = "PYTEST_PLUGINS", .kind = "pytest"},

    // GoogleTest: each of its flags. An empty value enables a boolean flag.
    {.name = "GTEST_*", .kind = "gtest", .when_empty = true},
    {.name = "TESTBRIDGE_TEST_*", .kind = "gtest"},

    // Catch2: the variables of Bazel.
    {.name = "TESTBRIDGE_TEST_*", .kind = "catch2"},
    {.name = "TEST_SHARD_INDEX", .kind = "catch2"},
    {.name = "TEST_TOTAL_SHARDS", .kind = "catch2"},

    // Boost.Test: each of its options.
    {.name = "BOOST_TEST_*", .kind = "boost", .when_empty = true},

    // Google Benchmark: each of its flags.
    {.name = "BENCHMARK_*", .kind = "benchmark", .when_empty = true},
};

// Variables that match these globs, but change only the format or the place of a report.
constexpr std::string_view kHarmless[] = {"LD_BIND_NOW",
                                          "LD_RUN_PATH",
                                          "GTEST_BRIEF",
                                          "GTEST_COLOR",
                                          "GTEST_OUTPUT",
                                          "GTEST_PRINT_TIME",
                                          "GTEST_PRINT_UTF8",
                                          "BENCHMARK_COLOR",
                                          "BENCHMARK_OUT",
                                          "BENCHMARK_OUT_FORMAT",
                                          "BOOST_TEST_COLOR_OUTPUT",
                                          "BOOST_TEST_LOG_FORMAT",
                                          "BOOST_TEST_LOG_LEVEL",
                                          "BOOST_TEST_LOG_SINK",
                                          "BOOST_TEST_REPORT_FORMAT",
                                          "BOOST_TEST_REPORT_LEVEL",
                                          "BOOST_TEST_REPORT_SINK"};

bool is_harmless(std::string_view name) {
  return std::ranges::find(kHarmless, name) != std::ranges::end(kHarmless);
}

}  // namespace

std::span<const NarrowingRow> narrowing_rows() { return kRows; }

bool is_narrowing_variable(std::string_view name, std::string_view value, std::string_view kind) {
  return !is_harmless(name) && std::ranges::any_of(kRows, [&](const NarrowingRow& row) {
    const bool reads_it = row.kind.empty() || row.kind == kind || kind == "command";
    return reads_it && (!value.empty() || row.when_empty) && glob_match(row.name, name);
  });
}

bool is_narrowing_variable(std::string_view name) {
  return !is_harmless(name) &&
         std::ranges::any_of(kRows, [&](const NarrowingRow& row) { return glob_match(row.name, name); });
}

std::vector<std::string> narrowing_names() {
  std::vector<std::string> names = {"LD_LIBRARY_PATH", "LD_PRELOAD"};
  for (const NarrowingRow& row : kRows) {
    if (row.name.find('*') == row.name.npos) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace proctor
