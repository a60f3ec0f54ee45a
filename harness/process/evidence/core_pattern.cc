#include "harness/process/evidence/core_pattern.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::size_t kCommBytes = 15;  // the kernel cuts the name of a process

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// "systemd-coredump" of "|/usr/lib/systemd/systemd-coredump %P %u".
std::string taker(const CorePattern& pattern) {
  const std::string_view text = trimmed(std::string_view(pattern.text).substr(1));
  return file_name(text.substr(0, text.find(' ')));
}

std::string taken_by(const CorePattern& pattern, const CrashedProcess& process) {
  const std::string name = taker(pattern);
  const std::string setting = "kernel.core_pattern is " + pattern.text;
  if (name != "systemd-coredump")
    return "its core went to " + name + " (" + setting +
           "); `sysctl kernel.core_pattern=core.%p` keeps it here";
  const std::string which = process.host_pid != 0 ? std::to_string(process.host_pid)
                                                  : file_name(process.program).substr(0, kCommBytes);
  return "its core went to systemd-coredump: `coredumpctl gdb " + shell_quote(which) + "`";
}

}  // namespace

CorePattern read_core_pattern() {
  const std::string text = read_file_or_empty("/proc/sys/kernel/core_pattern");
  const std::string adds_pid = read_file_or_empty("/proc/sys/kernel/core_uses_pid");
  return {.text = std::string(trimmed(text)), .adds_pid = trimmed(adds_pid) != "0"};
}

CoreLimit read_core_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return {};
  return {.soft = limit.rlim_cur, .hard = limit.rlim_max};
}

bool leaves_a_core(int signal) {
  constexpr std::array kSignals = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                   SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
  return std::ranges::find(kSignals, signal) != kSignals.end();
}

bool have_pids_of_the_host() {
  constexpr std::string_view kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO, of every kernel
  std::array<char, 64> target{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", target.data(), target.size());
  return size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size)) == kInitial;
}

std::string core_glob(const CorePattern& pattern, const CrashedProcess& process,
                      const std::string& directory) {
  const std::string& text = pattern.text;
  std::string glob = text.starts_with('/') ? "" : escaped(directory) + "/";
  const std::string pid = process.pid != 0 ? std::to_string(process.pid) : "*";
  bool has_pid = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      glob += escaped(text.substr(i, 1));
      continue;
    }
    const char what = ++i < text.size() ? text[i] : '\0';
    has_pid = has_pid || what == 'p';
    if (what == '%') {
      glob += '%';
    } else if (what == 'p') {
      glob += pid;
    } else if (what == 'P' && process.host_pid != 0) {
      glob += std::to_string(process.host_pid);
    } else if (what == 'u') {
      glob += std::to_string(::getuid());
    } else if (what != '\0') {
      glob += '*';
    }
  }
  if (!has_pid && pattern.adds_pid) glob += '.' + pid;
  return glob;
}

std::string where_the_core_is(const CorePattern& pattern, const CoreLimit& limit,
                              const CrashedProcess& process, bool dumped) {
  if (dumped && pattern.is_taken()) return taken_by(pattern, process);
  if (pattern.is_taken()) return "no core: " + taker(pattern) + " took none (kernel.core_pattern)";
  if (limit.hard == 0) return "no core: its size is limited to 0 (ulimit -Hc), which only root can raise";
  const std::string at_once = pattern.is_shared() ? ", another one crashed there at the same moment" : "";
  return "no core: the program forbade it" + at_once +
         ", or there was no place for it (kernel.core_pattern is " + pattern.text + ")";
}

}  // namespace proctor
