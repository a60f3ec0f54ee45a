// Reads the output of a running case: stdout and stderr go to the capture, the lines of the events pipe to
// the callback. One turn of the loop reads at most 64 KiB, so a lot of output does not delay timers.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/unique_fd.h"
#include "harness/base/workflow_commands.h"
#include "harness/process/capture.h"
#include "harness/process/process_spec.h"
#include "harness/process/recipe.h"

namespace proctor {

// Copies the output of a case to a descriptor of the runner, byte for byte and without delay.
//
// The loop never blocks on a slow reader. Bytes that do not fit are kept. If many are pending, the case's
// pipe is not read, so the command waits for its reader as it would without a runner. If the reader closes
// its end, the case's pipe is closed, and the command gets SIGPIPE as it would without a runner.
//
// `break_commands` is for a log in which the CI system executes commands: commands in the output are made
// ineffective (base/workflow_commands.h). A regular file is not such a log.
class PassThrough : public std::enable_shared_from_this<PassThrough> {
 public:
  // The caller still owns `fd`.
  PassThrough(boost::asio::io_context& io, int fd, bool break_commands = false);

  void write(std::string_view bytes);

  // Returns true if so many bytes are pending that no more should be read.
  bool is_full() const;
  bool is_empty() const { return pending_.empty(); }
  // Returns true if the reader closed its end. No bytes are kept then.
  bool is_missing() const { return ended_; }
  // The reason why bytes were lost ("No space left on device"), or "". A closed reader does not count as a
  // loss.
  const std::string& lost() const { return lost_; }
  std::size_t broken_commands() const { return guard_ ? guard_->broken() : 0; }

  // Calls `then` once, from the loop, when all bytes are written or lost, or the reader closed its end.
  void on_empty(std::function<void()> then);
  // Drops the pending bytes, and never calls `then`.
  void abandon();

 private:
  void flush();
  void wait();
  void fail(int err);

  int fd_;
  bool regular_file_;
  bool ended_ = false;
  bool waiting_ = false;
  std::string lost_;
  std::optional<WorkflowCommandGuard> guard_;
  std::string pending_;
  boost::asio::posix::stream_descriptor room_;
  std::function<void()> then_;
};

// The pipes of one case, from their creation to the end of its output. ContainedProcess owns it.
class CaseOutput : public std::enable_shared_from_this<CaseOutput> {
 public:
  // `spec` must outlive this object. It uses log_path, captured_in, events, keep_stdout, max_kept_stdout,
  // pass_through, on_output and on_event_line.
  CaseOutput(boost::asio::io_context& io, const ProcessSpec& spec, Clock::time_point start);

  // The case's ends of the pipes. Close them once the guard has copies. make_pipes() sets in, out, err and
  // events of `setup`.
  struct ChildEnds {
    UniqueFd in, out, err, events;
  };
  std::optional<SpawnError> make_pipes(GuardSetup& setup, ChildEnds& ends);

  // Starts to read. Calls `on_closed` after each end-of-file, until close().
  void watch(std::function<void()> on_closed);

  bool is_open() const { return out_.is_open() || err_.is_open() || events_.is_open(); }
  // A case that waits for the reader of its output does not count as silent.
  Clock::time_point last_activity() const { return paused_ ? Clock::now() : last_activity_; }
  void forgive_silence() { last_activity_ = Clock::now(); }

  // Reads the remaining bytes of the pipes after the end of all processes, and closes the pipes. The amount
  // is limited, because a process outside of the case may hold an end. Returns true if all bytes have been
  // passed through. Otherwise calls `then` once they have been.
  bool read_rest(std::function<void()> then);
  // Stops waiting for readers that do not read.
  void abandon_readers();
  // Moves the output into `end`. Call once.
  void finish(ProcessEnd& end);
  void close();

 private:
  enum class Source { kOut, kErr, kEvents };
  using Descriptor = boost::asio::posix::stream_descriptor;

  void watch_one(Descriptor& descriptor, Source source);
  void read_and_go_on(Descriptor& descriptor, Source source);
  void close_one(Descriptor& descriptor);
  PassThrough* reader_of(Source source) const;
  ssize_t read_once(Descriptor& descriptor, Source source);
  void take(Source source, std::string_view bytes);
  void keep(std::string_view bytes);
  void deliver(std::string_view line);
  void drain(Descriptor& descriptor, Source source);
  void take_captured(Source source, const std::string& file);

  const ProcessSpec& spec_;
  Descriptor out_;
  Descriptor err_;
  Descriptor events_;
  std::function<void()> on_closed_;
  Clock::time_point last_activity_;
  int paused_ = 0;  // number of streams whose reader has no room
  Capture capture_;
  LineSplitter event_lines_;
  std::string kept_stdout_;
  bool kept_stdout_truncated_ = false;
  std::shared_ptr<PassThrough> out_reader_;
  std::shared_ptr<PassThrough> err_reader_;
};

}  // namespace proctor
