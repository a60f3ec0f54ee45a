// Checks of the time at which the driver reads the mask, of its inheritance by processes, and of devices of the
// other vendor.
#include <cstdlib>
#include <filesystem>

#include "harness/journal/child_protocol.h"
#include "suites/main/check.h"
#include "suites/main/second_process.h"
#include "suites/visibility/cuda/observed.h"
#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

// Makes Level Zero available to a child again. The runner hides it from a suite for CUDA.
std::pair<std::string, std::optional<std::string>> level_zero_again() {
  if (!suite::on_simgpu()) return {kLevelZeroDrivers, std::nullopt};
  const char* topology = std::getenv(child::kSimTopologyVariable);
  if (topology == nullptr || std::string_view(topology).find("xpu") == std::string_view::npos) {
    return {kLevelZeroDrivers, "/proc/no-such-driver.so"};
  }
  const auto program = std::filesystem::canonical(suite::self_command().back());
  return {kLevelZeroDrivers, (program.parent_path() / "libproctor_ze_sim.so").string()};
}

// No document states that the driver reads the variables once. On hardware the behaviour is only recorded.
void expect_unchanged(const nlohmann::json& answer) {
  if (!suite::on_simgpu()) return;
  expect_same("devices that the process sees the second time", text_of(record(answer, "seen")),
              text_of(record(answer, "again")));
}

}  // namespace

PROCTOR_CHECK(Process, MaskAfterInitHasNoEffect, "V20", "PyTorch, torch/cuda: the driver reads it once",
              kWarn, .faults = {"visibility.reread_environment_after_init"}) {
  const auto pool = pool_of(2);
  step("given a process that enumerates, masks itself and enumerates again");
  const auto answer = query_child({"setenv-after-init", kMask, pool.uuid(0)}, masked(pool.mask()));
  expect_same("devices that the process sees the first time", expected_text(pool.names.pool),
              text_of(record(answer, "seen")));
  observe_selection("CUDA_VISIBLE_DEVICES='{uuid0}' set after initialisation", record(answer, "again"), pool);
  expect_unchanged(answer);
}

PROCTOR_CHECK(Process, MaskBeforeInitTakesEffect, "V21", "PyTorch, torch/cuda: the driver reads it once",
              kGate, .faults = {"visibility.read_mask_at_process_start", "visibility.ignore_mask"}) {
  const auto pool = pool_of(2);
  step("given a process that masks itself before its first call");
  const auto answer = query_child({"enumerate-after-setenv", kMask, pool.uuid(1)}, masked(pool.mask()));
  expect_same("devices that the process sees", expected_text({pool.uuid(1)}),
              text_of(record(answer, "seen")));
}

PROCTOR_CHECK(Process, DeviceOrderAfterInitIsIgnored, "V20", "PyTorch, torch/cuda: the driver reads it once",
              kWarn, .faults = {"visibility.reread_environment_after_init"}) {
  const auto pool = pool_of(2);
  if (!pool.is_whole_machine()) suite::skip("needs:whole_machine");
  step("given a process that enumerates by speed, sets PCI order and enumerates again");
  const auto answer = query_child({"setenv-after-init", kOrder, kByBus});
  observe_selection("default order", record(answer, "seen"), pool);
  observe_selection("CUDA_DEVICE_ORDER=PCI_BUS_ID set after initialisation", record(answer, "again"), pool);
  expect_unchanged(answer);
}

PROCTOR_CHECK(Process, GrandchildInheritsMask, "V22", kGuide, kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto pool = pool_of(2);
  step("given a child under a mask that execs a child of its own");
  const auto seen = record(query_child({"grandchild"}, masked(pool.ordinal(0))), "seen");
  expect_same("devices that the grandchild sees", expected_text({pool.uuid(0)}), text_of(seen));
}

PROCTOR_CHECK(Process, DisjointMasksShareNoDevice, "V46", kGuide, kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto pool = pool_of(2);
  step("given two processes at the same time, each with a mask of its own");
  Child first({"hold"}, masked(pool.ordinal(0)));
  Child second({"hold"}, masked(pool.ordinal(1)));
  const auto first_seen = record(accept(first.finish(), masked(pool.ordinal(0))), "seen");
  const auto second_seen = record(accept(second.finish(), masked(pool.ordinal(1))), "seen");
  expect_same("devices that the first process sees", expected_text({pool.uuid(0)}), text_of(first_seen));
  expect_same("devices that the second process sees", expected_text({pool.uuid(1)}), text_of(second_seen));
}

// NVIDIA does not define a fork after the first call. The call in the child must neither succeed nor hang.
PROCTOR_CHECK(Process, ChildForkedAfterInitFails, "S0.44",
              "PyTorch, torch/cuda/__init__.py: Cannot re-initialize CUDA in forked subprocess", kWarn,
              .faults = {"host.allow_calls_after_fork"}) {
  const auto mask = leased(1).front();
  step("given a process that has a context and forks");
  const auto answer = query_child({"fork"}, masked(mask));
  expect_same("cudaFree(nullptr) before the fork returns", "cudaSuccess", answer.at("before"));
  const std::string after = answer.at("after");
  expect_true(after != "cudaSuccess", "cudaMalloc in the forked child does not succeed");
  expect_true(after != "hang", "cudaMalloc in the forked child returns");
  observe_code("cudaMalloc in a forked child", after);
  if (suite::on_simgpu()) {
    expect_same("cudaMalloc in the forked child returns", "cudaErrorInitializationError", after);
  }
}

PROCTOR_CHECK(Process, AllocationUsesVisibleCard, "V45", "NVML API Reference Guide, nvmlDeviceGetMemoryInfo",
              kGate, .faults = {"visibility.run_on_hidden_device", "alloc.wrong_device"}) {
  const auto mask = leased(1).front();
  constexpr std::int64_t kBytes = 64 << 20;
  step("given a process that sees one card and allocates 64 MiB");
  const auto answer = query_child({"allocate", std::to_string(kBytes)}, masked(mask));
  expect_same("cudaMalloc returns", "cudaSuccess", answer.at("result"));
  expect_same("the device", mask, answer.at("uuid"));
  if (!answer.at("before").contains(mask)) suite::skip("unsupported:nvml_memory");
  const auto before = answer.at("before").value(mask, std::int64_t{0});
  const auto after = answer.at("after").value(mask, std::int64_t{0});
  expect_true(after - before >= kBytes, "NVML shows the memory on that card, it shows " +
                                            std::to_string(after - before) + " bytes more there");
}

// Measures first whether the other driver has devices without the variable. If it has none, nothing can be hidden.
PROCTOR_CHECK(VendorIsolation, CudaChildSeesOnlyCudaDevices, "S0.22",
              "oneapi-src/level-zero, README: ZE_ENABLE_ALT_DRIVERS", kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.expose_other_vendor"}) {
  const auto pool = pool_of();
  const auto others = record(query_child({"level-zero"}, {level_zero_again()}), "level_zero");
  suite::measure("level_zero_devices", static_cast<double>(others.devices.size()), "devices");
  step("given a child planned for CUDA, which also enumerates with Level Zero");
  const auto answer = query_child(
      {"level-zero"},
      {{kOrder, kByBus}, {kMask, pool.ordinal(0)}, {kLevelZeroDrivers, "/proc/no-such-driver.so"}});
  expect_same("CUDA shows", expected_text({pool.uuid(0)}), text_of(record(answer, "seen")));
  expect_same("the number of Level Zero devices", "0",
              std::to_string(record(answer, "level_zero").devices.size()));
}

PROCTOR_CHECK(VendorIsolation, LevelZeroChildLacksCudaDevices, "S0.22", kGuide, kGate,
              .faults = {"visibility.show_all_on_empty_selection"}) {
  pool_of();
  const auto drivers = level_zero_again();
  const auto whole = record(query_child({"level-zero"}, {drivers}), "level_zero");
  suite::measure("level_zero_devices", static_cast<double>(whole.devices.size()), "devices");
  step("given a child planned for Level Zero: CUDA_VISIBLE_DEVICES is empty");
  const auto answer = query_child({"level-zero"}, {drivers, {kMask, ""}});
  expect_same("CUDA shows", expected_text({}), text_of(record(answer, "seen")));
  expect_same("devices of Level Zero, compared with those without CUDA's variable", to_json(whole).dump(),
              to_json(record(answer, "level_zero")).dump());
}

}  // namespace proctor::visibility
