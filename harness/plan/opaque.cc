#include "harness/plan/opaque.h"

#include <fmt/format.h>

#include "harness/plan/config_tables.h"
#include "harness/plan/kinds/kind.h"
#include "harness/plan/load_config.h"
#include "harness/plan/select.h"

namespace proctor {
namespace {

// What is typed of its devices.
Result<void> write_devices(const SelectionOptions& options, Suite& suite) {
  if (options.backend == "all") {
    return Error::refused("--backend all cannot be combined with one command", "Use cuda, xpu or none.");
  }
  const auto backend = parse_backend_option(options.backend);
  if (!backend) return backend.error();
  if (options.gpus && *options.gpus < 0)
    return Error::refused(fmt::format("--gpus must not be negative (got {})", *options.gpus));
  suite.backend = backend->value_or(Backend::kNone);
  suite.devices_by = *backend ? DevicesBy::kWritten : DevicesBy::kAuto;
  const int without_number = !*backend ? -1 : **backend == Backend::kNone ? 0 : 1;
  suite.devices = options.gpus.value_or(without_number);
  if (*backend && suite.devices > 0 && suite.backend == Backend::kNone) {
    return Error::refused(fmt::format("--gpus {} cannot be combined with --backend none", suite.devices));
  }
  suite.hierarchy = options.hierarchy;
  if (!options.mask.empty()) suite.mask = options.mask;
  return read_mem_cap_option(options.mem_cap, suite);
}

Result<void> check_devices(const SelectionOptions& options, const Suite& suite) {
  if (!options.hierarchy.empty() && suite.backend != Backend::kXpu)
    return Error::refused(
        fmt::format("--hierarchy {} requires a command that uses an xpu device", options.hierarchy));
  if (!options.mask.empty() && suite.devices == 0)
    return Error::refused(fmt::format("--mask {} requires a command that uses a device", options.mask),
                          "Add --gpus 1.");
  if (options.mask == "uuid" && suite.backend == Backend::kXpu)
    return Error::refused("--mask uuid has no effect on an xpu device: ZE_AFFINITY_MASK has only numbers");
  if (!options.mem_cap.empty() && suite.devices == 0) {
    return Error::refused(fmt::format("--mem-cap {} requires a command that uses a device", options.mem_cap),
                          "Add --gpus 1.");
  }
  return {};
}

}  // namespace

Result<Plan> plan_opaque(const OpaqueCommand& options, const ChooseDevices& choose_devices) {
  const SelectionOptions& chosen = options.selection;
  if (chosen.command.empty() || chosen.command.front().empty())
    return Error::refused("The command after `--` is empty");
  const auto defaults =
      load_config(ConfigOptions{.directory = options.directory, .text = ""}, options.limits, {});
  if (!defaults) return defaults.error();
  Suite suite;
  suite.name = ad_hoc_name(chosen.command.front());
  suite.kind_reason = "exec";
  suite.command = chosen.command;
  suite.directory = options.directory;
  suite.process = "suite";
  suite.host_pids = chosen.host_pids;
  suite.origin = kCommandLineOrigin;
  if (auto written = write_devices(chosen, suite); !written) return written.error();
  if (auto chosen = choose_devices(suite); !chosen) return chosen.error();
  if (auto checked = check_devices(chosen, suite); !checked) return checked.error();
  suite.policy = resolve_policy(*defaults, SuiteConfig{}, suite.kind, "");
  if (options.is_server && !options.limits.stall) suite.policy.stall.reset();
  Case test = whole_command(suite);
  test.id = suite.name + "/" + test.id;
  test.policy = suite.policy;
  return Plan{.suites = {std::move(suite)}, .cases = {std::move(test)}};
}

}  // namespace proctor
