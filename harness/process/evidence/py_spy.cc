#include "harness/process/evidence/py_spy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "harness/base/json.h"
#include "harness/base/json_text.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostThreads = 256;
constexpr std::size_t kMostFrames = 200;  // of a thread

// python3.11, python3, libpython3.11.so.1.0, and no module whose name begins like them.
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

// Python knows a thread by the number that it has in its own PID namespace; before 3.8 by none.
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
  if (threads.empty()) return Error::internal("find a stack in what it printed");
  std::stable_partition(threads.begin(), threads.end(), [&](const ThreadStack& thread) {
    return thread.tid == 0 ? thread.name == "MainThread" : thread.tid == process.pid;
  });
  return threads;
}

}  // namespace proctor
