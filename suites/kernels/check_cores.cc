// Checks for silent errors of a single core. Every core (SM, Xe-core) does the same work, and all must compute the
// same bits.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/speed.h"
#include "suites/kernels/built_apart.h"
#include "suites/kernels/core_work.h"
#include "suites/kernels/device/cores.h"
#include "suites/kernels/sub_groups.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using kernels::core_work;
using kernels::CoreRow;
using kernels::CoreRows;
using kernels::CoreSize;
using kernels::CoreWork;
using suite::kGate;
using suite::step;

constexpr const char* kSameEverywhere = "Hochschild et al., Cores that don't count (HotOS 2021)";
constexpr const char* kExact =
    by_vendor("SPIR-V specification, integer and group instructions; OpenCL C specification, fma",
              "CUDA Programming Guide, Mathematical Functions, Warp Shuffle Functions, Atomic Functions");
constexpr const char* kDenormals = by_vendor("Level Zero specification, ze_device_fp_flag_t",
                                             "CUDA Programming Guide, Floating-Point Standard");
constexpr const char* kDoubles = by_vendor(
    "OpenCL C specification, OpenCL Numerical Compliance: double precision is that of IEEE 754, with "
    "denormals",
    "CUDA Programming Guide, Floating-Point Standard");
constexpr std::uint32_t kMostLaunches = 32;
constexpr std::size_t kMostReported = 4;  // cores that a report names
// Rounds or swings on simulated devices, whose kernels are interpreted.
constexpr std::int64_t kMostSimulated = 16;
constexpr std::byte kNothing{0xa5};
constexpr const char* kCoreNumbers =
    "SPIR-V extension, SPV_INTEL_hw_thread_queries, which no driver has to have";
constexpr std::chrono::milliseconds kIdle{1};

// Skips the check if the device lacks a feature that the work needs.
void need_for(const CoreWork& work, const Properties& properties) {
  if (work.name == "denormals" || work.name == "sums")
    need(properties.fp32_denormals, "unsupported:fp32_denormals");
  if (work.name == "sums") need(properties.fp32_atomic_add, "unsupported:fp32_atomic_add");
  if (work.name == "doubles") need(properties.fp64 && properties.fp64_denormals, "unsupported:fp64");
}

// Runs the work of cores.cl on one device.
class CoreLauncher {
 public:
  CoreLauncher(const Context& context, std::uint32_t rounds) : context_(context), queue_(context) {
    const Properties& properties = context.device().properties();
    need(properties.cores > 0, "unsupported:core_id");
    size_ = {.seed = static_cast<std::uint32_t>(suite::seed() * 0x9e3779b9u + 1),
             .rounds = rounds,
             .lanes = sub_group_sizes(context.device()).front()};
    rows_ = device_memory(context, (CORE_ROWS + 1) * CORE_ITEMS * sizeof(std::uint32_t));
  }

  const Device& device() const { return context_.device(); }
  std::uint32_t cores() const { return device().properties().cores; }
  const CoreSize& size() const { return size_; }
  void wait() { queue_.synchronize(); }

  // Runs the work and returns the rows of the cores that were reached. `wanted`: one core, ANY_CORE, or ALL_GROUPS
  // to keep all groups busy.
  CoreRows run(const CoreWork& work, std::uint32_t wanted = ANY_CORE) {
    need_for(work, device().properties());
    const Kernel kernel(module_of(work), work.kernel);
    const auto claims = device_copy(queue_, context_, std::vector<std::uint32_t>(CORE_ROWS + 1));
    queue_.fill(rows_.data(), {&kNothing, 1}, rows_.bytes());
    const std::uint32_t enough = wanted < CORE_ROWS ? 1 : cores();
    // Launch as many groups as the cores can hold.
    const bool full = wanted == ALL_GROUPS && !suite::on_simgpu();
    for (std::uint32_t launch = 0; launch < kMostLaunches; ++launch) {
      const std::uint32_t groups = cores() * (full ? 16 : launch == 0 ? 2 : 8);
      queue_.launch(
          kernel, groups_of(groups, CORE_ITEMS),
          arguments(claims, rows_, device().properties().threads_of_core, wanted, size_.seed, size_.rounds));
      const auto claimed = read_as<std::uint32_t>(queue_, context_, claims);
      need(claimed.back() == 0, "unsupported:core_id");  // some cores have numbers that the table lacks
      const auto reached = static_cast<std::uint32_t>(std::ranges::count(claimed, 1u));
      if (reached >= enough || launch + 1 == kMostLaunches) return rows_of(claimed);
    }
    return {};
  }

 private:
  const Module& module_of(const CoreWork& work) {
    const std::string name = work.module.empty() ? "cores_" + std::to_string(size_.lanes) : work.module;
    const auto [at, is_new] = modules_.try_emplace(name);
    if (is_new) {
      // The compiler of Intel's driver ends the process on an extension that it lacks.
      if constexpr (kVendor == Vendor::kIntel) need_built_apart(context_, name, "core_id", kCoreNumbers);
      need(Module::try_build(context_, module_file(name), {}, at->second).ok(), "unsupported:core_id");
    }
    return at->second;
  }

  CoreRows rows_of(const std::vector<std::uint32_t>& claimed) {
    const auto words = read_as<std::uint32_t>(queue_, context_, rows_);
    CoreRows rows;
    for (std::uint32_t core = 0; core < CORE_ROWS; ++core) {
      if (claimed[core] != 0) rows[core] = part_of(words, std::size_t{core} * CORE_ITEMS, CORE_ITEMS);
    }
    return rows;
  }

  Context context_;
  Queue queue_;
  CoreSize size_;
  std::map<std::string, Module> modules_;
  Buffer rows_;
};

void report_core(const std::string& what, std::uint32_t core, const CoreRow& expected, const CoreRow& got,
                 const Device& device) {
  std::size_t first = 0, wrong = 0;
  for (std::size_t i = expected.size(); i-- > 0;) {
    if (expected[i] == got[i]) continue;
    first = i;
    ++wrong;
  }
  const auto& tile = device.properties().tile;
  const std::string of_tile = tile ? fmt::format(" of tile {}", *tile) : "";
  suite::report({.message = fmt::format("{}: core {}{} is wrong in {} of {} words, first in word {}", what,
                                        core, of_tile, wrong, expected.size(), first),
                 .expected = fmt::format("0x{:08x}", expected[first]),
                 .got = fmt::format("0x{:08x}", got[first]),
                 .device = describe(device)});
}

// True if every row is equal to `expected`. A failure names the cores that differ.
bool expect_rows(const std::string& what, const CoreRow& expected, const CoreRows& rows,
                 const Device& device) {
  std::vector<std::uint32_t> wrong;
  for (const auto& [core, row] : rows) {
    if (row != expected) wrong.push_back(core);
  }
  for (std::size_t i = 0; i < std::min(wrong.size(), kMostReported); ++i) {
    report_core(what, wrong[i], expected, rows.at(wrong[i]), device);
  }
  suite::expect_true(wrong.size() <= kMostReported,
                     fmt::format("{}: {} of {} cores are wrong", what, wrong.size(), rows.size()));
  return wrong.empty();
}

// The right result of a core: that of the reference, or else that of most cores. nullopt: a failure was reported.
std::optional<CoreRow> right_row(const CoreWork& work, const CoreRows& rows, const CoreLauncher& launcher) {
  if (work.reference != nullptr) return work.reference(launcher.size());
  auto most = kernels::majority_of(rows);
  if (!most) {
    suite::report({.message = work.name + ": no majority of the cores agrees on a result",
                   .expected = fmt::format("the same bits on more than half of {} cores", rows.size()),
                   .got = "no such result",
                   .device = describe(launcher.device())});
  }
  return most;
}

// If the launches reach only some cores, the check is skipped later. If they reach none, the kernel did not run.
void expect_reached(const CoreRows& rows) {
  suite::expect_true(!rows.empty(), fmt::format("{} launches reach a core", kMostLaunches));
}

bool expect_right(const CoreWork& work, const CoreRows& rows, const CoreLauncher& launcher) {
  expect_reached(rows);
  const auto right = right_row(work, rows, launcher);
  return !rows.empty() && right && expect_rows(work.name, *right, rows, launcher.device());
}

void need_all_cores(std::size_t reached, std::uint32_t cores) {
  need(reached >= cores, fmt::format("needs:all_cores:{}<{}", reached, cores));
}

// Verifies all cores of a part in one launch.
void expect_all_cores(const std::string& name, const Device& part) {
  const Context context(part);
  CoreLauncher launcher(context, static_cast<std::uint32_t>(sized_for_speed(kMostSimulated)));
  step(fmt::format("given {} cores that do the same work: {}", launcher.cores(), name));
  const auto rows = launcher.run(core_work(name));
  suite::record("same.cores." + name, kernels::digest_of(rows));
  if (expect_right(core_work(name), rows, launcher)) need_all_cores(rows.size(), launcher.cores());
}

void expect_all_cores(const std::string& name) {
  const Device device = leased_device();
  for (const Device& part : parts_of(device)) expect_all_cores(name, part);
  record_tiles(device);
}

// `count` cores: the first, the last, and others that the seed selects.
std::vector<std::uint32_t> sample_of(const CoreRows& rows, std::size_t count) {
  std::vector<std::uint32_t> cores;
  for (const auto& [core, row] : rows) cores.push_back(core);
  if (cores.size() <= count) return cores;
  std::swap(cores[1], cores.back());
  const auto words = noise_words(count, suite::seed());
  for (std::size_t i = 2; i < count; ++i) std::swap(cores[i], cores[i + words[i] % (cores.size() - i)]);
  cores.resize(count);
  return cores;
}

// Verifies up to `most` cores of a part, one after the other.
void expect_each_alone(const CoreWork& work, std::size_t most, const Device& part) {
  const Context context(part);
  CoreLauncher launcher(context, most < CORE_ROWS || suite::on_simgpu() ? 1 : 500);
  const auto together = launcher.run(work);
  expect_reached(together);
  const auto right = right_row(work, together, launcher);
  if (!right || together.empty()) return;
  std::size_t reached = 0;
  const auto sample = sample_of(together, most);
  for (const std::uint32_t core : sample) {
    step(fmt::format("given core {} alone", core));
    const auto rows = launcher.run(work, core);
    reached += rows.size();
    if (!expect_rows(work.name + " alone", *right, rows, launcher.device())) return;
  }
  need_all_cores(reached, static_cast<std::uint32_t>(sample.size()));
}

void expect_steady(std::int64_t swings, const Device& part) {
  const Context context(part);
  const CoreWork& work = core_work("products");
  CoreLauncher launcher(context, swings < 500 ? 1 : 2'000);
  const auto right = work.reference(launcher.size());
  step("given " + describe(part) + " that idles, then works on all cores at once, again and again");
  for (std::int64_t swing = 0; swing < swings; ++swing) {
    launcher.wait();
    std::this_thread::sleep_for(kIdle);
    const auto rows = launcher.run(work, ALL_GROUPS);
    const auto what = fmt::format("{} of swing {}", work.name, swing);
    expect_reached(rows);
    if (rows.empty() || !expect_rows(what, right, rows, launcher.device())) return;
    need_all_cores(rows.size(), launcher.cores());
  }
}

}  // namespace

PROCTOR_CHECK(Cores, IntegersMatchHost, "K120", kExact, kGate,
              .faults = by_vendor<Texts>(
                  {"kernel.flip_stored_bits:core=3,xor=0x10", "kernel.flip_stored_bits:tile=1,core=3",
                   "kernel.skip:kernel=core_integers"},
                  {"kernel.flip_stored_bits:core=3,xor=0x10", "kernel.skip:kernel=core_integers"}),
              .sizes = {.smoke = 1, .ci = 16, .full = 20'000, .stress = 200'000, .unit = "rounds"}) {
  expect_all_cores("integers");
}

PROCTOR_CHECK(Cores, FusedMatrixProductsMatchHost, "K121", kExact, kGate,
              .faults = {"kernel.fma_unfused:core=3"},
              .sizes = {.smoke = 1, .ci = 3, .full = 2'000, .stress = 20'000, .unit = "rounds"}) {
  expect_all_cores("products");
}

PROCTOR_CHECK(Cores, DenormalsMatchHost, "K128", kDenormals, kGate, .faults = {"kernel.ftz:core=3"},
              .sizes = {.smoke = 1, .ci = 6, .full = 10'000, .stress = 100'000, .unit = "rounds"}) {
  expect_all_cores("denormals");
}

PROCTOR_CHECK(Cores, DoublesMatchHost, "K129", kDoubles, kGate,
              .faults = {"kernel.fp64_as_fp32:core=3", "kernel.ftz:core=3"}, .needs = {"fp64"},
              .sizes = {.smoke = 1, .ci = 3, .full = 2'000, .stress = 20'000, .unit = "rounds"}) {
  expect_all_cores("doubles");
}

PROCTOR_CHECK(Cores, AllCoresAgreeOnDenormalSums, "K130", kSameEverywhere, kGate,
              .faults = {"kernel.atomic_ftz:core=3"}, .needs = {"fp32_atomic_add"},
              .sizes = {.smoke = 1, .ci = 6, .full = 10'000, .stress = 100'000, .unit = "rounds"}) {
  expect_all_cores("sums");
}

PROCTOR_CHECK(Cores, AllCoresAgreeOnSpecialFunctions, "K122", kSameEverywhere, kGate,
              .faults = {"kernel.flip_math_result_bit:core=3"},
              .sizes = {.smoke = 1, .ci = 6, .full = 10'000, .stress = 100'000, .unit = "rounds"}) {
  expect_all_cores("functions");
}

PROCTOR_CHECK(Cores, SubGroupLanesMatchHost, "K123", kExact, kGate,
              .faults = {"kernel.swap_shuffled_lanes:core=3", "kernel.omit_last_lane:core=3"},
              .sizes = {.smoke = 1, .ci = 6, .full = 10'000, .stress = 100'000, .unit = "rounds"}) {
  expect_all_cores("lanes");
}

PROCTOR_CHECK(Cores, LocalMemoryMatchesHost, "K124", kExact, kGate,
              .faults = {"kernel.racy_atomics:core=3", "kernel.drop_barrier:core=3"},
              .sizes = {.smoke = 1, .ci = 3, .full = 2'000, .stress = 20'000, .unit = "rounds"}) {
  expect_all_cores("local");
}

PROCTOR_CHECK_EACH(kernels::core_work_names(), Cores, SingleCoreComputesSameResult, "K125", kSameEverywhere,
                   kGate, .faults = {"kernel.flip_stored_bits:core=0"},
                   .sizes = {.smoke = 2, .ci = 3, .full = CORE_ROWS, .unit = "cores"}) {
  const Device device = leased_device();
  for (const Device& part : parts_of(device))
    expect_each_alone(core_work(suite::parameter()), static_cast<std::size_t>(suite::sized()), part);
  record_tiles(device);
}

PROCTOR_CHECK(Cores, LoadSwingsChangeNoResult, "K126", kSameEverywhere, kGate,
              .faults = {"kernel.fma_unfused:core=3,after=2", "kernel.flip_stored_bits:core=3,after=1"},
              .sizes = {.smoke = 2, .ci = 3, .full = 500, .stress = 5'000, .unit = "swings"}) {
  const Device device = leased_device();
  for (const Device& part : parts_of(device)) expect_steady(sized_for_speed(kMostSimulated), part);
  record_tiles(device);
}

}  // namespace proctor::accel
