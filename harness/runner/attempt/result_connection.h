// Where a process of several cases connects to, to tell of them (Voice::kConnection): a port of 127.0.0.1 for this
// process alone. Everybody on the machine can connect, so it is looked up whose each connection is:
//
//   of a process of the case      what it says is passed on as it comes, if it is the first that tells of cases. One
//                                 that never does (the child of a death test) is ignored; a second one that does is a
//                                 mistake.
//   of any other process          closed, and named
//   closed before it was looked up, by a process that was quick to end: nobody can say whose it was. What it said is
//                                 kept.
//
// A process that ends has no open files for a moment, and its connection is not closed yet: whose a connection is, is
// looked up several times before it is a stranger's. Nothing blocks. A turn of the loop reads at most 64 KiB, a line
// has at most as many, and what is kept is limited.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/process/capture.h"

namespace proctor {

class ResultConnection : public std::enable_shared_from_this<ResultConnection> {
 public:
  struct Listener {
    // Whether a line, without its end, tells of cases.
    std::function<bool(std::string_view line)> tells_of_cases;
    // A line of the one that does, with its end if it has one. May be called until close().
    std::function<void(std::string_view line)> on_line;
  };

  static Result<std::shared_ptr<ResultConnection>> open(boost::asio::io_context& io, Listener listener);

  const std::string& address() const { return address_; }  // "127.0.0.1:PORT"
  // Accepts from now on. `holds_socket`: whether a process of the case has the socket with this inode.
  void begin(std::function<bool(std::uint64_t inode)> holds_socket);
  // Call this when all processes of the case have ended: takes all that they said.
  void read_rest();
  void close();

  // Whether one of them told of cases, and it is known to be of the case.
  bool has_speaker() const { return speaker_ != nullptr; }
  // What is kept, as lines with their ends.
  const std::vector<std::string>& kept() const { return kept_; }
  // What must not happen, in words that follow the name of the program: "..."; "" = it did not.
  const std::string& mistake() const { return mistake_; }
  // Connections of other processes: "127.0.0.1:PORT".
  const std::vector<std::string>& strangers() const { return strangers_; }

 private:
  struct Connection;
  using Descriptor = boost::asio::posix::stream_descriptor;

  ResultConnection(boost::asio::io_context& io, Listener listener);

  void watch();
  bool accept_one();
  // Whose it is. False: it is a stranger's, or not known yet if it `may_wait`.
  bool look_up(Connection& connection, bool may_wait);
  void look_up_later(Connection& connection);
  void refuse(Connection& connection);
  void watch(Connection& connection);
  // False at its end.
  bool read_once(Connection& connection);
  void end(Connection& connection);
  void take(Connection& connection, std::string_view line, bool complete);
  void keep(std::string line);

  boost::asio::io_context& io_;
  Listener listener_;
  Descriptor port_;
  std::string address_;
  std::function<bool(std::uint64_t)> holds_socket_;
  std::list<Connection> connections_;
  Connection* speaker_ = nullptr;  // stays what it is after the end of the connection
  std::vector<std::string> kept_;
  std::size_t kept_bytes_ = 0;
  std::string mistake_;
  std::vector<std::string> strangers_;
};

}  // namespace proctor
