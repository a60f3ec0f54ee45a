// Copies the output of a case to a descriptor of the runner, byte for byte and without delay.
//
// The loop never blocks on a slow reader. Bytes that do not fit are kept. If there are many, the case's pipe
// is no longer read, so the command waits for its reader as it would without a runner. If the reader is gone,
// the case's pipe is closed, and the command gets SIGPIPE as it would without a runner.
//
// `break_commands` is for a log in which the CI system executes commands: commands in the output are made
// ineffective (base/workflow_commands.h). A regular file is not such a log.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/workflow_commands.h"

namespace proctor {

class PassThrough : public std::enable_shared_from_this<PassThrough> {
 public:
  // `fd` still belongs to the caller.
  PassThrough(boost::asio::io_context& io, int fd, bool break_commands = false);

  void write(std::string_view bytes);

  // Whether so many bytes are pending that no more should be read.
  bool is_full() const;
  bool is_empty() const { return pending_.empty(); }
  // Whether the reader closed its end. No bytes are kept then.
  bool is_gone() const { return gone_; }
  // Why bytes were lost ("No space left on device"), or "". A closed reader is not a loss.
  const std::string& lost() const { return lost_; }
  std::size_t broken_commands() const { return guard_ ? guard_->broken() : 0; }

  // Calls `then` once, from the loop, when all bytes are written or lost, or the reader is gone.
  void on_empty(std::function<void()> then);
  // Drops the pending bytes, and never calls `then`.
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
