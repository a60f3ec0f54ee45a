// Implements `proctor doctor`: prints what this machine can and cannot do, and one line for each repair. With the files
// of another machine (--root), it checks only the driver stack.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>
#include <utility>

#include "harness/base/named_file.h"
#include "harness/base/outside_program.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/device_report.h"
#include "harness/devices/leases/lease.h"
#include "harness/devices/library_search.h"
#include "harness/doctor/examine_host.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/process/evidence/kernel_log.h"
#include "harness/process/evidence/tools.h"
#include "harness/runner/machine/installation.h"

namespace proctor::cli {
namespace {

struct VendorLibrary {
  const char* name;
  const char* meaning;
};
// The limits keep doctor below 5 s, even if the drivers of both vendors hang.
constexpr Milliseconds kProbeTimeout{1'800};
constexpr Milliseconds kOtherTimeout{500};  // for the version of another installed proctor

struct DoctorRequest {
  DeviceQuery query;
  std::string root = "/";
  std::string rules;
  bool json = false;
};

constexpr VendorLibrary kVendorLibraries[] = {
    {"libze_loader.so.1", "Level Zero loader"}, {"libze_intel_gpu.so.1", "Intel GPU driver"},
    {"libcuda.so.1", "NVIDIA driver"},          {"libnvidia-ml.so.1", "NVIDIA management"},
    {"libcudart.so.13", "CUDA Runtime 13"},     {"libcudart.so.12", "CUDA Runtime 12"},
    {"libnccl.so.2", "NVIDIA collectives"},     {"libccl.so.1", "Intel collectives"}};

Result<std::vector<KnownBad>> rules_of(const DoctorRequest& request) {
  auto rules = known_bad_rules();
  if (request.rules.empty()) return rules;
  const auto text = read_typed_file(request.rules);
  if (!text) return text.error();
  auto more = parse_known_bad(*text, request.rules);
  if (!more) return more.error();
  for (auto& rule : *more) {
    // a user's rule replaces the embedded one
    std::erase_if(rules, [&](const KnownBad& known) { return known.id == rule.id; });
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<HostFindings> judge(const DoctorRequest& request) {
  const auto rules = rules_of(request);
  if (!rules) return rules.error();
  const char* path = std::getenv("LD_LIBRARY_PATH");
  const auto host = read_host(request.root, path == nullptr ? "" : path, image_digest_of_caller());
  if (!host) return host.error();
  return examine_host(*host, embedded_host_minima(), *rules, today_text());
}

void print_findings(const HostFindings& findings, std::ostream& out) {
  out << "driver stack\n";
  for (const auto& finding : findings) {
    out << clean_text(
               fmt::format("  {:<6}  {:<18} {}", to_string(finding.state), finding.check, finding.what))
        << '\n';
    if (finding.state == HostState::kOk) continue;
    if (!finding.where.empty()) out << clean_text("          at " + finding.where) << '\n';
    if (!finding.fix.empty()) out << clean_text("          to fix it: " + finding.fix) << '\n';
    for (const auto& source : finding.sources) out << clean_text("          see " + source) << '\n';
  }
}

void print_containment(std::ostream& out) {
  out << "containment (the best one that works is used)\n";
  for (const LayerProbe& probe : Containment::probe_all()) {
    out << fmt::format("  {:<12} {}\n", to_string(probe.layer),
                       probe.works ? "works" : "no: failed to " + probe.why_not);
    if (!probe.signals.empty()) out << "             " << signals_text(probe.signals) << '\n';
    for (const std::string& text : probe.not_guaranteed)
      out << "             not guaranteed: " << text << '\n';
    for (const std::string& text : probe.how_to_improve) out << "             to fix it: " << text << '\n';
  }
}

std::set<std::string> other_installations() {
  std::set<std::string> others;
  std::istringstream directories(search_path());
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string program = find_tool("proctor", directory);
    if (program.empty()) continue;
    const auto answer =
        run_outside_program({.argv = {program, "--version"}, .package = "proctor", .time = kOtherTimeout});
    const std::string facts = answer ? answer->output : answer.error().message();
    if (facts.ends_with("installed " + Installation().description() + "\n")) continue;
    others.insert(fmt::format("{} ({})", program, facts.substr(0, facts.find('\n'))));
  }
  return others;
}

// Prints other installations, because scripts and other shells may use another proctor from PATH.
void print_installation(std::ostream& out) {
  out << fmt::format("installation\n  proctor {:<14} {}\n", PROCTOR_VERSION, Installation().description());
  for (const auto& other : other_installations()) {
    out << clean_text("  warn    PATH has another one: " + other)
        << "\n          to fix it: uninstall one of them\n";
  }
}

// Prints the place of each vendor's library for a child. The runner itself loads no library.
void print_libraries(std::ostream& out) {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  const auto directories = system_library_directories(path == nullptr ? "" : path);
  out << "vendor libraries\n";
  for (const auto& [name, meaning] : kVendorLibraries) {
    const std::string found = find_library(name, directories);
    out << fmt::format("  {:<22} {:<30} {}\n", name, meaning, found.empty() ? "not found" : found);
  }
}

// Prints the directory of leases, which concurrent runs share, and the holders of devices.
void print_leases(std::ostream& out) {
  out << "leases\n";
  const auto leases = LeaseDirectory::open(LeaseDirectory::default_path());
  if (!leases) {
    out << fmt::format("  not available: failed to {}\n", leases.error().what);
    return;
  }
  out << fmt::format("  {} (scope: {})\n", leases->path(), to_string(leases->scope()));
  for (const auto& entry : leases->list()) {
    if (entry.held) out << "  " << shown(describe(entry.record)) << '\n';
    if (!entry.held && entry.record.dirty)
      out << shown(fmt::format("  {} was left dirty by run {}", entry.record.device, entry.record.holder.run))
          << '\n';
  }
}

// Prints which tools can inspect a case before its limit ends it, and whether the kernel permits that.
void print_evidence_tools(std::ostream& out) {
  const char* path = std::getenv("PATH");
  const std::string search = (path == nullptr ? "" : path) + (":" + Installation().tool_directories());
  out << "evidence of a timeout\n";
  for (const auto& [name, how] :
       {std::pair("gdb", "apt-get install gdb: native stacks"),
        std::pair("eu-stack", "apt-get install elfutils: native stacks, without gdb"),
        std::pair("py-spy", "pip install py-spy: Python stacks")}) {
    const std::string found = find_tool(name, search);
    out << fmt::format("  {:<22} {}\n", name, found.empty() ? std::string("not found; ") + how : found);
  }
  const TracePermission permission = read_trace_permission();
  out << fmt::format("  {:<22} {}\n", "permission",
                     allows_tracing(permission) ? "yes" : "no; " + how_to_allow_tracing(permission));
}

// Prints whether the kernel log, in which a diagnosis finds the drivers' messages about a device, can be read.
void print_kernel_log(std::ostream& out) {
  const KernelLog log = KernelLog::from_environment();
  out << "kernel log\n  " << (log.problem().empty() ? "can be read" : log.problem()) << '\n';
}

void print_next(const DeviceReport& report, const DeviceQuery& query, std::ostream& out) {
  out << "next: ";
  if (report.devices().empty()) {
    out << "proctor run --sim xpu:2x2,cuda:4    (no device needed)\n";
  } else if (report.simulation) {
    out << fmt::format("proctor run --sim {}\n", query.machine.sim);
  } else {
    out << "proctor run\n";
  }
}

Result<void> print_this_machine(const DeviceQuery& query) {
  const auto report = report_devices(query);
  if (!report) return report.error();
  print_installation(std::cout);
  std::cout << "devices\n";
  print_devices(*report, std::cout);
  print_libraries(std::cout);
  print_containment(std::cout);
  print_leases(std::cout);
  print_evidence_tools(std::cout);
  print_kernel_log(std::cout);
  print_next(*report, query, std::cout);
  return {};
}

int run_doctor(const DoctorRequest& request) {
  const bool simulated = !request.query.machine.sim.empty();
  HostFindings findings;
  if (!simulated) {  // simulated devices need no driver stack
    auto judged = judge(request);
    if (!judged) return fail(judged.error());
    findings = *std::move(judged);
  }
  if (request.json) {
    std::cout << to_json(findings) << '\n';
  } else {
    if (!simulated) print_findings(findings, std::cout);
    if (request.root == "/") {
      if (const auto printed = print_this_machine(request.query); !printed) return fail(printed.error());
    }
  }
  return worst_state(findings) == HostState::kBroken ? kExitRed : kExitGreen;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("doctor", "Check this machine and suggest fixes");
  auto request = std::make_shared<DoctorRequest>();
  request->query.probe_timeout = kProbeTimeout;
  add_device_query_options(*command, request->query);
  command
      ->add_option("--root", request->root, "Root of the machine whose driver stack is checked (default: /)")
      ->type_name("DIR");
  command
      ->add_option("--rules", request->rules,
                   "File of more known-bad combinations, in the form of the built-in ones")
      ->type_name("FILE");
  command->add_flag("--json", request->json, "Print the verdicts as one JSON document");
  command->callback([&action, request] { action = [request] { return run_doctor(*request); }; });
}

}  // namespace proctor::cli
