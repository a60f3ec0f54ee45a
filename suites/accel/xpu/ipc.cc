// Memory of another process, and what carries a handle there.
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "harness/base/hex.h"
#include "suites/accel/xpu/ipc_token.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

// The exporter's descriptor as one of ours; -1 when the kernel refuses.
int fetch_descriptor(int pid, int fd) {
  const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return -1;
  const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
  const int error = errno;
  close(pidfd);
  errno = error;
  return copy;
}

}  // namespace

std::string ipc_token(std::span<const char> handle) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // fails where nothing restricts tracing
  return std::to_string(getpid()) + ":" + to_hex(handle);
}

Status open_token(const std::string& token, std::span<char> handle, const std::function<Status()>& open) {
  const std::size_t colon = token.find(':');
  int pid = 0;
  if (colon == std::string::npos || !from_hex(std::string_view(token).substr(colon + 1), handle) ||
      std::from_chars(token.data(), token.data() + colon, pid).ec != std::errc()) {
    return {ZE_RESULT_ERROR_INVALID_ARGUMENT, "accel::open_token"};
  }
  const Status unmodified = open();
  if (unmodified.ok()) return unmodified;
  int theirs = -1;
  std::memcpy(&theirs, handle.data(), sizeof theirs);
  const int ours = fetch_descriptor(pid, theirs);
  if (ours < 0) throw suite::Skipped("needs:pidfd_getfd");
  std::memcpy(handle.data(), &ours, sizeof ours);
  const Status duplicated = open();
  if (!duplicated.ok()) close(ours);
  return duplicated;
}

std::string Ipc::export_memory(const Context& context, const Buffer& buffer) {
  ze_ipc_mem_handle_t handle{};
  ZE_CALL(zeMemGetIpcHandle, native(context), buffer.data(), &handle).or_throw();
  return ipc_token(handle.data);
}

Status Ipc::try_import(const Context& context, const std::string& token, std::size_t bytes, Buffer& out) {
  ze_ipc_mem_handle_t handle{};
  void* pointer = nullptr;
  const Status status = open_token(token, handle.data, [&] {
    return ZE_CALL(zeMemOpenIpcHandle, native(context), native(context.device()), handle, 0, &pointer);
  });
  if (status.ok()) out = Buffer(context, MemoryKind::kDevice, static_cast<std::byte*>(pointer), bytes, true);
  return status;
}

Status Ipc::try_close(const Context& context, void* pointer) {
  return ZE_CALL(zeMemCloseIpcHandle, native(context), pointer);
}

}  // namespace proctor::accel
