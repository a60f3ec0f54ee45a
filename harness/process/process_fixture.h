// The fixture of tests that start real processes. Each test runs under each layer that works here.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "harness/base/temp_dir.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"

namespace proctor {

// Starts commands in one containment layer. It skips a layer that does not work here, with the reason.
class ContainedProcessTest : public testing::TestWithParam<Layer> {
 protected:
  void SetUp() override {
    auto opened = Containment::open(GetParam(), "test-" + std::to_string(getpid()));
    if (!opened) GTEST_SKIP() << opened.error().what << ". " << opened.error().hint;
    containment_ = *std::move(opened);
  }
  void TearDown() override {
    if (containment_ == nullptr) return;
    containment_.reset();
    // No child process may be left, not even a zombie.
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  static ProcessSpec shell(const std::string& script) {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.limits.timeout = Milliseconds(20'000);
    spec.limits.grace = Milliseconds(5'000);
    return spec;
  }
  // The command runs without a signal scope and a PID namespace, so it can reach its guard.
  static ProcessSpec unconfined(const std::string& script) {
    ProcessSpec spec = shell(script);
    spec.reach = Reach::kMachine;
    return spec;
  }
  ProcessEnd run(ProcessSpec spec) { return run_contained(*containment_, std::move(spec)); }

  // Sets `process` while the process runs, so that the callbacks of `spec` can use it.
  ProcessEnd run_with(const ProcessSpec& spec, std::shared_ptr<ContainedProcess>& process) {
    boost::asio::io_context io(1);
    std::optional<ProcessEnd> end;
    process = ContainedProcess::start(io, *containment_, spec, [&](ProcessEnd e) { end = std::move(e); });
    io.run();
    process.reset();
    return *std::move(end);
  }

  // For scripts that print "up" when they are ready for the limit. If the limit comes first, the script runs
  // again with twice the time.
  ProcessEnd run_past_up(ProcessSpec spec) {
    spec.keep_stdout = true;
    for (;; spec.limits.timeout = *spec.limits.timeout * 2) {
      ProcessEnd end = run(spec);
      if (end.kept_stdout.rfind("up\n", 0) == 0 || *spec.limits.timeout > Milliseconds(20'000)) return end;
    }
  }

  // A FIFO whose reader gets end-of-file exactly when no process of the case holds it.
  std::string make_fifo() const {
    const std::string path = directory_ + "/alive";
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }

  std::unique_ptr<Containment> containment_;
  TempDir scratch_;
  const std::string directory_ = scratch_.string();
};

inline bool reads_eof(int fd, int timeout_ms) {
  for (;;) {
    pollfd poll_fd{fd, POLLIN, 0};
    if (poll(&poll_fd, 1, timeout_ms) <= 0) return false;
    char buffer[256];
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got == 0) return true;
    if (got < 0 && errno != EAGAIN) return false;
  }
}

inline std::string layer_name(const testing::TestParamInfo<Layer>& info) {
  std::string name(to_string(info.param));
  std::replace(name.begin(), name.end(), '+', '_');  // GoogleTest allows no other character
  return name;
}

}  // namespace proctor
