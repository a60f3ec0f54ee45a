#include "harness/runner/schedule/run_control.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace proctor {

Result<std::unique_ptr<RunControl>> RunControl::open(Pause pause) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return Error::system("create the pipe for the requests of the caller", errno);
  return std::unique_ptr<RunControl>(new RunControl(UniqueFd(ends[0]), UniqueFd(ends[1]), pause));
}

// The kernel writes a record completely or not at all. If the pipe is full, the record is lost: thousands precede it.
void RunControl::write(const Record& record) const noexcept {
  const int before = errno;
  while (::write(writer_.get(), &record, sizeof record) < 0 && errno == EINTR) {
  }
  errno = before;
}

std::optional<RunControl::Record> RunControl::take() const {
  Record record;
  ssize_t got = 0;
  do {
    got = ::read(reader_.get(), &record, sizeof record);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof record) ? std::optional(record) : std::nullopt;
}

std::optional<int> RunControl::late_stop() {
  if (state_ != State::kOver) return std::nullopt;
  while (!late_stop_) {
    const auto record = take();
    if (!record) break;
    // The death of the parent only stops cases, and all cases have ended.
    if (record->request == Request::kStop && record->cause == StopCause::kSignal) late_stop_ = record->signal;
  }
  return late_stop_;
}

}  // namespace proctor
