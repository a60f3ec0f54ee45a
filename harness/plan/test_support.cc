#include "harness/plan/test_support.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/base/unique_fd.h"
#include "harness/testing/child.h"

namespace proctor::testing_support {

std::string ScratchDirectory::write(const std::string& name, std::string_view text) const {
  const std::filesystem::path file = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

std::string ScratchDirectory::write_script(const std::string& name, std::string_view body) const {
  std::string file = write(name, "#!/bin/sh\n" + std::string(body));
  chmod(file.c_str(), 0755);
  return file;
}

Result<ListOutput> run_listing(const ListCommand& command) {
  const ScratchDirectory scratch;
  const std::string events_file = scratch.write("events", "");
  const UniqueFd events(::open(events_file.c_str(), O_WRONLY | O_CLOEXEC));
  ChildOptions options{
      .env = {"PROCTOR_EVENTS_FD=3"}, .directory = command.directory, .more_fds = {events.get()}};
  for (const auto& [name, value] : command.env) options.env.push_back(name + "=" + value);
  std::vector<std::string> argv = command.argv;
  const std::string list_file = scratch.path() + "/list";
  if (!command.file_option.empty()) argv.push_back(command.file_option + list_file);
  const Ended ended = run_child(argv, options);
  ListOutput result;
  if (ended.exit_code >= 0) result.exit_code = ended.exit_code;
  if (ended.signal != 0) result.exit_signal = ended.signal;
  result.stdout_text = ended.out;
  result.stderr_tail = ended.err;
  result.file_text = read_file_or_empty(list_file);
  std::istringstream lines(read_file_or_empty(events_file));
  for (std::string line; std::getline(lines, line);) result.event_lines.push_back(line);
  return result;
}

Result<ListOutput> refuse_to_run(const ListCommand& command) {
  return Error::internal("run " + command.argv.front() + ", which must not be started");
}

std::string sample_gtest() { return PLAN_SAMPLE_GTEST; }
std::string listener_gtest() { return PLAN_LISTENER_GTEST; }
std::string sample_benchmark() { return PLAN_SAMPLE_BENCHMARK; }

}  // namespace proctor::testing_support
