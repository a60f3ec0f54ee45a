// Takes what a case writes while it runs: stdout and stderr go into the capture, the events pipe goes line by
// line to the callback. Reading takes at most 64 KiB per turn of the loop, so a flood never starves a timer.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "harness/core/unique_fd.h"
#include "harness/process/capture.h"
#include "harness/process/line_splitter.h"
#include "harness/process/pass_through.h"
#include "harness/process/process_spec.h"
#include "harness/process/recipe.h"

namespace proctor {

class CaseOutput : public std::enable_shared_from_this<CaseOutput> {
 public:
  // `spec` must outlive this; its log_path, captured_in, events, keep_stdout, max_kept_stdout,
  // pass_through, on_output and on_event_line are used.
  CaseOutput(boost::asio::io_context& io, const ProcessSpec& spec, Clock::time_point start);

  // The case's ends of the pipes, to be closed when the guard has them. Sets in, out, err and events of
  // `setup`.
  struct ChildEnds {
    UniqueFd in, out, err, events;
  };
  std::optional<SpawnError> make_pipes(GuardSetup& setup, ChildEnds& ends);

  // Starts reading. `on_closed` is called after each end-of-file, and is kept until close().
  void watch(std::function<void()> on_closed);

  bool is_open() const { return out_.is_open() || err_.is_open() || events_.is_open(); }
  // While a case waits for the reader of its output, it does not count as silent.
  Clock::time_point last_activity() const { return paused_ ? Clock::now() : last_activity_; }
  void forgive_silence() { last_activity_ = Clock::now(); }

  // For use once everything is dead: reads the rest in the pipes, up to a bound because somebody outside may
  // hold an end, and closes them. True if all of it has been passed through; otherwise `then` is called when
  // it has been.
  bool read_rest(std::function<void()> then);
  // Stops waiting for a reader that takes nothing.
  void abandon_readers();
  // Moves all that was read into `end`. Call once.
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
  int paused_ = 0;  // streams whose reader has no room
  Capture capture_;
  LineSplitter event_lines_;
  std::string kept_stdout_;
  bool kept_stdout_truncated_ = false;
  std::shared_ptr<PassThrough> out_reader_;
  std::shared_ptr<PassThrough> err_reader_;
};

}  // namespace proctor
