#include "harness/process/pass_through.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>

namespace proctor {
namespace {

constexpr std::size_t kPiece = 4096;  // PIPE_BUF: a pipe that polls writable takes so much without blocking
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
  if (gone_ || !lost_.empty()) return;
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
  gone_ = err == EPIPE;
  if (!gone_) lost_ = std::strerror(err);
  pending_.clear();
}

// Only for what can be waited for: a regular file always has room.
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

}  // namespace proctor
