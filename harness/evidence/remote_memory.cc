#include "harness/evidence/remote_memory.h"

#include <sys/uio.h>

#include <cerrno>

namespace proctor {

bool RemoteMemory::read(std::uint64_t address, void* to, std::size_t size) const {
  iovec local{to, size};
  iovec remote{reinterpret_cast<void*>(address), size};  // NOLINT: an address of the other process
  const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (got < 0 && errno == EPERM) refused_ = true;
  return got == static_cast<ssize_t>(size);
}

}  // namespace proctor
