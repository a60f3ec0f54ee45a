#include "harness/process/evidence/permission.h"

#include <charconv>
#include <cstdint>

#include "harness/base/read_file.h"

namespace proctor {
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
