// An IPC handle of Level Zero as text that another process can use. The first four bytes of such a
// handle are a file descriptor of the exporter (specification, Inter-Process Communication; the
// official tests pass it over a socket); here the importer copies it with pidfd_getfd, and for that the
// exporter permits other processes to trace it.
#pragma once

#include <span>
#include <string>

namespace proctor::accel {

std::string ipc_token(std::span<const char> handle);

// Restores the handle with a descriptor of this process in it, which is returned and belongs to the caller.
// -1 if the text is no token. Ends the check as skip(needs:pidfd_getfd) when the kernel refuses.
int handle_from_token(const std::string& token, std::span<char> handle);

}  // namespace proctor::accel
