// Implements `proctor healthcheck`: reports drained devices to a node agent that calls it every few minutes. It reads
// the list of drained devices and the device nodes, and loads no driver. `--slurm` is for HealthCheckProgram
// (slurm.conf(5)). slurmd passes only SLURMD_NODENAME to that program and ignores its exit code, so the program itself
// must drain the node.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "harness/base/outside_program.h"
#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/end_run.h"
#include "harness/devices/device.h"
#include "harness/devices/health/drained.h"
#include "harness/devices/leases/lease.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/report_text.h"

namespace proctor::cli {
namespace {

// Short limits, because Slurm runs the program on all nodes at once.
constexpr Milliseconds kCheckLimit{2'000};
constexpr Milliseconds kScontrolLimit{1'500};
constexpr const char* kScontrolPackage = "slurm-client";

struct CheckOptions {
  std::string state_dir = LeaseDirectory::default_path();
  bool slurm = false;
  bool drain = false;
};

std::string nodes_in_words() {
  const bool nvidia = has_nvidia_node();
  const bool intel = has_intel_node();
  if (nvidia && intel) return "there are devices of NVIDIA and of Intel";
  if (nvidia) return "there are devices of NVIDIA";
  return intel ? "there are devices of Intel" : "there is no device node of NVIDIA or of Intel";
}

Result<std::string> scontrol(std::vector<std::string> argv) {
  const auto done = run_outside_program({.argv = argv, .package = kScontrolPackage, .time = kScontrolLimit});
  if (!done) return done.error();
  if (done->exit_code == 0) return done->output;
  const std::string said = done->errors.empty() ? done->output : done->errors;
  return Error{
      ErrorKind::kSystem, fmt::format("run {} {}: {}", argv[0], argv[1], one_line(said, 200)), {}, 0};
}

// Returns "IDLE+DRAIN" of "State=IDLE+DRAIN ThreadsPerCore=1".
std::string value_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  if (at == text.npos) return {};
  const auto from = at + key.size();
  return text.substr(from, text.find_first_of(" \n", from) - from);
}

bool is_node_drained(const std::string& node) {
  return value_after(node, "State=").find("DRAIN") != std::string::npos;
}

// A node that is already drained stays unchanged, and its reason is kept.
Result<void> drain_node(const std::string& node, const std::vector<DrainedDevice>& drained,
                        const Limit& limit) {
  limit.doing("querying the node with scontrol");
  const auto shown_node = scontrol({"scontrol", "show", "node", node});
  if (!shown_node) return shown_node.error();
  if (is_node_drained(*shown_node)) {
    print_sentences({"node " + node + " is already drained"});
    return {};
  }
  limit.doing("draining the node with scontrol");
  const auto done = scontrol(slurm_drain_command(node, node_reason(drained)));
  if (!done) return done.error();
  print_sentences({"drained node " + node});
  return {};
}

int check_health(const CheckOptions& options) {
  if (options.drain && !options.slurm)
    return fail(
        Error::refused("--drain requires --slurm", "For example: proctor healthcheck --slurm --drain"));
  const Limit limit(kCheckLimit);
  limit.doing("reading the drained devices");
  const std::vector<DrainedDevice> drained = DrainList(options.state_dir).list();
  limit.doing("searching for device nodes");
  if (drained.empty()) {
    print_sentences({"no device is drained; " + nodes_in_words()});
    return kExitGreen;
  }
  for (const DrainedDevice& device : drained) print_sentences({describe(device)});
  if (!options.slurm) return kExitMachine;
  const std::string node = own_slurm_node();
  if (node.empty()) {
    return fail(Error{
        ErrorKind::kUsage, "name the node for Slurm: SLURMD_NODENAME is not set",
        "slurmd sets it for a HealthCheckProgram. By hand: SLURMD_NODENAME=NAME proctor healthcheck --slurm",
        0});
  }
  if (!options.drain) {
    print_sentences({"to drain the node: " + slurm_drain_line(drained)});
    return kExitMachine;
  }
  if (auto done = drain_node(node, drained, limit); !done) fail(done.error());
  return kExitMachine;
}

}  // namespace

void add_healthcheck_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("healthcheck", "Report drained devices to the agent of a node");
  auto options = std::make_shared<CheckOptions>();
  command->add_flag("--slurm", options->slurm,
                    "Print the scontrol command that drains this node, if a device is drained");
  command->add_flag("--drain", options->drain, "Run that command, unless the node is already drained");
  command
      ->add_option("--state-dir", options->state_dir,
                   "Directory of leases and drained devices (default: /run/lock)")
      ->type_name("DIR");
  command->callback([options, &action] { action = [options] { return check_health(*options); }; });
}

}  // namespace proctor::cli
