#include "harness/machine/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "harness/core/containment_layer.h"
#include "harness/core/text.h"
#include "harness/plan/kinds/all_kinds.h"
#include "harness/plan/load_config.h"

namespace proctor {
namespace {

constexpr const char* kAnyLayer = "auto";
constexpr std::string_view kAtLeast = ">=";

// The suites, and what the command after `--` is.
void add_suite_options(CLI::App& command, SelectionOptions& selection) {
  command
      .add_option("suites", selection.suites,
                  "Test suites by name (default: all of the configuration, else the built-in ones)")
      ->type_name("SUITE");
  command
      .add_option("--backend", selection.backend,
                  "Run only suites of this backend: cuda, xpu, none or all (default: what the machine or "
                  "--sim has). With a command after `--`: its devices (default: from its libraries)")
      ->type_name("BACKEND");
  command.add_option("--gpus", selection.gpus, "Number of devices per case, which sees no others")
      ->type_name("N");
  command
      .add_option("--process", selection.process,
                  "Cases that share a process: case (none), file, suite, batch:N or batch:auto; then "
                  ",verify:PERCENT of those that passed, to run alone too (default: as configured, else "
                  "case,verify:2%)")
      ->type_name("UNIT");
  command
      .add_option("--env", selection.env,
                  "Environment variable for each case, over the configuration; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--kind", selection.kind,
                  fmt::format("Framework of the program after `--`, if it is not detected: {}",
                              fmt::join(kind_names(), ", ")))
      ->type_name("KIND");
  command
      .add_option("--name", selection.name, "Suite name of the command after `--` (default: its file name)")
      ->type_name("NAME");
  command.add_option("--label", selection.labels, "Run only suites with this label; repeatable")
      ->type_name("LABEL")
      ->allow_extra_args(false);
}

void add_case_options(CLI::App& command, SelectionOptions& selection) {
  const auto add = [&](const char* name, std::vector<std::string>& values, const char* help,
                       const char* placeholder) {
    command.add_option(name, values, help)->type_name(placeholder)->allow_extra_args(false);
  };
  add("--filter", selection.filters, "Run only cases whose id matches (* and ?); repeatable", "GLOB");
  add("--case", selection.cases, "Run only the case with exactly this id, or all of a suite; repeatable",
      "ID");
  add("--exclude", selection.excludes, "Leave out cases whose id matches (* and ?); repeatable", "GLOB");
  add("--tag", selection.tags, "Run only cases with this tag of their framework; repeatable", "TAG");
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> choices) {
  const std::string known = fmt::format("{{{}}}", fmt::join(choices, ","));  // what completion reads
  const auto check = [choices = std::move(choices)](const std::string& text) -> std::string {
    if (std::ranges::find(choices, text) != choices.end()) return {};
    return fmt::format("must be {} or {} (got `{}`)", fmt::join(choices.begin(), choices.end() - 1, ", "),
                       choices.back(), text);
  };
  return {check, known};
}

CLI::Validator from_to(int least, int most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most)
      return {};
    return fmt::format("must be a whole number from {} to {} (got `{}`)", least, most, text);
  };
  return {check, ""};
}

void add_machine_options(CLI::App& command, MachineOptions& options) {
  add_simulation_option(command, options);
  const auto layers = layer_names();
  command
      .add_option(
          "--containment", options.containment,
          fmt::format("Containment layer of each test process: {}, {} or {} (default: {}). With "
                      "'>=LAYER': the best one, if it is not weaker than LAYER",
                      kAnyLayer, fmt::join(layers.begin(), layers.end() - 1, ", "), layers.back(), kAnyLayer))
      ->type_name("LAYER");
}

void add_simulation_option(CLI::App& command, MachineOptions& options) {
  command
      .add_option(
          "--sim", options.sim,
          "Simulated devices, such as xpu:2x2 (two Intel cards with two tiles each), cuda:4@12 (for CUDA "
          "12) or FILE.toml; with ,driver=intel[@DIR] Intel's driver, with ,state=DIR shared by runs")
      ->type_name("DEVICES");
}

void add_devices_option(CLI::App& command, MachineOptions& options) {
  command
      .add_option("--devices", options.devices,
                  "Use only these devices: ids, UUIDs or their beginnings, PCI addresses, or cuda:0 in the "
                  "order of `proctor devices`; separated by commas")
      ->type_name("DEVICES");
}

void add_limit_options(CLI::App& command, LimitOptions& limits) {
  command
      .add_option("--timeout", limits.timeout,
                  command.get_name() == "exec"
                      ? "Time limit of the command, or off (default: off)"
                      : "Time limit per test, or off (default: 5m; built-in 60s; command off)")
      ->type_name("DURATION");
  command
      .add_option("--grace", limits.grace,
                  "Grace period: time from SIGTERM to SIGKILL after a limit (default: 10s)")
      ->type_name("DURATION");
  command
      .add_option(
          "--stall", limits.stall,
          command.get_name() == "exec"
              ? "Stall limit: longest time without output, or off (default: 30m; off with --ready-regex)"
              : "Stall limit: longest time without output, or off (default: off; built-in 60s; command 30m)")
      ->type_name("DURATION");
}

void add_verdict_options(CLI::App& command, LimitOptions& limits) {
  command.add_option("--retries", limits.retries, "Retry a failed test up to N times (default: 0)")
      ->type_name("N");
  command
      .add_option("--leaks", limits.leaks,
                  "If a passing test leaves processes behind: warn (default) or fail")
      ->type_name("ACTION")
      ->check(one_of({"warn", "fail"}));
}

void add_hierarchy_option(CLI::App& command, SelectionOptions& selection) {
  command
      .add_option("--hierarchy", selection.hierarchy,
                  "How Intel cards with several tiles appear: composite, flat or combined (default: "
                  "ZE_FLAT_DEVICE_HIERARCHY, else composite)")
      ->type_name("MODE")
      ->check(one_of({"composite", "flat", "combined"}));
}

void add_mask_option(CLI::App& command, SelectionOptions& selection) {
  command
      .add_option("--mask", selection.mask,
                  "How CUDA_VISIBLE_DEVICES names the devices: uuid (default), or index for programs that "
                  "read only numbers; ZE_AFFINITY_MASK always has numbers")
      ->type_name("MODE")
      ->check(one_of({"uuid", "index"}));
}

void add_mem_cap_option(CLI::App& command, SelectionOptions& selection) {
  command
      .add_option(
          "--mem-cap", selection.mem_cap,
          "Memory limit per device and process, for example 512M or 4G, for the built-in suites, CuPy "
          "and JAX; other programs read PROCTOR_MEM_CAP")
      ->type_name("SIZE");
}

void add_host_pids_option(CLI::App& command, SelectionOptions& selection) {
  command.add_flag("--host-pids", selection.host_pids,
                   "Run without a PID and a user namespace, for MPS, profilers and sudo");
}

void add_lease_wait_option(CLI::App& command, PlanOptions& options) {
  command
      .add_option("--lease-wait", options.lease_wait_text,
                  "Longest wait for devices that other runs hold, if listing needs a device (default: 10m)")
      ->type_name("DURATION");
}

void add_plan_options(CLI::App& command, PlanOptions& options) {
  add_hierarchy_option(command, options.selection);
  add_mask_option(command, options.selection);
  add_mem_cap_option(command, options.selection);
  add_host_pids_option(command, options.selection);
  add_suite_options(command, options.selection);
  add_case_options(command, options.selection);
  command.add_option("--config", options.config.config_file, "Configuration file (default: proctor.toml)")
      ->type_name("FILE");
  command.add_option("--profile", options.config.profile, "Apply [profile.NAME] of the configuration")
      ->type_name("NAME");
  add_suite_arguments(command, options.suite_arguments, suite_argument_names());
}

Result<Layers> read_layers(const MachineOptions& options) {
  const std::string& text = options.containment;
  if (text == kAnyLayer) return Layers{};
  const bool at_least = text.starts_with(kAtLeast);
  const std::string name = at_least ? text.substr(kAtLeast.size()) : text;
  if (const auto layer = parse_layer(name)) {
    return at_least ? Layers{.wanted = {}, .required = layer} : Layers{.wanted = layer, .required = {}};
  }
  auto choices = layer_names();
  if (!at_least) choices.insert(choices.begin(), kAnyLayer);
  return Error::refused(fmt::format("--containment `{}` is not a containment layer", text),
                        suggestion(name, choices, "layers"));
}

Result<void> complete(PlanOptions& options, const AfterDashes& after_dashes) {
  if (auto read = read_suite_arguments(options.suite_arguments, options.extent, options.provider); !read)
    return read;
  if (options.lease_wait_text) {
    const auto wait = parse_duration(*options.lease_wait_text);
    if (!wait) return Error::refused("--lease-wait: " + wait.error().what, wait.error().hint);
    options.lease_wait = *wait;
  }
  std::error_code error;
  options.config.directory = std::filesystem::current_path(error).string();
  if (error) return Error::system("find the current directory", error.value());
  options.config.user_file = user_config_file(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
  if (after_dashes) {
    if (after_dashes->empty()) return Error::refused("There is no command after `--`");
    options.selection.command = *after_dashes;
  }
  return {};
}

}  // namespace proctor
