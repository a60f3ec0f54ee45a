#include "harness/runner/attempt/result_connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <memory>
#include <utility>

#include "harness/base/duration.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

constexpr int kBacklog = 128;
constexpr std::size_t kMostConnections = 64;  // open at once, and as many strangers are named
constexpr std::size_t kMostOfATurn = 64 * 1024;
constexpr Milliseconds kLookUpAgain{10};  // after the first look; each time twice as long as before
constexpr int kMostLooks = 11;            // in 10 s
constexpr std::size_t kMostKept = 16 * 1024 * 1024;
constexpr std::size_t kMostOfRest = 64 * 1024 * 1024;  // of a connection; more than a socket holds

std::string place_of(const sockaddr_in& address) {
  return fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
}

}  // namespace

struct ResultConnection::Connection {
  enum class Owner { kNotYetKnown, kCase, kUnknown };
  enum class Role { kSilent, kSpeaker, kIgnored };

  Connection(boost::asio::io_context& io, int fd, std::string from)
      : descriptor(io, fd), next_look(io), place(std::move(from)), lines(child::kMaxEventBytes) {}

  Descriptor descriptor;
  boost::asio::steady_timer next_look;
  std::string place;
  LineSplitter lines;
  Owner owner = Owner::kNotYetKnown;
  int looks = 0;
  Role role = Role::kSilent;
  std::vector<std::string> greeting{};  // what it said before it told of a case
  bool ended = false;
};

ResultConnection::ResultConnection(boost::asio::io_context& io, Listener listener)
    : io_(io), listener_(std::move(listener)), port_(io) {}

Result<std::shared_ptr<ResultConnection>> ResultConnection::open(boost::asio::io_context& io,
                                                                 Listener listener) {
  UniqueFd port(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (!port || ::bind(port.get(), raw, size) != 0 || ::listen(port.get(), kBacklog) != 0 ||
      ::getsockname(port.get(), raw, &size) != 0)
    return Error::system("listen on 127.0.0.1", errno);
  std::shared_ptr<ResultConnection> made(new ResultConnection(io, std::move(listener)));
  made->port_.assign(port.release());
  made->address_ = place_of(address);
  return made;
}

void ResultConnection::begin(std::function<bool(std::uint64_t)> holds_socket) {
  holds_socket_ = std::move(holds_socket);
  watch();
}

void ResultConnection::watch() {
  port_.async_wait(Descriptor::wait_read, [self = shared_from_this()](boost::system::error_code ec) {
    if (ec || !self->port_.is_open()) return;
    self->accept_one();
    self->watch();
  });
}

bool ResultConnection::accept_one() {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  UniqueFd fd(::accept4(port_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) return false;
  std::erase_if(connections_, [this](const Connection& old) { return old.ended && &old != speaker_; });
  if (connections_.size() >= kMostConnections) {
    mistake_ = fmt::format("opened more than {} connections", kMostConnections);
    return true;
  }
  Connection& connection = connections_.emplace_back(io_, fd.release(), place_of(address));
  if (look_up(connection, /*may_wait=*/true)) watch(connection);
  return true;
}

bool ResultConnection::look_up(Connection& connection, bool may_wait) {
  using Owner = Connection::Owner;
  const auto inode = inode_of_peer(connection.descriptor.native_handle());
  if (inode == 0) connection.owner = Owner::kUnknown;
  if (inode.value_or(0) != 0 && holds_socket_(*inode)) connection.owner = Owner::kCase;
  if (connection.owner != Owner::kNotYetKnown) return true;
  if (!may_wait || ++connection.looks >= kMostLooks) {
    refuse(connection);
  } else {
    look_up_later(connection);
  }
  return false;
}

void ResultConnection::look_up_later(Connection& connection) {
  connection.next_look.expires_after(kLookUpAgain * (1 << (connection.looks - 1)));
  connection.next_look.async_wait([self = shared_from_this(), &connection](boost::system::error_code ec) {
    if (ec || connection.ended) return;
    if (self->look_up(connection, /*may_wait=*/true)) self->watch(connection);
  });
}

void ResultConnection::refuse(Connection& connection) {
  if (strangers_.size() < kMostConnections) strangers_.push_back(connection.place);
  connection.ended = true;
  boost::system::error_code ignored;
  connection.descriptor.close(ignored);
}

void ResultConnection::watch(Connection& connection) {
  connection.descriptor.async_wait(Descriptor::wait_read,
                                   [self = shared_from_this(), &connection](boost::system::error_code ec) {
                                     if (ec == boost::asio::error::operation_aborted || connection.ended)
                                       return;
                                     if (self->read_once(connection)) return self->watch(connection);
                                     self->end(connection);
                                   });
}

bool ResultConnection::read_once(Connection& connection) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kMostOfATurn);
  const ssize_t got = ::read(connection.descriptor.native_handle(), buffer.get(), kMostOfATurn);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  connection.lines.feed({buffer.get(), static_cast<std::size_t>(got)},
                        [&](std::string_view line) { take(connection, line, true); });
  return got > 0;
}

void ResultConnection::end(Connection& connection) {
  if (std::exchange(connection.ended, true)) return;
  connection.lines.finish([&](std::string_view line) { take(connection, line, false); });
  boost::system::error_code ignored;
  connection.descriptor.close(ignored);
}

void ResultConnection::take(Connection& connection, std::string_view line, bool complete) {
  using Role = Connection::Role;
  if (connection.role == Role::kIgnored) return;
  std::string text = fmt::format("{}{}", line, complete ? "\n" : "");
  if (connection.role == Role::kSilent && !listener_.tells_of_cases(line)) {
    if (connection.greeting.empty()) connection.greeting.push_back(std::move(text));
    return;
  }
  if (connection.role == Role::kSilent && (speaker_ != nullptr || !kept_.empty())) {
    mistake_ = "told of its cases over a second connection";
    connection.role = Role::kIgnored;
    return;
  }
  const auto say = [&](std::string words) {
    if (connection.owner == Connection::Owner::kUnknown) return keep(std::move(words));
    listener_.on_line(words);
  };
  if (connection.role == Role::kSilent) {
    connection.role = Role::kSpeaker;
    if (connection.owner == Connection::Owner::kCase) speaker_ = &connection;
    for (std::string& words : std::exchange(connection.greeting, {})) say(std::move(words));
  }
  say(std::move(text));
}

void ResultConnection::keep(std::string line) {
  kept_bytes_ += line.size();
  if (kept_bytes_ > kMostKept) {
    mistake_ = fmt::format("sent more than {} bytes before it could be looked up", kMostKept);
    return;
  }
  kept_.push_back(std::move(line));
}

void ResultConnection::read_rest() {
  if (!port_.is_open()) return;
  while (accept_one()) {
  }
  for (Connection& connection : connections_) {
    const bool is_known = connection.owner != Connection::Owner::kNotYetKnown;
    if (connection.ended || (!is_known && !look_up(connection, /*may_wait=*/false))) continue;
    // No process of the case writes any more: what can be read now is all that there is. The descriptor may have been
    // passed to another one.
    for (std::size_t turn = 0; !connection.ended; ++turn) {
      char byte = 0;
      const ssize_t more = ::recv(connection.descriptor.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (more <= 0 || !read_once(connection) || turn * kMostOfATurn >= kMostOfRest) end(connection);
    }
  }
  close();
}

void ResultConnection::close() {
  boost::system::error_code ignored;
  port_.close(ignored);
  for (Connection& connection : connections_) {
    connection.ended = true;
    connection.next_look.cancel();
    connection.descriptor.close(ignored);
  }
  listener_.on_line = nullptr;
}

}  // namespace proctor
