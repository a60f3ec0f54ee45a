#include "harness/process/evidence/tools.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <charconv>
#include <cstdint>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/process/contained_process.h"

namespace proctor {
namespace {

std::string problem_of(const ProcessEnd& end, Milliseconds limit) {
  if (end.spawn_error)
    return "cannot be started: " + Error::system(end.spawn_error->step, end.spawn_error->err).what;
  if (end.cause == EndCause::kTimeout) return "killed after " + human_duration(limit);
  if (end.exit_signal) return "killed by signal " + std::to_string(*end.exit_signal);
  if (end.exit_code && *end.exit_code != 0) return "exit " + std::to_string(*end.exit_code);
  if (end.kept_stdout_truncated) return "printed too much";
  return end.exit_code ? "" : "no exit status";
}

}  // namespace

std::string find_tool(const std::string& name, const std::string& search) {
  std::istringstream directories(search);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string path = directory + "/" + name;
    if (directory.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

ToolSettings tool_settings(const std::map<std::string, std::string>& environment, const std::string& more) {
  ToolSettings settings;
  if (const auto path = environment.find("PATH"); path != environment.end()) settings.search = path->second;
  if (!more.empty()) settings.search += ':' + more;
  for (const auto& [name, value] : environment) {
    // gdb would request debug information from a server, and wait for the response.
    if (name != "DEBUGINFOD_URLS") settings.environment.push_back(name + "=" + value);
  }
  return settings;
}

std::vector<ToolRun> run_tools(Containment& containment,
                               const std::vector<std::vector<std::string>>& commands,
                               const std::vector<std::string>& environment, Milliseconds limit) {
  std::vector<ToolRun> runs(commands.size());
  boost::asio::io_context io(1);
  std::vector<std::shared_ptr<ContainedProcess>> processes;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    ProcessSpec spec;
    spec.argv = commands[i];
    spec.env = environment;
    spec.directory = "/";
    spec.limits.timeout = limit;
    spec.limits.fair = true;
    spec.limits.grace = Milliseconds(0);
    spec.keep_stdout = true;
    spec.reach = Reach::kMachine;
    processes.push_back(
        ContainedProcess::start(io, containment, std::move(spec), [&, i](const ProcessEnd& end) {
          runs[i] = {
              .output = end.kept_stdout, .errors = end.output.stderr_tail, .problem = problem_of(end, limit)};
        }));
  }
  io.run();
  return runs;
}

namespace {

constexpr unsigned kCapSysPtrace = 19;
constexpr int kYamaOff = 0;
constexpr int kYamaNever = 3;

bool is_capable() {
  const auto status = read_file("/proc/self/status");
  const std::string mark = "CapEff:\t";
  const std::size_t at = status ? status->find(mark) : std::string::npos;
  if (at == std::string::npos) return false;
  std::uint64_t mask = 0;
  const char* begin = status->data() + at + mark.size();
  std::from_chars(begin, status->data() + status->size(), mask, 16);
  return ((mask >> kCapSysPtrace) & 1) != 0;
}

}  // namespace

TracePermission read_trace_permission() {
  TracePermission permission{.yama = std::nullopt, .capable = is_capable()};
  if (const auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope")) {
    int value = 0;
    std::from_chars(scope->data(), scope->data() + scope->size(), value);
    permission.yama = value;
  }
  return permission;
}

bool allows_tracing(const TracePermission& permission) {
  const int yama = permission.yama.value_or(kYamaOff);
  return yama < kYamaNever && (yama == kYamaOff || permission.capable);
}

std::string how_to_allow_tracing(const TracePermission& permission) {
  const int yama = permission.yama.value_or(kYamaOff);
  if (yama >= kYamaNever) return "kernel.yama.ptrace_scope is 3: only a reboot without it allows stacks";
  if (yama > kYamaOff && !permission.capable)
    return "sudo sysctl kernel.yama.ptrace_scope=0 allows it (in a container: on the host)";
  if (!permission.capable)
    return "it belongs to another user or may not be read: run as root, or docker run --cap-add SYS_PTRACE";
  return "a security module or a seccomp filter refuses it: docker run --security-opt seccomp=unconfined";
}

}  // namespace proctor
