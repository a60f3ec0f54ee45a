#include "harness/process/evidence/crash.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/process/evidence/core_file.h"
#include "harness/process/evidence/own_frame.h"
#include "harness/process/evidence/thread_stacks.h"
#include "harness/process/evidence/tools.h"

namespace proctor {
namespace {

constexpr Milliseconds kCrashReserve{300};  // time reserved for writing the results
constexpr std::size_t kFramesOfACrash = 6;
constexpr std::size_t kCrashLineBytes = 200;

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
        copy_limit_((request.budget - kCrashReserve) / 4),
        tools_(tool_settings(request.environment, request.more_tools)) {}

  bool find_its_core();
  void rename_core();
  void read_stacks();
  void keep_core();

  const EvidenceDigest& digest() const { return digest_; }

 private:
  void say(const std::string& line) {
    text_ << line << '\n' << std::flush;
    digest_.lines.push_back(line.substr(0, kCrashLineBytes));
  }

  const CrashRequest& request_;
  Containment& containment_;
  std::ostream& text_;
  Milliseconds copy_limit_;  // the tools have the remaining budget
  ToolSettings tools_;
  std::optional<FoundCore> core_;
  EvidenceDigest digest_;
};

bool Crash::find_its_core() {
  auto core = find_core(request_.core_glob, request_.owner);
  if (!core) {
    say(fmt::format(
        "no core of process {} was found: another process may have overwritten it, or it is in another "
        "directory; "
        "checked {}{}",
        request_.owner.pid, clean_text(request_.core_glob),
        read_core_pattern().is_shared() ? " (`sysctl kernel.core_uses_pid=1` gives each its own)" : ""));
    return false;
  }
  core_ = std::move(core);
  digest_.core_program = core_->facts.program;
  return true;
}

// Renames the core immediately if no copy is needed. The next process that crashes there can overwrite it.
void Crash::rename_core() {
  if (bytes_on_disk(core_->path) > request_.room) return;
  if (::rename(core_->path.c_str(), request_.core.c_str()) == 0) core_->path = request_.core;
}

// Copies the core last, because a copy can take long and the stack does not need it.
void Crash::keep_core() {
  const bool stays = request_.scratch.empty() || !core_->path.starts_with(request_.scratch + "/");
  const std::string where = stays ? "left at " + clean_text(core_->path) : "not kept";
  const std::uint64_t bytes = bytes_on_disk(core_->path);
  if (bytes > request_.room)
    return say(fmt::format("core: {}, {}: there is room for {} more in the run directory", size_text(bytes),
                           where, size_text(request_.room)));
  const bool is_kept = core_->path == request_.core;
  const auto end = Clock::now() + copy_limit_;
  if (auto moved = is_kept ? Result<void>() : move_core(*core_, request_.core, end); !moved)
    return say("core: " + where + ": failed to " + clean_text(moved.error().what));
  text_ << "core of process " << request_.owner.pid << " (" << clean_text(digest_.core_program)
        << "): " << clean_text(request_.core) << ", " << size_text(bytes) << '\n'
        << std::flush;
}

void Crash::read_stacks() {
  const auto tool = find_stack_tool(tools_.search);
  if (!tool) return say("stack: neither gdb nor eu-stack is on PATH; apt-get install gdb (or elfutils)");
  const auto runs = run_tools(containment_, {core_stack_command(*tool, core_->path, digest_.core_program)},
                              tools_.environment, 3 * copy_limit_);
  const ToolRun& run = runs.front();
  text_ << "== " << tool->path << '\n' << clean_text(run.output) << '\n' << std::flush;
  const auto threads = parse_native_stacks(run.output);
  const std::string name = digest_.core_program.substr(digest_.core_program.rfind('/') + 1);
  const bool is_python = name.starts_with("python");
  const auto lines = threads.empty() ? std::vector<std::string>() : crash_lines(threads.front(), is_python);
  for (const std::string& line : lines) digest_.lines.push_back(line);
  if (!threads.empty()) digest_.frame = own_frame(threads.front(), is_python);
  if (!lines.empty()) return;
  text_ << clean_text(run.errors) << '\n';
  say("stack: " + tool->path.substr(tool->path.rfind('/') + 1) + ": " +
      (run.problem.empty() ? "named no function" : run.problem));
}

}  // namespace

std::vector<std::string> crash_lines(const ThreadStack& thread, bool is_python) {
  const std::vector<ThreadFrame> frames = below_handler(thread.frames);
  auto first =
      std::ranges::find_if_not(frames, [](const ThreadFrame& frame) { return only_raises(frame.function); });
  if (first == frames.end()) first = frames.begin();
  std::vector<std::string> lines;
  for (auto frame = first; frame != frames.end() && lines.size() < kFramesOfACrash; ++frame) {
    if (frame->function == "??") continue;
    if (is_python && !lines.empty() && is_interpreter(frame->function)) break;
    // The first location is shown with its whole path, so that it can be opened.
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
                   const std::function<void(const EvidenceDigest&)>& digest) {
  Crash crash(request, containment, text);
  const bool found = crash.find_its_core();
  digest(crash.digest());
  if (!found) return;
  crash.rename_core();
  crash.read_stacks();
  digest(crash.digest());
  crash.keep_core();
  digest(crash.digest());
}

}  // namespace proctor
