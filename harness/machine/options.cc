#include "harness/machine/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "harness/core/child_protocol.h"
#include "harness/core/containment_layer.h"
#include "harness/core/text.h"
#include "harness/plan/kinds/all_kinds.h"
#include "harness/plan/load_config.h"

namespace proctor {
namespace {

constexpr const char* kAnyLayer = "auto";

Result<std::optional<Layer>> parse_layer_option(const char* option, const std::string& text) {
  if (text.empty() || text == kAnyLayer) return std::optional<Layer>();
  if (const auto layer = parse_layer(text)) return layer;
  auto choices = layer_names();
  choices.insert(choices.begin(), kAnyLayer);
  return Error::usage(std::string("read ") + option + ": unknown containment layer `" + text + "`",
                      suggestion(text, choices, "layers"));
}

// CLI11 takes -1 for the largest number, and cuts one that is too large.
std::string why_no_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return "";
  return fmt::format("Value {} not in range 0 to {}", text, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command.add_option(
      "--sim", options.sim,
      "Simulated devices, e.g. xpu:2x2 (two Intel cards with two tiles each), cuda:4 (four NVIDIA cards; "
      "cuda:4@12: below a driver for CUDA 12), xpu:2x2,cuda:4, or FILE.toml, which describes each card");
  command.add_option("--sim-driver", options.sim_driver,
                     "What simulates them: simgpu (the default), or intel[@DIR], Intel's own driver in its "
                     "no-hardware mode, "
                     "which executes nothing; with DIR, the one that is unpacked below it");
  command.add_option(
      "--sim-state", options.sim_state,
      "Directory of a simulated machine that several runs share; they lease its cards from each other");
  const auto layers = layer_names();
  command.add_option("--containment", options.containment,
                     fmt::format("What holds each case: {}, {} or {}", kAnyLayer,
                                 fmt::join(layers.begin(), layers.end() - 1, ", "), layers.back()));
  command.add_option("--require-containment", options.require_containment,
                     "Refuse to run with anything weaker");
}

void add_devices_option(CLI::App& command, MachineOptions& options) {
  command.add_option(
      "--devices", options.devices,
      "Use only these, separated by commas: ids, UUIDs or the beginning of one, PCI addresses, or cuda:0 "
      "in the order of `proctor devices`");
}

void add_limit_options(CLI::App& command, LimitOptions& limits) {
  command.add_option("--timeout", limits.timeout, "Time limit of a case, e.g. 90s");
  command.add_option("--grace", limits.grace, "From SIGTERM to SIGKILL after a limit");
  command.add_option("--stall", limits.stall, "Longest silence of a case, or off");
}

void add_verdict_options(CLI::App& command, LimitOptions& limits) {
  command.add_option("--retries", limits.retries, "More attempts after a bad one");
  command
      .add_option("--leaks", limits.leaks,
                  "A good case that left a process behind: warn (the default: it is marked leaky), or fail")
      ->check(CLI::IsMember({"warn", "fail"}));
}

void add_hierarchy_option(CLI::App& command, SelectionOptions& selection) {
  command
      .add_option(
          "--hierarchy", selection.hierarchy,
          "What programs see of Intel cards with several tiles: composite, flat or combined (default: the "
          "caller's ZE_FLAT_DEVICE_HIERARCHY, else composite)")
      ->check(CLI::IsMember({"composite", "flat", "combined"}));
}

void add_mem_cap_option(CLI::App& command, SelectionOptions& selection) {
  command.add_option(
      "--mem-cap", selection.mem_cap,
      "Memory of each device that a process of our suites takes at most, e.g. 512M or 4G; told to "
      "other programs in PROCTOR_MEM_CAP, and to CuPy and JAX");
}

void add_host_pids_option(CLI::App& command, SelectionOptions& selection) {
  command.add_flag("--host-pids", selection.host_pids,
                   "No PID and no user namespace for the cases: for MPS, profilers and sudo");
}

void add_lease_wait_option(CLI::App& command, PlanOptions& options) {
  command.add_option("--lease-wait", options.lease_wait_text,
                     "Longest wait for devices that other runs hold, where a list needs them (default: 10m)");
}

void add_extent_options(CLI::App& command, Extent& extent) {
  command.add_option("--size", extent.size,
                     "How much our checks do: smoke, ci (the default), full or stress");
  command
      .add_option("--seed", extent.seed,
                  "Another choice of the points that our checks are tried with (`proctor explain CASE`)")
      ->check(CLI::Validator(why_no_seed, ""));
}

void add_plan_options(CLI::App& command, PlanOptions& options) {
  auto& selection = options.selection;
  add_hierarchy_option(command, selection);
  add_mem_cap_option(command, selection);
  add_host_pids_option(command, selection);
  command.add_option("suites", selection.suites,
                     "Suites by name; without any: all of the config, else the built-in ones");
  command.add_option("--backend", selection.backend,
                     "Only suites of this backend: cuda, xpu, none or all; default: our own suites on what "
                     "the machine, or --sim, has. After `--`: whose devices the program gets; default: "
                     "guessed from the libraries that it needs");
  command.add_option("--gpus", selection.gpus,
                     "Devices that each case of a suite with a backend gets, and no others");
  command.add_option("--process", selection.process,
                     "What shares a process: case (each has its own), file or suite; default: as configured");
  command.add_option("--env", selection.env, "NAME=VALUE for each case, over the configuration; repeatable")
      ->allow_extra_args(false);
  command.add_option("--kind", selection.kind,
                     "The kind of the program after `--`, where its file does not say: " +
                         fmt::format("{}", fmt::join(kind_names(), ", ")));
  command.add_option("--name", selection.name, "The name of its suite (default: the program's)");
  command.add_option("--filter", selection.filters, "Cases whose id matches this glob (* and ?); repeatable")
      ->allow_extra_args(false);
  command
      .add_option("--case", selection.cases,
                  "The case with exactly this id, or all of the suite of this name; repeatable")
      ->allow_extra_args(false);
  command.add_option("--exclude", selection.excludes, "Not the cases whose id matches this glob; repeatable")
      ->allow_extra_args(false);
  command.add_option("--label", selection.labels, "Only suites with this label; repeatable")
      ->allow_extra_args(false);
  command.add_option("--tag", selection.tags, "Only cases that their framework gives this tag; repeatable")
      ->allow_extra_args(false);
  command.add_option("--config", options.config.config_file, "Read this file instead of ./proctor.toml");
  command.add_option("--profile", options.config.profile, "Apply [profile.NAME] of the config");
  add_extent_options(command, options.extent);
  command.add_option(
      "--point", options.extent.point,
      "Only this point of what our checks are tried with, as a failure names it: AXIS=VALUE,...");
  command.add_option("--provider", options.provider,
                     "The library that our checks of collectives work over: gloo, oneccl or nccl; default: "
                     "each over its own");
}

Result<Layers> read_layers(const MachineOptions& options) {
  const auto wanted = parse_layer_option("--containment", options.containment);
  if (!wanted) return wanted.error();
  const auto required = parse_layer_option("--require-containment", options.require_containment);
  if (!required) return required.error();
  if (*wanted && *required && **wanted > **required) {  // best first
    return Error::usage("read --containment: " + options.containment +
                        " is weaker than --require-containment " + options.require_containment);
  }
  return Layers{.wanted = *wanted, .required = *required};
}

Result<void> complete(PlanOptions& options, const AfterDashes& after_dashes) {
  const std::vector<std::string> sizes = {"smoke", "ci", "full", "stress"};
  const Extent& extent = options.extent;
  if (std::ranges::find(sizes, extent.size) == sizes.end())
    return Error::usage("read --size: unknown size `" + extent.size + "`",
                        suggestion(extent.size, sizes, "sizes"));
  if (!extent.point.empty()) {
    if (const auto point = parse_point(extent.point); !point) return point.error();
  }
  const std::vector<std::string> providers(child::kProviders.begin(), child::kProviders.end());
  if (!options.provider.empty() && std::ranges::find(providers, options.provider) == providers.end()) {
    return Error::usage("read --provider: unknown provider `" + options.provider + "`",
                        suggestion(options.provider, providers, "providers"));
  }
  if (options.lease_wait_text) {
    const auto wait = parse_duration(*options.lease_wait_text);
    if (!wait) return Error::usage("read --lease-wait: " + wait.error().what, wait.error().hint);
    options.lease_wait = *wait;
  }
  std::error_code error;
  options.config.directory = std::filesystem::current_path(error).string();
  if (error) return Error::system("find the current directory", error.value());
  options.config.user_file = user_config_file(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
  if (after_dashes) {
    if (after_dashes->empty()) return Error::usage("read the command line: no command after `--`");
    options.selection.command = *after_dashes;
  }
  return {};
}

}  // namespace proctor
