// proctor doctor: what this machine can do, what it cannot, and the one line that would mend each.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/device_report.h"
#include "harness/cli/run_options.h"
#include "harness/core/exit_code.h"
#include "harness/devices/lease.h"
#include "harness/devices/library_search.h"
#include "harness/evidence/kernel_log.h"
#include "harness/evidence/permission.h"
#include "harness/evidence/tools.h"

namespace proctor::cli {
namespace {

struct VendorLibrary {
  const char* name;
  const char* meaning;
};
constexpr VendorLibrary kVendorLibraries[] = {
    {"libze_loader.so.1", "Level Zero loader"}, {"libze_intel_gpu.so.1", "Intel GPU driver"},
    {"libcuda.so.1", "NVIDIA driver"},          {"libnvidia-ml.so.1", "NVIDIA management"},
    {"libcudart.so.13", "CUDA Runtime"},        {"libnccl.so.2", "NVIDIA collectives"},
    {"libccl.so.1", "Intel collectives"}};

void print_containment(std::ostream& out) {
  out << "containment (the best one that works is used)\n";
  for (const LayerProbe& probe : Containment::probe_all()) {
    out << fmt::format("  {:<10} {}\n", to_string(probe.layer),
                       probe.works ? "works" : "no: failed to " + probe.why_not);
    for (const std::string& text : probe.not_guaranteed)
      out << "             not guaranteed: " << text << '\n';
    for (const std::string& text : probe.how_to_improve) out << "             to mend it: " << text << '\n';
  }
}

// Device nodes by name, whether or not a driver library is installed: a node without permission is the usual
// reason for "no device".
void print_nodes(std::ostream& out) {
  out << "device nodes\n";
  bool any = false;
  for (const char* directory : {"/dev/dri", "/dev"}) {
    std::error_code ec;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ec)) {
      const std::string name = entry.path().filename();
      const bool wanted = name.starts_with("renderD") || (name.starts_with("nvidia") && name.size() > 6);
      if (!wanted || entry.is_directory(ec)) continue;
      any = true;
      out << fmt::format(
          "  {} {}\n", entry.path().string(),
          can_open(entry.path()) ? "can be opened" : "permission denied: join its group (ls -ln shows it)");
    }
  }
  if (!any) out << "  none: no accelerator, or its nodes are not passed into this container\n";
}

// Where a child would find each vendor's library; the runner itself loads none.
void print_libraries(std::ostream& out) {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  const auto directories = system_library_directories(path == nullptr ? "" : path);
  out << "vendor libraries\n";
  for (const auto& [name, meaning] : kVendorLibraries) {
    const std::string found = find_library(name, directories);
    out << fmt::format("  {:<22} {:<30} {}\n", name, meaning, found.empty() ? "not found" : found);
  }
}

// Whom a run shares its devices with, and who has which now.
void print_leases(std::ostream& out) {
  out << "leases\n";
  const auto leases = LeaseDirectory::open(LeaseDirectory::kDefaultPath);
  if (!leases) {
    out << fmt::format("  cannot be had: failed to {}\n", leases.error().what);
    return;
  }
  out << fmt::format("  {} (scope: {})\n", leases->path(), to_string(leases->scope()));
  for (const auto& entry : leases->list()) {
    if (entry.held) out << "  " << describe(entry.record) << '\n';
    if (!entry.held && entry.record.dirty)
      out << fmt::format("  {} was left dirty by run {}\n", entry.record.device, entry.record.holder.run);
  }
}

// What looks at a case before a limit ends it, and whether it may.
void print_evidence_tools(std::ostream& out) {
  const char* path = std::getenv("PATH");
  const std::string search = path == nullptr ? "" : path;
  out << "evidence of a timeout\n  Python stacks of 3.11 to 3.13: read by proctor itself\n";
  for (const auto& [name, how] :
       {std::pair("gdb", "apt-get install gdb: native stacks"),
        std::pair("eu-stack", "apt-get install elfutils: native stacks, without gdb"),
        std::pair("py-spy", "pip install py-spy: stacks of other Python versions")}) {
    const std::string found = find_tool(name, search);
    out << fmt::format("  {:<22} {}\n", name, found.empty() ? std::string("not found; ") + how : found);
  }
  const TracePermission permission = read_trace_permission();
  out << fmt::format("  {:<22} {}\n", "permission",
                     allows_tracing(permission) ? "yes" : "no; " + how_to_allow_tracing(permission));
}

// Where a diagnosis finds what the drivers said about a device.
void print_kernel_log(std::ostream& out) {
  const KernelLog log = KernelLog::from_environment();
  out << "kernel log\n  " << (log.problem().empty() ? "can be read" : log.problem()) << '\n';
}

int run_doctor(const SimulationOptions& options) {
  const auto report = report_devices(options);
  if (!report) return fail(report.error());
  std::cout << "devices\n";
  print_devices(*report, std::cout);
  print_nodes(std::cout);
  print_libraries(std::cout);
  print_containment(std::cout);
  print_leases(std::cout);
  print_evidence_tools(std::cout);
  print_kernel_log(std::cout);
  std::cout << "next: ";
  if (report->devices().empty()) {
    std::cout << "proctor run --sim xpu:2x2,cuda:4    (no device needed)\n";
  } else if (report->simulation) {
    std::cout << fmt::format("proctor run --sim {}{}\n", options.topology,
                             options.driver.empty() ? "" : " --sim-driver " + options.driver);
  } else {
    std::cout << "proctor run\n";
  }
  return kExitGreen;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("doctor", "what this machine can do: devices, containment, what to mend");
  auto options = std::make_shared<SimulationOptions>();
  add_simulation_options(*command, *options);
  command->callback([&action, options] { action = [options] { return run_doctor(*options); }; });
}

}  // namespace proctor::cli
