#include "harness/process/evidence/native_stacks.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "harness/base/text.h"
#include "harness/process/evidence/tools.h"

namespace proctor {
namespace {

constexpr const char* kMaxFrames = "100";

int number_after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == line.npos) return 0;
  int value = 0;
  std::from_chars(line.data() + at + mark.size(), line.data() + line.size(), value);
  return value;
}

// `Thread 2 (Thread 0x7f… (LWP 4711) "worker"):` of gdb, `TID 4711:` of eu-stack.
std::optional<ThreadStack> parse_thread(std::string_view line) {
  ThreadStack thread;
  if (line.starts_with("TID ")) {
    thread.tid = number_after(line, "TID ");
  } else if (line.starts_with("Thread ")) {
    thread.tid = number_after(line, "(LWP ");
    if (thread.tid == 0) thread.tid = number_after(line, "process ");
    const std::size_t quote = line.find('"');
    const std::size_t end = line.rfind('"');
    if (quote != line.npos && end > quote) thread.name = clean_text(line.substr(quote + 1, end - quote - 1));
  }
  if (thread.tid == 0) return std::nullopt;
  return thread;
}

// gdb: `#3  0x0000 in name (args) at file:line` or `from library`, or without the address;
// eu-stack: `#3  0x0000 name`.
std::optional<ThreadFrame> parse_frame(std::string_view line) {
  std::size_t at = 1;
  if (line.size() < 2 || line[0] != '#' || std::isdigit(static_cast<unsigned char>(line[1])) == 0)
    return std::nullopt;
  const auto skip = [&](auto is) {
    while (at < line.size() && is(line[at])) ++at;
  };
  const auto blank = [](char c) { return c == ' '; };
  const auto word = [](char c) { return c != ' '; };
  skip(word);
  skip(blank);
  if (line.substr(at).starts_with("0x")) {
    skip(word);
    skip(blank);
    if (line.substr(at).starts_with("in ")) at += 3;
  }
  const std::string_view rest = line.substr(std::min(at, line.size()));
  const std::size_t arguments = rest.find(" (", rest.starts_with('(') ? 1 : 0);
  ThreadFrame frame{.function = clean_text(rest.substr(0, arguments))};
  if (const std::size_t separator = rest.rfind(") at "); separator != rest.npos) {
    frame.location = clean_text(rest.substr(separator + 5));
  } else if (const std::size_t library = rest.rfind(") from "); library != rest.npos) {
    frame.library = clean_text(rest.substr(library + 7));
  }
  if (frame.function.empty()) frame.function = "??";
  return frame;
}

// The stacks of these threads, one after the other.
std::vector<std::string> gdb_command(const std::string& path, const std::vector<std::string>& what,
                                     const std::vector<std::string>& threads) {
  // No start-up files and no scripts of the program's: they would run with our rights.
  std::vector<std::string> words = {path, "-nx", "-batch"};
  for (const char* setting :
       {"auto-load off",
        // Not through the program's mount namespace, which needs rights of its own.
        "sysroot /", "width 0",
        // A path that can be opened, also where the compiler was given a relative one.
        "filename-display absolute", "confirm off", "print frame-arguments none", "print thread-events off"})
    words.insert(words.end(), {"-iex", std::string("set ") + setting});
  words.insert(words.end(), what.begin(), what.end());
  for (const std::string& thread : threads)
    words.insert(words.end(), {"-ex", "thread apply " + thread + " backtrace " + kMaxFrames});
  return words;
}

}  // namespace

std::optional<StackTool> find_stack_tool(const std::string& search) {
  if (std::string path = find_tool("gdb", search); !path.empty())
    return StackTool{StackTool::Kind::kGdb, path};
  if (std::string path = find_tool("eu-stack", search); !path.empty())
    return StackTool{StackTool::Kind::kEuStack, path};
  return std::nullopt;
}

std::vector<std::string> stack_command(const StackTool& tool, int pid) {
  if (tool.kind == StackTool::Kind::kEuStack) return {tool.path, "-n", kMaxFrames, "-p", std::to_string(pid)};
  return gdb_command(tool.path, {"-p", std::to_string(pid)}, {"all"});
}

std::vector<std::string> core_stack_command(const StackTool& tool, const std::string& core,
                                            const std::string& program) {
  if (tool.kind == StackTool::Kind::kEuStack) {
    std::vector<std::string> words = {tool.path, "-n", kMaxFrames, "--core=" + core};
    if (!program.empty()) words.push_back("--executable=" + program);
    return words;
  }
  std::vector<std::string> what = {"-c", core};
  if (!program.empty()) what.insert(what.begin(), {"-se", program});
  return gdb_command(tool.path, what, {"1", "all"});  // the kernel writes the thread that crashed first
}

std::vector<ThreadStack> parse_native_stacks(std::string_view text) {
  std::vector<ThreadStack> threads;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (auto thread = parse_thread(line)) {
      threads.push_back(std::move(*thread));
    } else if (auto frame = parse_frame(line); frame && !threads.empty()) {
      threads.back().frames.push_back(std::move(*frame));
    }
  }
  return threads;
}

}  // namespace proctor
