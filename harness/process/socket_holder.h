// Who is at the other end of a TCP connection over loopback. The kernel does not say so of TCP, as it does of a socket
// in the file system: the other end is looked up in /proc/net/tcp, and then among the open files of the processes that
// it may belong to. Nothing here blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace proctor {

// The inode of the socket at the other end of `connection`, an IPv4 socket. 0: it has been closed, so that nobody can
// say whose it was. None: the list cannot be read.
std::optional<std::uint64_t> inode_of_peer(int connection);

// Whether a descendant of `guard` has the socket open. `children_fd` is as in guard/tree.h. A process whose files
// cannot be read does not have it.
bool tree_holds_socket(pid_t guard, std::uint64_t inode, int children_fd = -1);

}  // namespace proctor
