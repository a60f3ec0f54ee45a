#include "harness/evidence/crash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "harness/evidence/core_file.h"
#include "harness/evidence/findings.h"
#include "harness/evidence/native_stacks.h"
#include "harness/evidence/tools.h"

namespace proctor {
namespace {

constexpr Milliseconds kCrashReserve{300};  // for writing it all down
constexpr std::size_t kFramesOfACrash = 6;
constexpr std::size_t kCrashLineBytes = 200;

// Those between what went wrong and the signal. Only names that are the implementation's count by their beginning:
// `abort_transfer` is somebody's own.
bool only_raises(std::string_view function) {
  constexpr std::array<std::string_view, 8> kNames = {"??",     "raise",   "abort",        "kill",
                                                      "tgkill", "gsignal", "pthread_kill", "sigqueue"};
  constexpr std::array<std::string_view, 10> kPrefixes = {
      "__pthread_kill", "__GI_",         "__assert_fail",        "__assert_perror",
      "__libc_message", "__cxxabiv1::",  "__gnu_cxx::__verbose", "std::terminate",
      "__cxa_",         "__fortify_fail"};
  const std::string_view name = function.substr(0, function.find('@'));  // without the version of the symbol
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kMib = 1024 * 1024;
  const double mib = static_cast<double>(bytes) / kMib;
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

class Crash {
 public:
  Crash(const CrashRequest& request, Containment& containment, std::ostream& text)
      : request_(request),
        containment_(containment),
        text_(text),
        tools_end_(Clock::now() + (request.budget - kCrashReserve) * 3 / 4),
        end_(Clock::now() + request.budget - kCrashReserve),
        tools_(tool_settings(request.environment, request.more_tools)) {}

  bool find_its_core();
  void read_stacks();
  void keep_core();

  const CrashDigest& digest() const { return digest_; }

 private:
  void say(const std::string& line) {
    text_ << line << '\n' << std::flush;
    digest_.lines.push_back(line.substr(0, kCrashLineBytes));
  }

  const CrashRequest& request_;
  Containment& containment_;
  std::ostream& text_;
  Clock::time_point tools_end_;  // the rest is for the copy
  Clock::time_point end_;
  ToolSettings tools_;
  std::optional<FoundCore> core_;
  CrashDigest digest_;
};

bool Crash::find_its_core() {
  auto core = find_core(request_.core_glob, request_.owner);
  if (!core) {
    say(
        fmt::format("no core of process {} was found: another process may have overwritten it, or it is in "
                    "another directory; checked {}",
                    request_.owner.pid, clean_text(request_.core_glob)));
    return false;
  }
  core_ = std::move(core);
  digest_.program = core_->facts.program;
  return true;
}

// Last, since it may be long: who reads the stack needs no copy.
void Crash::keep_core() {
  const bool stays = request_.scratch.empty() || !core_->path.starts_with(request_.scratch + "/");
  const std::string where = stays ? "left at " + clean_text(core_->path) : "not kept";
  const std::uint64_t bytes = bytes_on_disk(core_->path);
  if (bytes > request_.room)
    return say(fmt::format("core: {}, {}: there is room for {} more in the run directory", size_text(bytes),
                           where, size_text(request_.room)));
  if (auto moved = move_core(*core_, request_.core, end_); !moved)
    return say("core: " + where + ": failed to " + clean_text(moved.error().what));
  text_ << "core of process " << request_.owner.pid << " (" << clean_text(digest_.program)
        << "): " << clean_text(request_.core) << ", " << size_text(bytes) << '\n'
        << std::flush;
}

void Crash::read_stacks() {
  const auto tool = find_stack_tool(tools_.search);
  if (!tool) return say("stack: neither gdb nor eu-stack is on PATH; apt-get install gdb (or elfutils)");
  const auto left = std::chrono::duration_cast<Milliseconds>(tools_end_ - Clock::now());
  const auto runs = run_tools(containment_, {core_stack_command(*tool, core_->path, digest_.program)},
                              tools_.environment, std::max(left, Milliseconds(0)));
  const ToolRun& run = runs.front();
  text_ << "== " << tool->path << '\n' << clean_text(run.output) << '\n' << std::flush;
  const auto threads = parse_native_stacks(run.output);
  const std::string name = digest_.program.substr(digest_.program.rfind('/') + 1);
  const auto lines =
      threads.empty() ? std::vector<std::string>() : crash_lines(threads.front(), name.starts_with("python"));
  for (const std::string& line : lines) digest_.lines.push_back(line);
  if (!lines.empty()) return;
  text_ << clean_text(run.errors) << '\n';
  say("stack: " + tool->path.substr(tool->path.rfind('/') + 1) + ": " +
      (run.problem.empty() ? "named no function" : run.problem));
}

}  // namespace

std::vector<std::string> crash_lines(const ThreadStack& thread, bool is_python) {
  const auto& frames = thread.frames;
  // What is above a handler only tells of the signal.
  auto first = std::ranges::find(frames, "<signal handler called>", &StackFrame::function);
  first = first == frames.end() ? frames.begin() : first + 1;
  const auto innermost = first;
  first = std::find_if_not(first, frames.end(),
                           [](const StackFrame& frame) { return only_raises(frame.function); });
  if (first == frames.end()) first = innermost;
  std::vector<std::string> lines;
  for (auto frame = first; frame != frames.end() && lines.size() < kFramesOfACrash; ++frame) {
    if (frame->function == "??") continue;
    if (is_python && !lines.empty() && is_interpreter(frame->function)) break;
    // The whole path of the first one can be opened.
    const std::string location =
        lines.empty() ? frame->location : frame->location.substr(frame->location.rfind('/') + 1);
    std::string line = (lines.empty() ? "crashed in " : "< ") + frame->function +
                       (location.empty() ? "" : " at " + location);
    if (line.size() > kCrashLineBytes) line = line.substr(0, kCrashLineBytes - 3) + "...";
    lines.push_back(std::move(line));
  }
  return lines;
}

void collect_crash(const CrashRequest& request, Containment& containment, std::ostream& text,
                   const std::function<void(const CrashDigest&)>& digest) {
  Crash crash(request, containment, text);
  const bool found = crash.find_its_core();
  digest(crash.digest());
  if (!found) return;
  crash.read_stacks();
  digest(crash.digest());
  crash.keep_core();
  digest(crash.digest());
}

}  // namespace proctor
