#include "harness/plan/recognise.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "harness/core/child_protocol.h"
#include "harness/core/text.h"
#include "harness/plan/gtest_batch.h"
#include "harness/plan/gtest_list.h"

namespace proctor {

namespace {

namespace fs = std::filesystem;

// What stands in an executable of each kind. A library linked dynamically leaves its own name instead.
struct Marker {
  SuiteKind kind;
  std::string_view bytes;
};
constexpr std::array<Marker, 5> kMarkers = {{{SuiteKind::kProctor, child::kListOption},
                                             {SuiteKind::kGtest, "gtest_list_tests"},
                                             {SuiteKind::kGtest, "libgtest.so"},
                                             {SuiteKind::kBenchmark, "benchmark_list_tests"},
                                             {SuiteKind::kBenchmark, "libbenchmark.so"}}};
constexpr std::size_t kLongestMarker = 32;
static_assert(std::all_of(kMarkers.begin(), kMarkers.end(),
                          [](const Marker& marker) { return marker.bytes.size() <= kLongestMarker; }));

struct Found {
  bool proctor = false;
  bool gtest = false;
  bool benchmark = false;
};

void search(std::string_view block, Found& found) {
  for (const Marker& marker : kMarkers) {
    if (memmem(block.data(), block.size(), marker.bytes.data(), marker.bytes.size()) == nullptr) continue;
    (marker.kind == SuiteKind::kProctor ? found.proctor
     : marker.kind == SuiteKind::kGtest ? found.gtest
                                        : found.benchmark) = true;
  }
}

// Reads block by block: an executable may be larger than what the runner may hold. Only ELF files are
// searched; a script that mentions an option does not understand it.
Result<Found> search_executable(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    // Executable but not readable: nothing to recognise, and no mistake.
    if (errno == EACCES) return Found{};
    return Error::system("read " + path, errno);
  }
  Found found;
  std::vector<char> block(1 << 20);
  std::size_t kept = 0;
  for (bool first = true;; first = false) {
    file.read(block.data() + kept, static_cast<std::streamsize>(block.size() - kept));
    const std::size_t size = kept + static_cast<std::size_t>(file.gcount());
    const std::string_view text(block.data(), size);
    if (first && !text.starts_with("\x7f"
                                   "ELF"))
      return found;
    search(text, found);
    if (!file) return found;
    kept = std::min(kLongestMarker, size);
    std::copy(block.begin() + static_cast<std::ptrdiff_t>(size - kept),
              block.begin() + static_cast<std::ptrdiff_t>(size), block.begin());
  }
}

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

bool is_pytest(const std::vector<std::string>& command) {
  const std::string program = base_name(command.front());
  if (program == "pytest" || program == "py.test" || program.starts_with("pytest-3")) return true;
  if (!program.starts_with("python")) return false;
  // Options of the interpreter may stand before -m; nothing after the module or script belongs to it.
  for (std::size_t i = 1; i + 1 < command.size() && command[i].starts_with('-'); ++i) {
    if (command[i] == "-m") return command[i + 1] == "pytest";
  }
  return false;
}

enum class FileState { kMissing, kDirectory, kNotExecutable, kExecutable };

FileState state_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return FileState::kMissing;
  if (S_ISDIR(status.st_mode)) return FileState::kDirectory;
  return access(path.c_str(), X_OK) == 0 ? FileState::kExecutable : FileState::kNotExecutable;
}

std::vector<std::string> executables_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;  // no suggestion is the worst that follows
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (state_of(entry.path().string()) == FileState::kExecutable)
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// An empty element of PATH is the current directory.
std::vector<fs::path> directories_of(const std::string& path, const std::string& current) {
  std::vector<fs::path> directories;
  std::string_view rest = path;
  while (true) {
    const std::size_t colon = rest.find(':');
    directories.push_back(fs::path(current) / rest.substr(0, colon));
    if (colon == std::string_view::npos) return directories;
    rest.remove_prefix(colon + 1);
  }
}

Error cannot_start(const Suite& suite, const std::string& why, const std::string& hint) {
  return Error::usage(
      fmt::format("start suite `{}` ({}): `{}` {}", suite.name, suite.origin, suite.command.front(), why),
      hint);
}

std::string did_you_mean(const fs::path& directory, const std::string& near) {
  return near.empty() ? std::string() : fmt::format("Did you mean `{}`?", (directory / near).string());
}

std::string exit_text(const ListOutput& out) {
  if (out.timed_out) return "does not end in time";
  if (out.exit_signal) return fmt::format("is ended by signal {}", *out.exit_signal);
  return fmt::format("exits with {}", out.exit_code.value_or(-1));
}

bool ended_well(const ListOutput& out) {
  return out.spawn_error.empty() && !out.timed_out && out.exit_code == 0 && !out.stdout_truncated;
}

bool lists_gtest(const ListOutput& out) {
  const auto names = parse_gtest_list(out.stdout_text);
  return ended_well(out) && names && !names->empty();
}

Result<Recognition> list_with_gtest(const Suite& suite, const ListRunner& run) {
  std::vector<std::string> argv = suite.command;
  argv.emplace_back("--gtest_list_tests");
  Result<ListOutput> out = run(argv, suite.env, suite.directory);
  if (!out) return out.error();
  if (lists_gtest(*out)) {
    return Recognition{SuiteKind::kGtest, "lists GoogleTest tests", std::move(*out)};
  }
  if (out->timed_out || out->exit_signal || !out->spawn_error.empty()) {
    // A GoogleTest program that cannot even list is no command to be judged by its exit code.
    return Recognition{SuiteKind::kGtest, "contains GoogleTest's options", std::move(*out)};
  }
  const std::string why = ended_well(*out) ? "prints no list" : exit_text(*out);
  return Recognition{SuiteKind::kCommand, fmt::format("knows --gtest_list_tests, but {} with it", why), {}};
}

// A program with both markers is ours, or a GoogleTest program that merely contains the word. Asked for both
// lists at once neither runs a test: ours answers with events, the other with GoogleTest's list.
Result<Recognition> list_both(const Suite& suite, const ListRunner& run) {
  std::vector<std::string> argv = suite.command;
  argv.emplace_back(child::kListOption);
  argv.emplace_back("--gtest_list_tests");
  Result<ListOutput> out = run(argv, suite.env, suite.directory);
  if (!out) return out.error();
  const bool no_cases = out->event_lines.empty() || announces_gtest_listener(out->event_lines);
  if (no_cases && lists_gtest(*out)) {
    return Recognition{SuiteKind::kGtest, "lists GoogleTest tests", std::move(*out)};
  }
  return Recognition{SuiteKind::kProctor, "speaks the child protocol", {}};
}

}  // namespace

Result<std::string> find_executable(const Suite& suite, const std::string& path) {
  const std::string& program = suite.command.front();
  const fs::path current(suite.directory);
  if (program.find('/') != std::string::npos) {
    const fs::path file = current / program;
    switch (state_of(file.string())) {
      case FileState::kExecutable:
        return file.string();
      case FileState::kDirectory:
        return cannot_start(suite, "is a directory", "");
      case FileState::kNotExecutable:
        return cannot_start(suite, "is not executable",
                            fmt::format("Try: chmod +x {}", shell_quote(program)));
      case FileState::kMissing:
        break;
    }
    const std::string near = near_miss(base_name(program), executables_in(file.parent_path()));
    return cannot_start(suite, fmt::format("does not exist (from {})", suite.directory),
                        did_you_mean(fs::path(program).parent_path(), near));
  }
  std::vector<std::string> names;
  for (const fs::path& directory : directories_of(path, suite.directory)) {
    const std::string file = (directory / program).string();
    if (state_of(file) == FileState::kExecutable) return file;
  }
  for (const fs::path& directory : directories_of(path, suite.directory)) {
    for (std::string& name : executables_in(directory)) names.push_back(std::move(name));
  }
  if (state_of((current / program).string()) == FileState::kExecutable) {
    return cannot_start(suite, "is not in PATH", fmt::format("Did you mean `./{}`?", program));
  }
  return cannot_start(suite, "is not in PATH", did_you_mean({}, near_miss(program, names)));
}

Result<Recognition> recognise(const Suite& suite, const std::string& executable, const ListRunner& run) {
  if (is_pytest(suite.command)) return Recognition{SuiteKind::kPytest, "the command is pytest", {}};
  const Result<Found> found = search_executable(executable);
  if (!found) return found.error();
  if (found->proctor && found->gtest) return list_both(suite, run);
  if (found->proctor) return Recognition{SuiteKind::kProctor, "knows --proctor-list", {}};
  if (found->gtest) return list_with_gtest(suite, run);
  if (found->benchmark) return Recognition{SuiteKind::kBenchmark, "contains Google Benchmark's options", {}};
  return Recognition{SuiteKind::kCommand, "judged by its exit code", {}};
}

}  // namespace proctor
