#include "harness/process/case_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "harness/base/regular_file.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

// PIPE_BUF: a pipe that polls writable accepts this amount without blocking
constexpr std::size_t kPiece = 4096;
constexpr std::size_t kFull = 64 * 1024;

bool is_regular_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

bool has_room(int fd) {
  pollfd poller{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&poller, 1, 0) == 1;
}

}  // namespace

PassThrough::PassThrough(boost::asio::io_context& io, int fd, bool break_commands)
    : fd_(fd), regular_file_(is_regular_file(fd)), room_(io) {
  if (break_commands && !regular_file_) guard_.emplace();
}

bool PassThrough::is_full() const { return pending_.size() >= kFull; }

void PassThrough::write(std::string_view bytes) {
  if (ended_ || !lost_.empty()) return;
  if (guard_) {
    pending_ += guard_->pass(bytes);
  } else {
    pending_ += bytes;
  }
  flush();
}

void PassThrough::on_empty(std::function<void()> then) {
  then_ = std::move(then);
  if (is_empty()) {
    boost::asio::post(room_.get_executor(), std::exchange(then_, nullptr));
  } else {
    wait();
  }
}

void PassThrough::abandon() {
  if (!pending_.empty()) lost_ = "it has no reader";
  pending_.clear();
  then_ = nullptr;
  boost::system::error_code ignored;
  room_.close(ignored);
}

void PassThrough::flush() {
  std::size_t written = 0;
  const std::string_view all = pending_;
  while (written < all.size() && (regular_file_ || has_room(fd_))) {
    const std::size_t piece = regular_file_ ? all.size() - written : std::min(all.size() - written, kPiece);
    const ssize_t got = ::write(fd_, all.data() + written, piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got < 0) return fail(errno);
    written += static_cast<std::size_t>(got);
  }
  pending_.erase(0, written);
  if (!pending_.empty()) wait();
}

void PassThrough::fail(int err) {
  ended_ = err == EPIPE;
  if (!ended_) lost_ = std::strerror(err);
  pending_.clear();
}

// Only for descriptors that epoll accepts: a regular file always has room.
void PassThrough::wait() {
  if (waiting_) return;
  if (!room_.is_open()) {
    const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) return fail(errno);
    room_.assign(copy);
  }
  waiting_ = true;
  room_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                   [self = shared_from_this()](const boost::system::error_code& error) {
                     if (error == boost::asio::error::operation_aborted) return;
                     self->waiting_ = false;
                     if (error) {
                       self->fail(error.value());
                     } else {
                       self->flush();
                     }
                     if (self->is_empty() && self->then_) std::exchange(self->then_, nullptr)();
                   });
}

namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
// most bytes read from a pipe after the end of all processes
constexpr std::size_t kLastReadBytes = 1024 * 1024;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

std::optional<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
  fcntl(fds[0], F_SETFL, O_NONBLOCK);  // only the runner's end: the case must see an ordinary pipe
  return pipe;
}

}  // namespace

CaseOutput::CaseOutput(boost::asio::io_context& io, const ProcessSpec& spec, Clock::time_point start)
    : spec_(spec),
      out_(io),
      err_(io),
      events_(io),
      last_activity_(start),
      capture_(spec.log_path, start),
      event_lines_(child::kMaxEventBytes) {
  if (!spec.pass_through) return;
  out_reader_ = std::make_shared<PassThrough>(io, STDOUT_FILENO, spec.break_commands);
  err_reader_ = std::make_shared<PassThrough>(io, STDERR_FILENO, spec.break_commands);
}

std::optional<SpawnError> CaseOutput::make_pipes(GuardSetup& setup, ChildEnds& ends) {
  const auto connect = [](Descriptor& ours, UniqueFd& theirs, int& slot) {
    auto pipe = make_pipe();
    if (!pipe) return false;
    ours.assign(pipe->read.release());
    theirs = std::move(pipe->write);
    slot = theirs.get();
    return true;
  };
  if (spec_.inherit_stdio) {
    setup.in = STDIN_FILENO;
    setup.out = STDOUT_FILENO;
    setup.err = STDERR_FILENO;
  } else {
    // The case has its own session. If it inherited a terminal, both the caller and the case would read from
    // it.
    if (spec_.pass_through && isatty(STDIN_FILENO) == 0) {
      setup.in = STDIN_FILENO;
    } else {
      ends.in = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
      setup.in = ends.in.get();
      if (!ends.in) return SpawnError{"open /dev/null", errno};
    }
    if (!connect(out_, ends.out, setup.out) || !connect(err_, ends.err, setup.err))
      return SpawnError{"pipe", errno};
  }
  if (spec_.events && !connect(events_, ends.events, setup.events)) return SpawnError{"pipe", errno};
  return std::nullopt;
}

void CaseOutput::watch(std::function<void()> on_closed) {
  on_closed_ = std::move(on_closed);
  if (out_.is_open()) watch_one(out_, Source::kOut);
  if (err_.is_open()) watch_one(err_, Source::kErr);
  if (events_.is_open()) watch_one(events_, Source::kEvents);
}

void CaseOutput::watch_one(Descriptor& descriptor, Source source) {
  descriptor.async_wait(Descriptor::wait_read,
                        [self = shared_from_this(), &descriptor, source](boost::system::error_code ec) {
                          // The descriptor was closed in the meantime: the wait was aborted, or its
                          // completion was already queued.
                          if (ec == boost::asio::error::operation_aborted || !descriptor.is_open()) return;
                          self->read_and_go_on(descriptor, source);
                        });
}

void CaseOutput::read_and_go_on(Descriptor& descriptor, Source source) {
  const ssize_t got = read_once(descriptor, source);
  PassThrough* reader = reader_of(source);
  const bool retry = got < 0 && (errno == EAGAIN || errno == EINTR);
  if ((got <= 0 && !retry) || (reader && reader->is_missing())) return close_one(descriptor);
  if (!reader || !reader->is_full()) return watch_one(descriptor, source);
  ++paused_;
  reader->on_empty([self = shared_from_this(), &descriptor, source, reader] {
    --self->paused_;
    self->forgive_silence();
    if (!descriptor.is_open()) return;
    if (reader->is_missing()) return self->close_one(descriptor);
    self->watch_one(descriptor, source);
  });
}

void CaseOutput::close_one(Descriptor& descriptor) {
  boost::system::error_code ignored;
  descriptor.close(ignored);
  const auto on_closed = on_closed_;  // a copy, because it may call close()
  if (on_closed) on_closed();
}

PassThrough* CaseOutput::reader_of(Source source) const {
  if (source == Source::kEvents) return nullptr;
  return source == Source::kOut ? out_reader_.get() : err_reader_.get();
}

// The buffer is on the heap, because the limit of the stack can be small. malloc() reuses it in the next call.
ssize_t CaseOutput::read_once(Descriptor& descriptor, Source source) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
  const ssize_t got = read(descriptor.native_handle(), buffer.get(), kReadBytes);
  if (got > 0) take(source, {buffer.get(), static_cast<std::size_t>(got)});
  return got;
}

void CaseOutput::take(Source source, std::string_view bytes) {
  last_activity_ = Clock::now();
  if (source == Source::kEvents) {
    event_lines_.feed(bytes, [this](std::string_view line) { deliver(line); });
    return;
  }
  if (source == Source::kOut && spec_.keep_stdout) keep(bytes);
  const Stream stream = source == Source::kOut ? Stream::kOut : Stream::kErr;
  capture_.append(stream, bytes, last_activity_);
  if (spec_.on_output) spec_.on_output(stream, bytes);
  if (PassThrough* reader = reader_of(source)) reader->write(bytes);
}

void CaseOutput::keep(std::string_view bytes) {
  const std::size_t room = spec_.max_kept_stdout - kept_stdout_.size();
  kept_stdout_truncated_ |= bytes.size() > room;
  kept_stdout_.append(bytes.substr(0, room));
}

void CaseOutput::deliver(std::string_view line) {
  if (spec_.on_event_line) spec_.on_event_line(line);
}

void CaseOutput::drain(Descriptor& descriptor, Source source) {
  std::size_t total = 0;
  while (descriptor.is_open() && total < kLastReadBytes) {
    const ssize_t got = read_once(descriptor, source);
    if (got <= 0) return;
    total += static_cast<std::size_t>(got);
  }
}

bool CaseOutput::read_rest(std::function<void()> then) {
  drain(out_, Source::kOut);
  drain(err_, Source::kErr);
  drain(events_, Source::kEvents);
  close();
  for (PassThrough* reader : {out_reader_.get(), err_reader_.get()}) {
    if (!reader || reader->is_empty()) continue;
    reader->on_empty(std::move(then));
    return false;
  }
  return true;
}

void CaseOutput::abandon_readers() {
  for (PassThrough* reader : {out_reader_.get(), err_reader_.get()}) {
    if (reader) reader->abandon();
  }
}

// Adds the captured file to the output, but only the end of a long file, because the loop waits for this.
void CaseOutput::take_captured(Source source, const std::string& file) {
  const auto opened = open_regular(file, kAnySize);
  ::unlink(file.c_str());
  if (!opened) return;
  const off_t size = lseek(opened->get(), 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(kLogPartBytes));
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - from)), '\0');
  const ssize_t got = pread(opened->get(), text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (text.empty()) return;
  if (from > 0) text.insert(0, fmt::format("[{} bytes of captured output are left out here]\n", from));
  take(source, text);
}

void CaseOutput::finish(ProcessEnd& end) {
  for (const auto& [stream, file] : spec_.captured_in)
    take_captured(stream == Stream::kOut ? Source::kOut : Source::kErr, file);
  event_lines_.finish([this](std::string_view line) { deliver(line); });
  end.output = capture_.finish();
  end.kept_stdout = std::move(kept_stdout_);
  end.kept_stdout_truncated = kept_stdout_truncated_;
  end.events_too_long = event_lines_.too_long();
  for (PassThrough* reader : {out_reader_.get(), err_reader_.get()}) {
    if (!reader) continue;
    if (end.pass_through_lost.empty()) end.pass_through_lost = reader->lost();
    end.broken_commands += reader->broken_commands();
  }
}

void CaseOutput::close() {
  boost::system::error_code ignored;
  for (Descriptor* descriptor : {&out_, &err_, &events_}) descriptor->close(ignored);
  on_closed_ = nullptr;
}

}  // namespace proctor
