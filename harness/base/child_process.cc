#include "harness/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "harness/base/argv.h"

#ifndef PROCTOR_HAS_CLOSE_RANGE
// Boost.Process calls close_range(). musl and glibc before 2.34 do not have it.
static int close_range(unsigned first, unsigned last, int flags) {
  return static_cast<int>(syscall(SYS_close_range, first, last, flags));
}
#endif

#include <boost/asio/io_context.hpp>
#include <boost/process/v2/posix/vfork_launcher.hpp>
#include <boost/process/v2/process.hpp>

namespace proctor {
namespace {

namespace fs = std::filesystem;
namespace boost_process = boost::process::v2;
using boost::system::error_code;

constexpr int kFirstFreeFd = 10;  // greater than all descriptor numbers of a child
constexpr std::chrono::seconds kReapTime{5};
constexpr std::chrono::milliseconds kPollAgain{5};

bool is_program(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
}

// Blocks all signals while a child shares the memory of this process. A signal handler of this process must
// not run in the child.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

// The steps of the child before its exec, and the report of a failed step. The hooks of this class exist in
// all versions of Boost.Process; its initializers differ between versions. Boost.Process reports a failure
// through shared memory, which an emulator or a sanitizer may not share. This class uses a pipe.
class Setup {
 public:
  Setup(const ChildSpec& spec, std::vector<UniqueFd> fds, std::vector<char*> env, int report)
      : spec_(spec), fds_(std::move(fds)), env_(std::move(env)), report_(report), parent_(::getpid()) {}

  template <typename Launcher>
  error_code on_setup(Launcher& launcher, const boost_process::filesystem::path&, const char* const*) {
    launcher.env = env_.data();
    // the exec closes the report pipe; all other descriptors are closed before it
    launcher.fd_whitelist.clear();
    for (int fd = 0; fd <= report_number(); ++fd) launcher.fd_whitelist.push_back(fd);
    return {};
  }

  template <typename Launcher>
  error_code on_exec_setup(Launcher&, const boost_process::filesystem::path&, const char* const*) {
    // The descriptors come first, so that later failures can be reported.
    const bool done = place_descriptors() && join_group() && limit_files() &&
                      (spec_.directory.empty() || ::chdir(spec_.directory.c_str()) == 0) && reset_signals();
    return done ? error_code() : error_code(errno, boost::system::system_category());
  }

  // Exits before Boost.Process does, which would run the exit handlers of this process.
  template <typename Launcher>
  void on_exec_error(Launcher&, const boost_process::filesystem::path&, const char* const*,
                     const error_code& error) {
    const int number = error.value();
    [[maybe_unused]] const ssize_t written = ::write(report_number(), &number, sizeof number);
    ::_exit(127);
  }
  // This overload is never called. The launchers of 1.81 and 1.83 require it before they call the other one.
  template <typename Launcher>
  void on_exec_error(Launcher&, const error_code&, const boost_process::filesystem::path&, const char* const*,
                     const error_code&);

 private:
  int report_number() const { return static_cast<int>(fds_.size()); }

  bool join_group() const {
    if (!spec_.own_group) return true;
    if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
    if (::getppid() != parent_) ::_exit(127);  // the parent ended before prctl()
    return true;
  }

  bool limit_files() const {
    if (!spec_.file_limit) return true;
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    limit.rlim_max = limit.rlim_cur = std::min<rlim_t>(*spec_.file_limit, limit.rlim_max);
    return ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
  }

  bool place_descriptors() const {
    for (int number = 0; number < report_number(); ++number) {
      const UniqueFd& fd = fds_[static_cast<std::size_t>(number)];
      if (!fd) ::close(number);
      if (fd && ::dup2(fd.get(), number) < 0) return false;
    }
    return ::dup3(report_, report_number(), O_CLOEXEC) >= 0;
  }

  static bool reset_signals() {
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) ::sigaction(number, &by_default, nullptr);
    sigset_t none;
    sigemptyset(&none);
    return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  }

  const ChildSpec& spec_;
  std::vector<UniqueFd> fds_;
  std::vector<char*> env_;
  int report_;
  pid_t parent_;
};

struct Started {
  pid_t pid = -1;
  error_code error{};
};

// Uses a new event loop, which has no descriptors that the child could disturb. The handle of Boost.Process
// is detached. It waits for a process without a deadline, and cannot be created if the kernel refuses pidfds.
Started launch(const std::string& program, const std::vector<std::string>& arguments, Setup& setup) {
  boost::asio::io_context io(1);
  boost_process::posix::vfork_launcher launcher;
  Started started;
  const SignalsHeld held;
  try {
    launcher(io.get_executor(), started.error, boost_process::filesystem::path(program), arguments, setup)
        .detach();
  } catch (const boost::system::system_error& error) {
    if (launcher.pid <= 0) started.error = error.code();
  }
  started.pid = launcher.pid;
  return started;
}

// Duplicates to a number above all numbers of the child, so that placing one descriptor does not overwrite
// another.
UniqueFd copy_of(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFreeFd)); }

Result<std::vector<UniqueFd>> copies_of(const std::vector<int>& fds) {
  std::vector<UniqueFd> copies;
  for (const int fd : fds) {
    copies.push_back(copy_of(fd));
    if (!copies.back() && errno != EBADF) return Error::system("copy a descriptor", errno);
  }
  return copies;
}

}  // namespace

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  for (const auto& change : changes) {
    const std::string_view name = std::string_view(change).substr(0, change.find('='));
    unset_variable(environment, name);
    if (name.size() < change.size()) environment.push_back(change);
  }
  return environment;
}

Result<std::string> find_program(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos;
  const char* path = std::getenv("PATH");
  std::string_view rest = is_path ? "" : path == nullptr ? "/usr/bin:/bin" : path;
  int err = ENOENT;
  for (bool more = !name.empty(); more;) {
    const auto end = std::min(rest.find(':'), rest.size());
    const fs::path file = fs::path(rest.substr(0, end)) / name;
    std::error_code none;
    if (is_program(file)) return fs::absolute(file, none).string();
    if (fs::exists(file, none)) err = EACCES;
    more = end < rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Error::system("find the program " + name, err);
}

Result<ChildProcess> ChildProcess::start(const ChildSpec& spec) {
  if (spec.argv.empty()) return Error::internal("start a program without a name");
  const auto program = find_program(spec.argv[0]);
  if (!program) return program.error();
  auto fds = copies_of(spec.fds);
  if (!fds) return fds.error();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::system("make a pipe", errno);
  const UniqueFd received(ends[0]);
  UniqueFd report = copy_of(ends[1]);
  const int copy_errno = errno;
  ::close(ends[1]);
  if (!report) return Error::system("copy a descriptor", copy_errno);
  std::vector<std::string> env = spec.env;
  Setup setup(spec, std::move(*fds), argv_of(env), report.get());

  const Started started = launch(*program, {spec.argv.begin() + 1, spec.argv.end()}, setup);
  if (started.pid <= 0) return Error::system("start " + *program, started.error.value());
  report.reset();
  ChildProcess child(started.pid, spec.own_group);
  int err = 0;
  while (::read(received.get(), &err, sizeof err) < 0 && errno == EINTR) {
  }
  if (err == 0) return child;
  child.wait();
  return Error::system("start " + *program, err);
}

ChildProcess::ChildProcess(pid_t pid, bool group)
    : pid_(pid), group_(group), end_fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

// A child that SIGKILL does not end within kReapTime is blocked in the kernel. Waiting longer would not help.
ChildProcess::~ChildProcess() {
  if (pid_ == 0) return;
  kill(SIGKILL);
  (void)wait_until(Clock::now() + kReapTime);
}

void ChildProcess::kill(int signal) const {
  if (pid_ > 0) ::kill(group_ ? -pid_ : pid_, signal);
}

std::optional<ChildEnd> ChildProcess::wait_until(Clock::time_point deadline) {
  while (pid_ > 0) {
    siginfo_t info{};
    // WNOWAIT leaves the zombie in place. Until it is reaped, its pid and the id of its group cannot be
    // reused.
    const int found = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (found == 0 && info.si_pid == pid_) {
      if (group_) kill(SIGKILL);
      int status = 0;
      ::waitpid(pid_, &status, 0);
      pid_ = 0;
      end_fd_.reset();
      if (WIFSIGNALED(status)) return ChildEnd{-1, WTERMSIG(status)};
      return ChildEnd{WEXITSTATUS(status), 0};
    }
    if (found < 0 && errno == ECHILD) {  // other code has waited for it, or SIGCHLD is ignored
      pid_ = 0;
      return ChildEnd{};
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) break;
    const auto step = std::min<std::chrono::milliseconds>(left, end_fd_ ? std::chrono::hours(1) : kPollAgain);
    pollfd ended{end_fd_.get(), POLLIN, 0};  // poll() ignores a negative descriptor
    ::poll(&ended, 1, static_cast<int>(step.count()));
  }
  return std::nullopt;
}

}  // namespace proctor
