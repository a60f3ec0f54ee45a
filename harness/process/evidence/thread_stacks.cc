#include "harness/process/evidence/thread_stacks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "harness/base/json.h"
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

// Parses `Thread 2 (Thread 0x7f… (LWP 4711) "worker"):` of gdb, or `TID 4711:` of eu-stack.
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

// Parses a frame. gdb prints `#3  0x0000 in name (args) at file:line` or `from library`, or no address.
// eu-stack prints `#3  0x0000 name`.
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

// Returns the gdb command that prints the stacks of these threads one after another.
std::vector<std::string> gdb_command(const std::string& path, const std::vector<std::string>& what,
                                     const std::vector<std::string>& threads) {
  // Startup files and scripts of the program are disabled. They would run with the permissions of Proctor.
  std::vector<std::string> words = {path, "-nx", "-batch"};
  for (const char* setting :
       {"auto-load off",
        // Reading through the program's mount namespace would need additional permissions.
        "sysroot /", "width 0",
        // Prints a path that can be opened, even if the compiler was given a relative one.
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
  return gdb_command(tool.path, what, {"1", "all"});  // the kernel writes the crashed thread first
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

namespace {

using nlohmann::json;

constexpr std::size_t kMostThreads = 256;
constexpr std::size_t kMostFrames = 200;  // limit for one thread

// Matches python3.11, python3 and libpython3.11.so.1.0, but not modules whose names begin in the same way.
bool is_python_program(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("lib")) name.remove_prefix(3);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0;
}

int number_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}

std::vector<ThreadFrame> frames_of(const json& thread) {
  std::vector<ThreadFrame> frames;
  const auto list = thread.find("frames");
  if (list == thread.end() || !list->is_array()) return frames;
  for (const json& frame : *list) {
    if (frames.size() == kMostFrames) break;
    if (!frame.is_object()) continue;
    frames.push_back(
        {.function = clean_text(text_at(frame, "name")),
         .location = fmt::format("{}:{}", clean_text(text_at(frame, "filename")), number_at(frame, "line")),
         .library = ""});
  }
  return frames;
}

// Converts a thread. Python identifies it by its id in its own PID namespace; versions before 3.8 have no id.
ThreadStack thread_of(const json& thread, const ProcessFacts& process) {
  const int own_tid = number_at(thread, "os_thread_id");
  const auto known =
      std::find_if(process.threads.begin(), process.threads.end(),
                   [own_tid](const ThreadFacts& facts) { return own_tid != 0 && facts.own_tid == own_tid; });
  return {.tid = known == process.threads.end() ? 0 : known->tid,
          .name = clean_text(text_at(thread, "thread_name")),
          .frames = frames_of(thread)};
}

}  // namespace

std::string find_interpreter(ProcReader& reader, int pid) {
  const auto maps = reader.read(pid, "maps");
  if (!maps) return "";
  std::istringstream lines(*maps);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string addresses, rights;
    words >> addresses >> rights;
    const std::size_t slash = line.find('/');
    if (slash == line.npos || rights.find('x') == rights.npos) continue;
    if (is_python_program(std::string_view(line).substr(slash))) return clean_text(line.substr(slash));
  }
  return "";
}

std::vector<std::string> py_spy_command(const std::string& tool, int pid) {
  return {tool, "dump", "--nonblocking", "--json", "--pid", std::to_string(pid)};
}

Result<std::vector<ThreadStack>> parse_py_spy(std::string_view text, const ProcessFacts& process) {
  const json list = parse_json(text);
  std::vector<ThreadStack> threads;
  if (list.is_array()) {
    for (const json& thread : list) {
      if (thread.is_object() && threads.size() < kMostThreads) threads.push_back(thread_of(thread, process));
    }
  }
  if (threads.empty()) return Error::internal("find a stack in its output");
  std::stable_partition(threads.begin(), threads.end(), [&](const ThreadStack& thread) {
    return thread.tid == 0 ? thread.name == "MainThread" : thread.tid == process.pid;
  });
  return threads;
}

}  // namespace proctor
