#include "harness/plan/test_support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/read_file.h"

namespace proctor::testing_support {

namespace {

void redirect(int fd, const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file == fd) return;
  dup2(file, fd);
  close(file);
}

[[noreturn]] void exec_listing(std::vector<char*> argv, const std::map<std::string, std::string>& extra_env,
                               const std::string& directory, const std::string& out) {
  redirect(1, out + "/stdout");
  redirect(2, out + "/stderr");
  redirect(3, out + "/events");
  setenv("PROCTOR_EVENTS_FD", "3", 1);
  for (const auto& [name, value] : extra_env) setenv(name.c_str(), value.c_str(), 1);
  if (chdir(directory.c_str()) != 0) _exit(125);
  execvp(argv[0], argv.data());
  _exit(127);
}

}  // namespace

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

Result<ListOutput> run_listing(const std::vector<std::string>& argv,
                               const std::map<std::string, std::string>& extra_env,
                               const std::string& directory) {
  const ScratchDirectory out;
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return Error::system("fork", errno);
  if (pid == 0) exec_listing(pointers, extra_env, directory, out.path());
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return Error::system("wait", errno);
  ListOutput result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.exit_signal = WTERMSIG(status);
  result.stdout_text = read_file_or_empty(out.path() + "/stdout");
  result.stderr_tail = read_file_or_empty(out.path() + "/stderr");
  std::istringstream events(read_file_or_empty(out.path() + "/events"));
  for (std::string line; std::getline(events, line);) result.event_lines.push_back(line);
  return result;
}

Result<ListOutput> refuse_to_run(const std::vector<std::string>& argv,
                                 const std::map<std::string, std::string>&, const std::string&) {
  return Error::internal("run " + argv.front() + ", which must not be started");
}

std::string sample_gtest() { return PLAN_SAMPLE_GTEST; }
std::string listener_gtest() { return PLAN_LISTENER_GTEST; }
std::string sample_benchmark() { return PLAN_SAMPLE_BENCHMARK; }

}  // namespace proctor::testing_support
