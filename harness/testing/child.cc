#include "harness/testing/child.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"

namespace proctor::testing_support {
namespace {

UniqueFd open_new(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
}

// Returns a socket pair for the child's stdin. A write to an ended child then fails with EPIPE and raises no SIGPIPE.
std::array<UniqueFd, 2> make_pair() {
  int ends[2] = {-1, -1};
  (void)::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Ended run_child(const std::vector<std::string>& argv, const ChildOptions& options) {
  const TempDir kept;
  const std::string out = (kept / "out").string();
  const std::string err = (kept / "err").string();
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd out_file = open_new(out);
  const UniqueFd err_file = open_new(err);
  ChildSpec spec{.argv = argv,
                 .env = environment_with(options.env),
                 .fds = {null.get(), options.stdout_fd.value_or(out_file.get()), err_file.get()},
                 .directory = options.directory};
  spec.fds.insert(spec.fds.end(), options.more_fds.begin(), options.more_fds.end());
  auto child = ChildProcess::start(spec);
  if (!child) return {.err = "failed to " + child.error().what};
  if (options.while_running) options.while_running(child->pid());
  const ChildEnd end = child->wait();
  return {end.exit_code, end.signal, read_file_or_empty(out), read_file_or_empty(err)};
}

TalkingChild::TalkingChild(const std::vector<std::string>& argv) {
  auto [to, its_stdin] = make_pair();
  int ends[2] = {-1, -1};
  (void)::pipe2(ends, O_CLOEXEC);
  from_ = UniqueFd(ends[0]);
  const UniqueFd its_stdout(ends[1]);
  auto child = ChildProcess::start({.argv = argv, .fds = {its_stdin.get(), its_stdout.get(), STDERR_FILENO}});
  if (!child) return;
  child_.emplace(*std::move(child));
  to_ = std::move(to);
}

void TalkingChild::say(const std::string& line) {
  const std::string text = line + "\n";
  (void)::send(to_.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

bool TalkingChild::receive() {
  std::array<char, 4096> buffer;
  ssize_t got;
  do {
    got = ::read(from_.get(), buffer.data(), buffer.size());
  } while (got < 0 && errno == EINTR);
  if (got > 0) text_.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::optional<std::string> TalkingChild::line() {
  std::size_t end;
  while ((end = text_.find('\n')) == std::string::npos) {
    if (!receive()) return std::nullopt;
  }
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

std::string TalkingChild::rest() {
  while (receive()) {
  }
  return std::exchange(text_, "");
}

ChildEnd TalkingChild::finish() {
  to_.reset();
  return child_ ? child_->wait() : ChildEnd{};
}

}  // namespace proctor::testing_support
