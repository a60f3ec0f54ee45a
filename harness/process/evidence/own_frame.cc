#include "harness/process/evidence/own_frame.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <string>

#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr std::size_t kFunctionBytes = 200;
constexpr std::size_t kLocationBytes = 1'000;
constexpr std::size_t kFatalFrames = 100;  // the limit of Python

template <std::size_t N>
bool has_prefix(std::string_view text, const std::array<std::string_view, N>& prefixes) {
  return std::ranges::any_of(prefixes, [text](std::string_view prefix) { return text.starts_with(prefix); });
}

// The debug information of glibc has paths below the root of its sources: "../sysdeps/…", "./nptl/…".
bool is_source_of_glibc(std::string_view path) {
  constexpr std::array<std::string_view, 30> kFolders = {
      "argp",         "csu",    "ctype",  "debug",    "dirent", "dlfcn",  "elf",    "iconv",
      "inet",         "io",     "libio",  "locale",   "malloc", "math",   "misc",   "nptl",
      "nss",          "posix",  "resolv", "resource", "rt",     "setjmp", "signal", "socket",
      "stdio-common", "stdlib", "string", "sysdeps",  "time",   "wcsmbs"};
  if (path.starts_with("../sysdeps/") || path.find("/../sysdeps/") != path.npos ||
      path.find("/glibc-") != path.npos)
    return true;
  if (!path.starts_with("./")) return false;
  path.remove_prefix(2);
  return std::ranges::find(kFolders, path.substr(0, path.find('/'))) != kFolders.end();
}

bool is_source_of_runtime(std::string_view path) {
  constexpr std::array<std::string_view, 8> kParts = {"/include/c++/", "/libstdc++-v3/", "/libsanitizer/",
                                                      "/compiler-rt/", "/libcxx/",       "/libcxxabi/",
                                                      "/libgcc/",      "/libgomp/"};
  return is_source_of_glibc(path) ||
         std::ranges::any_of(kParts, [path](std::string_view part) { return path.find(part) != path.npos; });
}

bool is_library_of_runtime(std::string_view path) {
  constexpr std::array<std::string_view, 17> kNames = {
      "libc.so", "libc-",     "libc.musl", "ld-",       "libpthread", "libm.so",
      "libm-",   "librt.so",  "libdl.so",  "libstdc++", "libc++",     "libgcc_s",
      "libgomp", "libomp.so", "libasan",   "libtsan",   "libubsan"};
  return has_prefix(path.substr(path.rfind('/') + 1), kNames);
}

bool is_library_of_system(std::string_view path) {
  constexpr std::array<std::string_view, 4> kFolders = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
  return has_prefix(path, kFolders) || is_library_of_runtime(path);
}

// Returns whether the function is the start of a thread.
bool is_begin(std::string_view function) {
  constexpr std::array<std::string_view, 4> kNames = {"_start", "__libc_start", "clone", "start_thread"};
  return has_prefix(function, kNames);
}

// Returns whether the file belongs to the standard library: "/usr/lib/python3.11/threading.py:327". Packages
// installed below it do not count.
bool is_standard_library(std::string_view location) {
  if (location.starts_with("<frozen ")) return true;
  const std::size_t at = location.find("/python3");
  if (at == location.npos || location.substr(0, at).find("/lib") == location.npos) return false;
  const std::size_t end = location.find_first_not_of("0123456789.t", at + std::string_view("/python").size());
  return end != location.npos && location[end] == '/' && location.find("-packages/", end) == location.npos;
}

bool is_installed(std::string_view location) {
  return location.find("/site-packages/") != location.npos ||
         location.find("/dist-packages/") != location.npos;
}

// Returns whether the frame belongs to pytest or its plug-ins. Frames from there on are not part of the test.
bool is_pytest(std::string_view location) {
  return location.find("/_pytest/") != location.npos || location.find("/pluggy/") != location.npos;
}

// Returns whether the frame belongs to the interpreter with debug information, to an extension of the
// standard library, or to libpython.
bool is_part_of_python(const ThreadFrame& frame) {
  constexpr std::array<std::string_view, 4> kFolders = {"Modules/", "Objects/", "Parser/", "Python/"};
  std::string_view source = frame.location;
  while (source.starts_with("../") || source.starts_with("./")) source.remove_prefix(source.find('/') + 1);
  return has_prefix(source, kFolders) || frame.library.find("/lib-dynload/") != frame.library.npos ||
         frame.library.find("/libpython") != frame.library.npos ||
         frame.library.find("/libffi") != frame.library.npos || is_interpreter(frame.function);
}

std::string bounded(const std::string& text, std::size_t limit) {
  std::string cut = clean_text(text.substr(0, limit));
  std::ranges::replace(cut, '\n', ' ');
  return cut;
}

// Parses `  File "/src/a.py", line 12 in f`.
std::optional<ThreadFrame> parse_fatal_frame(std::string_view line) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  const std::size_t number = line.rfind(kLine);
  if (!line.starts_with(kFile) || number == line.npos) return std::nullopt;
  const std::string_view rest = line.substr(number + kLine.size());
  const std::size_t in = rest.find(" in ");
  if (in == rest.npos) return std::nullopt;
  const std::string_view file = line.substr(kFile.size(), number - kFile.size());
  return ThreadFrame{.function = std::string(rest.substr(in + 4)),
                     .location = std::string(file) + ':' + std::string(rest.substr(0, in))};
}

// Normalises the path, because a compiler records a file name as it was typed: "/src/./a.cc".
StackFrame shown(const ThreadFrame& frame) {
  return {
      .function = bounded(frame.function, kFunctionBytes),
      .location = bounded(std::filesystem::path(frame.location).lexically_normal().string(), kLocationBytes)};
}

}  // namespace

bool is_runtime(const ThreadFrame& frame) {
  return is_source_of_runtime(frame.location) || is_library_of_runtime(frame.library);
}

bool only_raises(std::string_view function) {
  constexpr std::array<std::string_view, 8> kNames = {"??",     "raise",   "abort",        "kill",
                                                      "tgkill", "gsignal", "pthread_kill", "sigqueue"};
  constexpr std::array<std::string_view, 10> kPrefixes = {
      "__pthread_kill", "__GI_",         "__assert_fail",        "__assert_perror",
      "__libc_message", "__cxxabiv1::",  "__gnu_cxx::__verbose", "std::terminate",
      "__cxa_",         "__fortify_fail"};
  const std::string_view name = function.substr(0, function.find('@'));  // without the symbol version
  return std::ranges::find(kNames, name) != kNames.end() || has_prefix(name, kPrefixes);
}

bool is_interpreter(std::string_view function) {
  constexpr std::array<std::string_view, 8> kPrefixes = {
      "Py",       "_Py", "ffi_", "_ctypes", "_call_function_pointer", "cfunction_", "method_vectorcall",
      "type_call"};
  return has_prefix(function, kPrefixes);
}

std::vector<ThreadFrame> below_handler(const std::vector<ThreadFrame>& frames) {
  const auto handler = std::ranges::find(frames, "<signal handler called>", &ThreadFrame::function);
  return {handler == frames.end() ? frames.begin() : handler + 1, frames.end()};
}

std::optional<StackFrame> own_frame(const ThreadStack& native, bool is_python) {
  std::vector<ThreadFrame> frames = below_handler(native.frames);
  // From the start of the interpreter on, all frames belong to it or to its callers.
  if (is_python) frames.erase(std::ranges::find_if(frames, is_part_of_python), frames.end());
  const auto lined = std::ranges::find_if(
      frames, [](const ThreadFrame& frame) { return !frame.location.empty() && !is_runtime(frame); });
  if (lined != frames.end()) return shown(*lined);
  const auto named = std::ranges::find_if(frames, [is_python](const ThreadFrame& frame) {
    const bool is_of_interpreter = is_python && frame.library.empty();
    return frame.location.empty() && !is_of_interpreter && !only_raises(frame.function) &&
           !is_begin(frame.function) && !is_library_of_system(frame.library);
  });
  return named != frames.end() ? std::optional(shown(*named)) : std::nullopt;
}

std::optional<StackFrame> own_python_frame(const ThreadStack& python) {
  const auto& frames = python.frames;
  const auto is_ours = [](const ThreadFrame& frame) { return !is_standard_library(frame.location); };
  const auto first = std::ranges::find_if(frames, is_ours);
  if (first == frames.end()) return std::nullopt;
  for (auto frame = first; frame != frames.end() && !is_pytest(frame->location); ++frame) {
    if (is_ours(*frame) && !is_installed(frame->location)) return shown(*frame);
  }
  return shown(*first);
}

std::optional<StackFrame> frame_of_fatal_error(std::string_view output) {
  std::size_t at = output.rfind("Fatal Python error: ");
  if (at != output.npos) at = output.find("\nCurrent thread ", at);
  if (at == output.npos) return std::nullopt;
  std::istringstream lines{std::string(output.substr(at + 1))};
  std::string line;
  std::getline(lines, line);
  ThreadStack stack;
  while (std::getline(lines, line) && stack.frames.size() < kFatalFrames) {
    const auto frame = parse_fatal_frame(line);
    if (!frame) break;
    stack.frames.push_back(*frame);
  }
  return own_python_frame(stack);
}

}  // namespace proctor
