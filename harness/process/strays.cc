#include "harness/process/strays.h"

#include <string>

#include "harness/core/read_file.h"
#include "harness/core/text.h"
#include "harness/process/guard/tree.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxNamed = 64;
constexpr std::size_t kMaxCommand = 200;

// "" when the process is gone meanwhile.
std::string read_proc(pid_t pid, const char* name) {
  auto text = read_file("/proc/" + std::to_string(pid) + "/" + name);
  return text ? *std::move(text) : "";
}

}  // namespace

bool is_zombie_or_gone(pid_t pid) {
  const std::string stat = read_proc(pid, "stat");
  const std::size_t after_name = stat.rfind(") ");
  return after_name == std::string::npos || stat[after_name + 2] == 'Z' || stat[after_name + 2] == 'X';
}

std::string command_of(pid_t pid) {
  std::string command = read_proc(pid, "cmdline");
  for (char& c : command) {
    if (c == '\0') c = ' ';
  }
  while (!command.empty() && command.back() == ' ') command.pop_back();
  if (command.size() > kMaxCommand) command.resize(kMaxCommand);
  return clean_text(command);
}

std::vector<Stray> find_strays(pid_t guard, pid_t leader) {
  std::vector<Stray> strays;
  for (const pid_t pid : guard::descendants(guard)) {
    if (pid == leader || is_zombie_or_gone(pid)) continue;
    if (strays.size() == kMaxNamed) break;
    strays.push_back({pid, command_of(pid)});
  }
  return strays;
}

pid_t find_leader(pid_t guard) {
  for (const pid_t pid : guard::descendants(guard)) {
    if (!is_zombie_or_gone(pid)) return pid;
  }
  return 0;
}

}  // namespace proctor
