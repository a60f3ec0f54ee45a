// Checks of SPIR-V modules: refused modules, and effects of the build. A compiler may end its process on invalid
// input, so such calls are made in a second process (built_apart.h).
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "suites/accel/check_fixture.h"
#include "suites/kernels/built_apart.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kCreate = "Level Zero specification, zeModuleCreate";

Build build_damaged(const std::string& how, WithLog log = WithLog::kNo) {
  step("given a module that is " + how);
  return build_apart("basic", how, log);
}

void expect_damage_is_refused(const std::string& how) {
  const Build build = build_damaged(how);
  expect_same("the end of the process after a module that is " + how, "", build.survived ? "" : build.end);
  expect_true(!build.ok, "a module that is " + how + " is refused");
}

std::vector<std::uint32_t> run_transform(const Context& context, const Module& module) {
  Queue queue(context);
  const Kernel kernel(module, "transform");
  const auto from = device_copy(queue, context, noise_words(500, 1));
  const Buffer to = device_memory(context, 2000);
  queue.launch(kernel, cover(500, 50), arguments(from, to, 9u, 500u));
  queue.synchronize();
  return read_as<std::uint32_t>(queue, context, to);
}

std::vector<std::uint64_t> run_specialised(const Context& context, const std::vector<Constant>& constants) {
  Queue queue(context);
  const Module module = Module::load(context, "constants", {.constants = constants});
  const auto out = device_copy(queue, context, std::vector<std::uint64_t>(3));
  queue.launch(Kernel(module, "specialised"), groups_of(1, 1), arguments(out));
  queue.synchronize();
  return read_as<std::uint64_t>(queue, context, out);
}

}  // namespace

PROCTOR_CHECK(Module, GarbageInputIsRejected, "K03", kCreate, kWarn,
              {"kernel.accept_corrupt_module", "host.exit_on_bad_module"}) {
  expect_damage_is_refused("garbage");
}

PROCTOR_CHECK(Module, TruncatedInputIsRejected, "K03", kCreate, kWarn,
              {"kernel.accept_corrupt_module", "host.exit_on_bad_module"}) {
  expect_damage_is_refused("truncated");
}

PROCTOR_CHECK(Module, UnknownInstructionIsRejected, "K03", kCreate, kWarn, {"kernel.accept_corrupt_module"}) {
  expect_damage_is_refused("bad_opcode");
}

PROCTOR_CHECK(Module, FailedBuildHasLog, "K05", "oneapi-src/level-zero-tests, test_module.cpp", kWarn,
              {"kernel.empty_build_log", "state.sticky_error"}) {
  const Build build = build_damaged("garbage", WithLog::kYes);
  // Some older loaders that intercept calls return a log that crashes its reader.
  const bool intercepted = std::getenv("ZE_ENABLE_LOADER_INTERCEPT") != nullptr;
  if (!build.survived && intercepted) suite::skip("unsupported:build_log_through_the_loader");
  expect_true(build.survived && !build.ok, "the module is refused");
  expect_true(!build.log.empty(), "the build log is not empty");
}

PROCTOR_CHECK(Module, NativeBinaryComputesSameResult, "K09",
              "Level Zero specification, zeModuleGetNativeBinary", kGate, {"kernel.corrupt_native_binary"}) {
  const auto context = leased();
  Queue queue(context);
  const Module first = Module::load(context, "basic");
  step("given a module made from the native image of another");
  const Module second(context, first.native_image(), {.image = Image::kNative});
  expect_words("words that its kernel transform computes", run_transform(context, first),
               run_transform(context, second), context.device());
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(100));
  queue.launch(Kernel(second, "fill"), cover(100, 50), arguments(out, 7u, 100u));
  queue.synchronize();
  expect_words("words that its kernel fill computes", std::vector<std::uint32_t>(100, 7),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(SpecConstant, DefaultsHoldWithoutValues, "K10", "SPIR-V specification, OpSpecConstant", kGate,
              {"kernel.wrong_result:at=0", "kernel.skip", "kernel.build_fail"}) {
  const auto context = leased();
  step("given no values");
  expect_longs("constants", std::vector<std::uint64_t>{10, 20, 0x3fc00000}, run_specialised(context, {}),
               context.device());
}

PROCTOR_CHECK(SpecConstant, ValuesAreApplied, "K10", "Level Zero specification, ze_module_constants_t", kGate,
              {"kernel.spec_constant_ignored"}) {
  const auto context = leased();
  step("given values for three constants");
  const std::uint64_t wide = 0x123456789abcdef0;
  expect_longs("constants", std::vector<std::uint64_t>{77, wide, 0x40490fdb},
               run_specialised(context, {{0, 77, 4}, {1, wide, 8}, {2, 0x40490fdb, 4}}), context.device());
  step("given a value for one of them");
  expect_longs("constants", std::vector<std::uint64_t>{10, 21, 0x3fc00000},
               run_specialised(context, {{1, 21, 8}}), context.device());
}

// Checks of the compiler cache, which keeps modules on disk between processes. A hit must compute the same
// results, and damage must be detected.

namespace {

using suite::expect_true;
using suite::Helper;
using suite::kWarn;
using suite::step;

constexpr const char* kCache = "intel/compute-runtime, programmers-guide/COMPILER_CACHE.md";

PROCTOR_HELPER(increment_once) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  auto expected = noise_words(500, 1);
  const auto buffer = device_copy(queue, context, expected);
  queue.launch(Kernel(module, "increment"), cover(500, 50), arguments(buffer, 500u));
  queue.synchronize();
  for (auto& word : expected) ++word;
  suite::answer({{"right", read_as<std::uint32_t>(queue, context, buffer) == expected}});
}

// Builds one module twice with different constants, and another module. Runs them and sends the results.
PROCTOR_HELPER(run_two_modules) {
  const auto context = leased();
  Queue queue(context);
  std::string numbers;
  const auto run = [&](const Module& module, const char* kernel) {
    const auto out = device_copy(queue, context, std::vector<std::uint64_t>(64));
    queue.launch(Kernel(module, kernel), groups_of(1, 1), arguments(out));
    queue.synchronize();
    numbers += std::to_string(read_as<std::uint64_t>(queue, context, out)[0]) + " ";
  };
  for (const std::uint64_t value : {5u, 6u})
    run(Module::load(context, "constants", {.constants = {{0, value, 4}}}), "specialised");
  run(Module::load(context, "constants"), "specialised");
  run(Module::load(context, "ids"), "count_groups");
  suite::answer({{"numbers", numbers}});
}

// A directory that the driver uses as its compiler cache.
class CacheDirectory {
 public:
  // The results of a process with several modules in the cache.
  std::string numbers() const {
    Helper helper("run_two_modules", {},
                  {{"NEO_CACHE_PERSISTENT", "1"}, {"NEO_CACHE_DIR", directory_.string()}});
    std::string numbers = helper.answer().at("numbers").get<std::string>();
    helper.finish();
    return numbers;
  }

  // Runs a process that uses the cache, and requires a right result.
  void expect_right(const std::string& what) const {
    Helper helper("increment_once", {},
                  {{"NEO_CACHE_PERSISTENT", "1"}, {"NEO_CACHE_DIR", directory_.string()}});
    expect_true(helper.answer().at("right").get<bool>(), "a kernel of " + what + " computes the right words");
    helper.finish();
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }

 private:
  const TempDir directory_;
};

void damage(const std::filesystem::path& path, const std::string& how) {
  std::string bytes = read_file_or_empty(path);
  if (how == "changed") {
    for (std::size_t i = bytes.size() / 2; i < bytes.size(); i += 64) bytes[i] = static_cast<char>(~bytes[i]);
  } else {
    bytes.resize(how == "truncated" ? bytes.size() / 2 : 0);
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

// Fills the cache by a first process. A driver may have no cache; simgpu has one.
void fill(const CacheDirectory& cache) {
  cache.expect_right("the first process");
  need(suite::on_simgpu() || !cache.files().empty(), "unsupported:compile_cache");
  expect_true(!cache.files().empty(), "the cache contains a file");
}

// The size and the time of modification of each file.
std::string contents(const CacheDirectory& cache) {
  std::vector<std::string> lines;
  for (const auto& file : cache.files()) {
    const std::chrono::nanoseconds written = std::filesystem::last_write_time(file).time_since_epoch();
    lines.push_back(file.filename().string() + ": " + std::to_string(std::filesystem::file_size(file)) +
                    " bytes, written at " + std::to_string(written.count()) + "\n");
    expect_true(std::filesystem::file_size(file) > 0,
                "the cache contains a file in " + file.filename().string());
  }
  std::ranges::sort(lines);
  return std::accumulate(lines.begin(), lines.end(), std::string());
}

const std::vector<std::string> kDamages = {"changed", "truncated", "emptied"};

}  // namespace

PROCTOR_CHECK(CompilerCache, SecondProcessComputesSameResult, "K52", kCache, kWarn,
              {"kernel.wrong_result:kernel=increment,at=4", "kernel.skip:kernel=increment"}) {
  const CacheDirectory cache;
  step("given a module that another process has left in the cache");
  fill(cache);
  const std::string before = contents(cache);
  cache.expect_right("the second process");
  suite::expect_same("the cache, from which the second process only reads", before, contents(cache));
}

PROCTOR_CHECK(CompilerCache, CachedModulesStaySeparate, "K52", kCache, kWarn,
              {"kernel.spec_constant_ignored", "kernel.skip:kernel=count_groups"}) {
  const CacheDirectory cache;
  fill(cache);
  step("given two modules, one with several values for a constant, by two processes that share a cache");
  for (const char* process : {"first", "second"})
    suite::expect_same(std::string("numbers of the ") + process + " process", "5 6 10 1 ", cache.numbers());
}

PROCTOR_CHECK_EACH(kDamages, CompilerCache, DamagedFilesChangeNoResult, "K52", kCache, kWarn,
                   {"kernel.accept_damaged_cache"}) {
  const CacheDirectory cache;
  fill(cache);
  step("given a cache in which every file is " + suite::parameter());
  for (const auto& file : cache.files()) damage(file, suite::parameter());
  cache.expect_right("the next process");
}

}  // namespace proctor::accel
