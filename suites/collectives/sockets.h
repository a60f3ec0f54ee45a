// The sockets of this process, because other processes could reach those that it opened.
#pragma once

#include <map>
#include <string>

namespace proctor::collectives {

using Sockets = std::map<int, std::string>;  // descriptor to "socket:[12345]", as /proc/self/fd has it

Sockets open_sockets();
// Those that are not in `before`.
Sockets opened_since(const Sockets& before);

}  // namespace proctor::collectives
