#include "harness/process/evidence/tools.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <sstream>

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
    // gdb would ask a server for debug information, and wait for it.
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

}  // namespace proctor
