// Writes what a case prints to a descriptor of the runner's own, as it comes and byte for byte.
//
// The loop never blocks on a slow reader: bytes for which the reader has no room are kept, and once there are
// many the case's pipe is not read any more. So the command waits for its reader, exactly as it would without
// a runner in between. A reader that is gone closes the case's pipe: the command gets SIGPIPE, as it would.
//
// With `break_commands`, for a log whose reader obeys what it reads, a command in the output is broken
// (core/workflow_commands.h); a regular file is no such log.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/workflow_commands.h"

namespace proctor {

class PassThrough : public std::enable_shared_from_this<PassThrough> {
 public:
  // `fd` still belongs to the caller.
  PassThrough(boost::asio::io_context& io, int fd, bool break_commands = false);

  void write(std::string_view bytes);

  // Whether so much is waiting that no more should be read.
  bool is_full() const;
  bool is_empty() const { return pending_.empty(); }
  // Whether the reader closed its end. Nothing is kept then.
  bool is_gone() const { return gone_; }
  // Why bytes were lost ("No space left on device"), or "". A reader that is gone does not count as a loss.
  const std::string& lost() const { return lost_; }
  std::size_t broken_commands() const { return guard_ ? guard_->broken() : 0; }

  // Calls `then` once, from the loop, when everything is written, gone or lost.
  void on_empty(std::function<void()> then);
  // Drops the bytes that still wait, and never calls `then`.
  void abandon();

 private:
  void flush();
  void wait();
  void fail(int err);

  int fd_;
  bool regular_file_;
  bool gone_ = false;
  bool waiting_ = false;
  std::string lost_;
  std::optional<WorkflowCommandGuard> guard_;
  std::string pending_;
  boost::asio::posix::stream_descriptor room_;
  std::function<void()> then_;
};

}  // namespace proctor
