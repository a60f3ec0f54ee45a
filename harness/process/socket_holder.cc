#include "harness/process/socket_holder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "harness/process/guard/tree.h"

namespace proctor {
namespace {

// Before the address of IPv4 in /proc/net/tcp6.
constexpr std::string_view kMappedIpv4 = "0000000000000000FFFF0000";

// As /proc/net/tcp writes it: the address as it is in memory, and the port.
std::optional<std::string> end_of(int connection, decltype(&getsockname) name_of) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  if (name_of(connection, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  if (address.sin_family != AF_INET) return std::nullopt;
  return fmt::format("{:08X}:{:04X}", address.sin_addr.s_addr, ntohs(address.sin_port));
}

// The tenth word of a line of /proc/net/tcp.
std::uint64_t inode_in(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  for (int i = 0; i < 10; ++i) words >> word;
  std::uint64_t inode = 0;
  static_cast<void>(std::from_chars(word.data(), word.data() + word.size(), inode));
  return inode;
}

// 0: no line has these ends.
std::uint64_t inode_with(std::istream& table, const std::string& ends) {
  for (std::string line; std::getline(table, line);) {
    if (line.find(ends) != line.npos) return inode_in(line);
  }
  return 0;
}

bool has_open(pid_t pid, std::string_view link) {
  const std::string path = fmt::format("/proc/{}/fd", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir(path.c_str()), closedir);
  if (!files) return false;
  while (const dirent* file = readdir(files.get())) {
    char target[64];
    const ssize_t length = readlinkat(dirfd(files.get()), file->d_name, target, sizeof(target));
    if (length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == link) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> inode_of_peer(int connection) {
  const auto ours = end_of(connection, getsockname);
  const auto theirs = end_of(connection, getpeername);
  std::ifstream table("/proc/self/net/tcp");
  if (!table) return std::nullopt;
  if (!ours || !theirs) return 0;
  if (const std::uint64_t inode = inode_with(table, fmt::format(" {} {} ", *theirs, *ours)); inode != 0)
    return inode;
  std::ifstream mapped("/proc/self/net/tcp6");  // a socket of IPv6 connects to 127.0.0.1, too
  return inode_with(mapped, fmt::format(" {1}{0} {1}{2} ", *theirs, kMappedIpv4, *ours));
}

bool tree_holds_socket(pid_t guard, std::uint64_t inode, int children_fd) {
  const std::string link = fmt::format("socket:[{}]", inode);
  const guard::PidList pids = guard::descendants(guard, children_fd);
  return std::any_of(pids.begin(), pids.end(), [&](pid_t pid) { return has_open(pid, link); });
}

}  // namespace proctor
