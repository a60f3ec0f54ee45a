#include "harness/plan/opaque.h"

#include <fmt/format.h>

#include "harness/frameworks/kind.h"
#include "harness/plan/config.h"
#include "harness/plan/select.h"
#include "harness/plan/suite_options.h"

namespace proctor {
namespace {

// Applies the options to the suite.
Result<void> write_typed(const SelectionOptions& options, Suite& suite) {
  if (options.backend == "all") {
    return Error::refused("--backend all cannot be combined with one command", "Use cuda, xpu or none.");
  }
  const auto backend = parse_backend_option(options.backend);
  if (!backend) return backend.error();
  suite.backend = backend->value_or(Backend::kNone);
  suite.devices_by = *backend ? DevicesBy::kWritten : DevicesBy::kAuto;
  suite.devices = !*backend ? -1 : **backend == Backend::kNone ? 0 : 1;
  if (auto applied = apply_suite_options(options, suite); !applied) return applied;
  if (*backend && suite.devices > 0 && suite.backend == Backend::kNone)
    return Error::refused(fmt::format("--gpus {} cannot be combined with --backend none", suite.devices));
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
  suite.origin = kCommandLineOrigin;
  if (auto written = write_typed(chosen, suite); !written) return written.error();
  if (auto chosen = choose_devices(suite); !chosen) return chosen.error();
  if (auto checked = check_suite_options(chosen, suite); !checked) return checked.error();
  suite.policy = resolve_policy(*defaults, SuiteConfig{}, suite.kind, "");
  if (options.is_server && !options.limits.stall) suite.policy.stall.reset();
  Case test = whole_command(suite);
  test.id = suite.name + "/" + test.id;
  test.policy = suite.policy;
  return Plan{.suites = {std::move(suite)}, .cases = {std::move(test)}};
}

}  // namespace proctor
