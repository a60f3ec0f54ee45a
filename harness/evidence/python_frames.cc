#include "harness/evidence/python_frames.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "harness/core/read_file.h"
#include "harness/core/text.h"
#include "harness/evidence/elf_symbols.h"
#include "harness/evidence/python_layout.h"
#include "harness/evidence/remote_memory.h"

namespace proctor {
namespace {

constexpr int kMaxInterpreters = 16;
constexpr int kMaxPythonThreads = 256;
constexpr int kMaxPythonFrames = 200;
constexpr std::uint64_t kMaxText = 4096;
constexpr std::uint64_t kMaxTable = 1 << 20;
constexpr std::uint64_t kBytesSize = 16;  // PyVarObject.ob_size
constexpr std::uint64_t kBytesText = 32;  // PyBytesObject.ob_sval
constexpr std::uint64_t kUnicodeLength = 16;
constexpr std::uint64_t kUnicodeState = 32;  // interned:2, kind:3, compact:1, ascii:1

struct Interpreter {
  std::uint64_t runtime = 0;
  std::uint32_t version = 0;
};

bool holds_python(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name.starts_with("python") || name.starts_with("libpython");
}

// The first mapping of each file that may hold the interpreter: path -> address of the file's start.
std::vector<std::pair<std::string, std::uint64_t>> python_files(int pid) {
  std::vector<std::pair<std::string, std::uint64_t>> files;
  const auto maps = read_file("/proc/" + std::to_string(pid) + "/maps");
  if (!maps) return files;
  std::istringstream lines(*maps);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t slash = line.find('/');
    if (slash == line.npos || !holds_python(line.substr(slash))) continue;
    const std::string path = line.substr(slash);
    const bool known =
        std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.first == path; });
    if (!known) files.emplace_back(path, std::stoull(line, nullptr, 16));
  }
  return files;
}

std::optional<Interpreter> find_interpreter(int pid, const RemoteMemory& memory) {
  for (const auto& [path, start] : python_files(pid)) {
    const auto symbols =
        read_elf_symbols("/proc/" + std::to_string(pid) + "/root" + path, {"_PyRuntime", "Py_Version"});
    if (!symbols || !symbols->address.contains("_PyRuntime")) continue;
    const std::uint64_t bias = start - symbols->base;
    Interpreter found{.runtime = symbols->address.at("_PyRuntime") + bias, .version = 0};
    if (const auto version = symbols->address.find("Py_Version"); version != symbols->address.end())
      found.version = memory.get<std::uint32_t>(version->second + bias).value_or(0);
    return found;
  }
  return std::nullopt;
}

void append_utf8(std::string& text, std::uint32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | (c >> 6));
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | (c >> 12));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | (c >> 18));
    text += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  }
}

class Reader {
 public:
  Reader(const RemoteMemory& memory, const PythonLayout& layout) : memory_(memory), layout_(layout) {}

  std::vector<ThreadStack> threads(std::uint64_t runtime) const {
    std::vector<ThreadStack> stacks;
    std::uint64_t interpreter = word(runtime + layout_.runtime_interpreters);
    for (int i = 0; interpreter != 0 && i < kMaxInterpreters; ++i) {
      std::uint64_t thread = word(interpreter + layout_.interpreter_threads);
      for (int k = 0; thread != 0 && k < kMaxPythonThreads; ++k) {
        stacks.push_back({.tid = static_cast<int>(word(thread + layout_.thread_native_id)),
                          .name = "",
                          .frames = frames(thread)});
        thread = word(thread + layout_.thread_next);
      }
      interpreter = word(interpreter + layout_.interpreter_next);
    }
    return stacks;
  }

 private:
  // 0 where nothing can be read: every list of CPython ends with it.
  std::uint64_t word(std::uint64_t address) const { return memory_.get<std::uint64_t>(address).value_or(0); }

  std::vector<StackFrame> frames(std::uint64_t thread) const {
    std::vector<StackFrame> frames;
    std::uint64_t frame = word(thread + layout_.thread_frame);
    if (layout_.held_frame && frame != 0) frame = word(frame + *layout_.held_frame);
    for (int i = 0; frame != 0 && i < kMaxPythonFrames; ++i) {
      const auto owner = memory_.get<std::uint8_t>(frame + layout_.frame_owner);
      const bool shim = layout_.owner_of_shim && owner == layout_.owner_of_shim;
      if (!shim) frames.push_back(describe(frame));
      frame = word(frame + layout_.frame_previous);
    }
    return frames;
  }

  StackFrame describe(std::uint64_t frame) const {
    const std::uint64_t code = word(frame + layout_.frame_code);
    const std::uint64_t instruction = word(frame + layout_.frame_instruction);
    const auto first_line = memory_.get<std::int32_t>(code + layout_.code_first_line).value_or(0);
    const std::string table = bytes(word(code + layout_.code_linetable));
    const int line = python_line(table, first_line, instruction - (code + layout_.code_instructions));
    return {.function = text(word(code + layout_.code_qualname)),
            .location = fmt::format("{}:{}", text(word(code + layout_.code_filename)), line)};
  }

  std::string block(std::uint64_t address, std::uint64_t size) const {
    std::string block(size, '\0');
    return memory_.read(address, block.data(), size) ? block : "";
  }

  std::string bytes(std::uint64_t object) const {
    return block(object + kBytesText, std::min(word(object + kBytesSize), kMaxTable));
  }

  std::string text(std::uint64_t object) const {
    const std::uint64_t length = std::min(word(object + kUnicodeLength), kMaxText);
    const auto state = memory_.get<std::uint32_t>(object + kUnicodeState).value_or(0);
    const std::uint32_t width = (state >> 2) & 7;
    if ((state & 0x60) == 0x60) return clean_text(block(object + layout_.ascii_text, length));
    if ((state & 0x20) == 0 || (width != 1 && width != 2 && width != 4)) return "?";
    const std::string raw = block(object + layout_.unicode_text, length * width);
    std::string out;
    for (std::size_t i = 0; i + width <= raw.size(); i += width) {
      std::uint32_t c = 0;
      for (std::uint32_t k = 0; k < width; ++k)
        c |= std::uint32_t{static_cast<unsigned char>(raw[i + k])} << (8 * k);
      append_utf8(out, c);
    }
    return clean_text(out);
  }

  const RemoteMemory& memory_;
  const PythonLayout& layout_;
};

// Python knows a thread by the number that it has in its own PID namespace.
void name_threads(std::vector<ThreadStack>& stacks, const ProcessFacts& process) {
  for (ThreadStack& stack : stacks) {
    const auto thread = std::find_if(process.threads.begin(), process.threads.end(),
                                     [&](const ThreadFacts& facts) { return facts.own_tid == stack.tid; });
    stack.tid = thread == process.threads.end() ? 0 : thread->tid;
    if (thread != process.threads.end()) stack.name = thread->name;
  }
  std::stable_partition(stacks.begin(), stacks.end(),
                        [&](const ThreadStack& stack) { return stack.tid == process.pid; });
}

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 24, (version >> 16) & 0xff, (version >> 8) & 0xff);
}

// Variable-length numbers of the location table: 6 bits a byte, the lowest first; signed ones keep the sign
// in bit 0.
std::uint32_t read_varint(const std::string& table, std::size_t& at) {
  std::uint32_t value = 0;
  for (unsigned shift = 0; at < table.size() && shift < 30; shift += 6) {
    const auto byte = static_cast<unsigned char>(table[at++]);
    value |= std::uint32_t{byte & 0x3fu} << shift;
    if ((byte & 0x40) == 0) break;
  }
  return value;
}

int read_signed_varint(const std::string& table, std::size_t& at) {
  const std::uint32_t value = read_varint(table, at);
  const int magnitude = static_cast<int>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace

int python_line(const std::string& location_table, int first_line, std::uint64_t offset) {
  constexpr unsigned kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNone = 15;
  std::uint64_t start = 0;
  int line = first_line;
  for (std::size_t at = 0; at < location_table.size();) {
    const auto head = static_cast<unsigned char>(location_table[at++]);
    const unsigned code = (head >> 3) & 15;
    if (code == kNoColumns || code == kLong) line += read_signed_varint(location_table, at);
    if (code >= kOneLine0 && code <= kOneLine2) line += static_cast<int>(code - kOneLine0);
    start += 2 * ((head & 7u) + 1);  // in instructions of two bytes
    if (offset < start) return code == kNone ? 0 : line;
    while (at < location_table.size() && (static_cast<unsigned char>(location_table[at]) & 0x80) == 0) ++at;
  }
  return 0;
}

PythonStacks read_python_stacks(const ProcessFacts& process) {
  PythonStacks stacks;
  const RemoteMemory memory(process.pid);
  const auto interpreter = find_interpreter(process.pid, memory);
  if (!interpreter) return stacks;
  stacks.is_python = true;
  if (interpreter->version != 0) stacks.version = version_text(interpreter->version);
  const auto layout = python_layout(interpreter->version, memory, interpreter->runtime);
  if (memory.refused()) {
    stacks.problem = "not permitted";
  } else if (!layout) {
    stacks.problem = stacks.version.empty() ? "before 3.11" : "version " + stacks.version;
  } else {
    stacks.threads = Reader(memory, *layout).threads(interpreter->runtime);
    name_threads(stacks.threads, process);
    if (stacks.threads.empty()) stacks.problem = "no thread state";
  }
  return stacks;
}

}  // namespace proctor
