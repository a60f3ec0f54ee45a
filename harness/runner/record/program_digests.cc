#include "harness/runner/record/program_digests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/base/clock.h"

namespace proctor {
namespace {

constexpr const char* kChanged = "it was changed during the run";

bool is_same(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         is_same(one.st_mtim, other.st_mtim) && is_same(one.st_ctim, other.st_ctim);
}

void report_change(EventSink& sink, const std::string& path) {
  sink.on(ProgramRead{path, "", kChanged});
  sink.on(Warning{
      WarningCode::kProgramChanged,
      fmt::format("{} was changed during the run, so its results do not belong to one program", path)});
}

}  // namespace

ProgramDigests::ProgramDigests(const std::vector<PlannedSuite>& suites) {
  for (const PlannedSuite& suite : suites) {
    const bool known = std::ranges::find(left_, suite.program, &Program::path) != left_.end();
    if (suite.program.empty() || known) continue;
    Program program;
    program.path = suite.program;
    program.found = ::stat(suite.program.c_str(), &program.planned) == 0 &&
                    S_ISREG(program.planned.st_mode) && ::lstat(suite.program.c_str(), &program.name) == 0;
    if (program.found)
      program.file = UniqueFd(::open(suite.program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!program.file) program.error = errno;
    left_.push_back(std::move(program));
  }
}

bool ProgramDigests::is_as_planned(const Program& program) {
  struct stat file {};
  struct stat by_name {};
  struct stat name {};
  return ::fstat(program.file.get(), &file) == 0 && is_same(file, program.planned) &&
         ::stat(program.path.c_str(), &by_name) == 0 && is_same(by_name, program.planned) &&
         ::lstat(program.path.c_str(), &name) == 0 && is_same(name, program.name);
}

void ProgramDigests::end(EventSink& sink, const std::string& reason) {
  Program program = std::move(left_.front());
  left_.pop_front();
  if (reason == kChanged) return report_change(sink, program.path);
  sink.on(ProgramRead{program.path, reason.empty() ? program.digest.hex() : "", reason});
  if (reason.empty()) reported_.push_back(std::move(program));
}

void ProgramDigests::read_piece(EventSink& sink) {
  if (left_.empty()) return;
  Program& program = left_.front();
  if (!program.found) return end(sink, "there was no such file when the run began");
  if (!program.file) return end(sink, fmt::format("failed to read it: {}", std::strerror(program.error)));
  piece_.resize(kPieceBytes);
  const ssize_t count = ::read(program.file.get(), piece_.data(), piece_.size());
  if (count < 0 && errno == EINTR) return;
  if (count < 0) return end(sink, fmt::format("failed to read it: {}", std::strerror(errno)));
  program.digest.add({piece_.data(), static_cast<std::size_t>(count)});
  program.read += static_cast<std::uint64_t>(count);
  if (count > 0) return;
  end(sink, is_as_planned(program) ? "" : kChanged);
}

bool ProgramDigests::is_first_too_large() const {
  const Program& program = left_.front();
  return program.found && static_cast<std::uint64_t>(program.planned.st_size) > program.read + kMostAtEnd;
}

void ProgramDigests::finish(EventSink& sink, Milliseconds time, const std::function<bool()>& stop_wanted) {
  const auto deadline = Clock::now() + time;
  bool stopped = false;
  while (!left_.empty() && Clock::now() < deadline && !(stopped = stop_wanted())) {
    if (is_first_too_large()) {
      end(sink,
          fmt::format("more than {} MiB of it were not read yet after the last case", kMostAtEnd >> 20));
    } else {
      read_piece(sink);
    }
  }
  while (!left_.empty())
    end(sink, stopped ? "the run was stopped before it was read"
                      : fmt::format("reading it took longer than {} ms after the last case", time.count()));
  for (const Program& program : reported_) {
    if (!is_as_planned(program)) report_change(sink, program.path);
  }
  reported_.clear();
  piece_ = {};
}

}  // namespace proctor
