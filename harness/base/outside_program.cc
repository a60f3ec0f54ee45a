#include "harness/base/outside_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>

#include "harness/base/result.h"

namespace proctor {
namespace {

constexpr std::chrono::milliseconds kPollAgain{5};   // interval between checks if the kernel has no pidfds
constexpr std::chrono::milliseconds kAskAgain{100};  // interval between calls of is_unwanted()

// One output stream of the program, read through a pipe.
class Stream {
 public:
  Stream(const char* name, std::uint64_t limit) : name_(name), limit_(limit) {}

  // Creates the pipe and returns the write end, which the child inherits.
  Result<UniqueFd> open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error::system("make a pipe", errno);
    pipe_ = UniqueFd(ends[0]);
    UniqueFd other(ends[1]);
    if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return Error::system("prepare a pipe", errno);
    return other;
  }

  pollfd readable() const { return {pipe_.get(), POLLIN, 0}; }  // poll() ignores a closed pipe

  // Reads all available bytes. Returns false if the limit is exceeded.
  bool take() {
    constexpr std::size_t kPiece = 65536;
    const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
    while (pipe_) {
      const ssize_t got = ::read(pipe_.get(), buffer.get(), kPiece);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) {
        pipe_.reset();
        break;
      }
      text_.append(buffer.get(), static_cast<std::size_t>(got));
      if (text_.size() > limit_) return false;
    }
    return true;
  }

  const char* name() const { return name_; }
  std::uint64_t limit() const { return limit_; }
  std::string release() { return std::move(text_); }

 private:
  const char* name_;
  std::uint64_t limit_;
  UniqueFd pipe_;
  std::string text_;
};

// Puts the input into a file in memory. A program can end before it has read all of a pipe.
Result<UniqueFd> stdin_of(const std::string& input) {
  if (input.empty()) {
    UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return null ? Result<UniqueFd>(std::move(null)) : Error::system("open /dev/null", errno);
  }
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  for (std::size_t done = 0; file && done < input.size();) {
    const ssize_t written = ::write(file.get(), input.data() + done, input.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Error::system("keep its input", errno);
    done += static_cast<std::size_t>(written);
  }
  if (!file || ::lseek(file.get(), 0, SEEK_SET) != 0) return Error::system("keep its input", errno);
  return file;
}

class Run {
 public:
  explicit Run(const OutsideProgram& program)
      : program_(program), deadline_(Clock::now() + program.time), name_(program.argv.at(0)) {}

  Result<OutsideAnswer> operator()() {
    auto child = start();
    if (!child) return child.error();
    std::optional<ChildEnd> end;
    while (!end) {
      if (Clock::now() >= deadline_)
        return problem(fmt::format("it did not end within {} and was killed", human_duration(program_.time)));
      if (program_.is_unwanted && program_.is_unwanted())
        return problem("it was not waited for and was killed");
      wait_for_something(*child);
      // The end is checked before the pipes are read: all output of an ended program is in the pipes.
      end = child->wait_until(Clock::now());
      for (Stream* stream : {&output_, &errors_}) {
        if (!stream->take())
          return problem(fmt::format("it wrote more than {} bytes to its {} and was killed", stream->limit(),
                                     stream->name()));
      }
    }
    if (end->signal != 0) return problem(fate(end->signal));
    return OutsideAnswer{end->exit_code, output_.release(), errors_.release()};
  }

 private:
  Result<ChildProcess> start() {
    auto input = stdin_of(program_.input);
    auto output = output_.open();
    auto errors = errors_.open();
    for (const auto* fd : {&input, &output, &errors}) {
      if (!*fd) return fd->error();
    }
    const auto file = find_program(name_);
    if (!file) return not_there(file.error());
    ChildSpec spec{.argv = program_.argv,
                   .env = program_.env,
                   .fds = {input->get(), output->get(), errors->get()},
                   .own_group = true,
                   .file_limit = program_.file_limit};
    spec.argv[0] = *file;
    return ChildProcess::start(spec);
  }

  Error not_there(Error error) const {
    error.kind = ErrorKind::kUsage;
    if (error.sys_errno == EACCES) error.hint = "Try: ls -l " + name_;
    if (is_missing(error) && !program_.package.empty())
      error.hint = fmt::format("Install the package {}.", program_.package);
    return error;
  }

  void wait_for_something(const ChildProcess& child) const {
    const bool can_be_polled = child.end_fd() >= 0;
    std::array<pollfd, 3> changes{output_.readable(), errors_.readable(), pollfd{child.end_fd(), POLLIN, 0}};
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (program_.is_unwanted) left = std::min(left, kAskAgain);
    if (!can_be_polled) left = std::min(left, kPollAgain);
    ::poll(changes.data(), changes.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }

  std::string fate(int signal) const {
    if (signal == SIGXFSZ && program_.file_limit)
      return fmt::format("it wrote a file of more than {} bytes", *program_.file_limit);
    const std::string known = signal_name(signal);
    return "it was ended by " + (known.empty() ? fmt::format("signal {}", signal) : known);
  }

  Error problem(const std::string& what) const {
    return {ErrorKind::kSystem, fmt::format("run {}: {}", name_, what), {}, 0};
  }

  const OutsideProgram& program_;
  Clock::time_point deadline_;
  std::string name_;
  Stream output_{"stdout", program_.output_limit};
  Stream errors_{"stderr", program_.errors_limit};
};

}  // namespace

bool is_missing(const Error& error) { return error.kind == ErrorKind::kUsage && error.sys_errno == ENOENT; }

Result<OutsideAnswer> run_outside_program(const OutsideProgram& program) { return Run(program)(); }

}  // namespace proctor
