#include "harness/process/ranks/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

UniqueFd tcp_socket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<int> reserve_port() {
  const auto failed = [] { return Error::system("reserve a port on 127.0.0.1", errno); };
  const UniqueFd listener = tcp_socket();
  UniqueFd client = tcp_socket();
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (!listener || !client) return failed();
  if (setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0) return failed();
  if (bind(listener.get(), raw, size) != 0 || getsockname(listener.get(), raw, &size) != 0) return failed();
  if (listen(listener.get(), 1) != 0 || connect(client.get(), raw, size) != 0) return failed();
  UniqueFd accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) return failed();
  accepted.reset();  // whoever closes first keeps the port in TIME_WAIT: the listening side
  client.reset();
  return ntohs(address.sin_port);
}

}  // namespace proctor
