// An IPC handle of Level Zero as text that another process can use. The specification does not define its bytes. The first
// four are the number of a file descriptor of the exporter. Intel's drivers 26.09 to 26.14 need the unmodified handle and
// fetch the descriptor. Earlier drivers need the number of a descriptor of the importer (the official tests pass it over a
// socket). The importer tries the unmodified handle first. Then it tries the handle with a descriptor that it copies with
// pidfd_getfd. For both, the exporter permits other processes to trace it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "suites/accel/accel.h"

namespace proctor::accel {

std::string ipc_token(std::span<const char> handle);

// Copies the bytes of the token to `handle` and calls `open`. If `open` fails, it calls `open` again with a descriptor of this
// process in the handle. If that fails too, the descriptor is closed; otherwise it belongs to the driver. A text that is not a
// token is an invalid argument. Ends the check as skip(needs:pidfd_getfd) when the kernel refuses the descriptor.
Status open_token(const std::string& token, std::span<char> handle, const std::function<Status()>& open);

}  // namespace proctor::accel
