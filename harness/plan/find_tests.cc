#include "harness/plan/find_tests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/json.h"
#include "harness/base/outside_program.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "harness/plan/recognise.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 100'000;
constexpr int kMostDepth = 12;
constexpr std::uint64_t kMostConfig = std::uint64_t{1} << 20;
constexpr const char* kCMakeCache = "CMakeCache.txt";
constexpr std::array kForeignFolders = {"node_modules", "__pycache__", "site-packages",
                                        "proctor-out",  "CMakeFiles",  "_deps"};

std::string text_of(const fs::path& file) {
  auto text = read_regular(file.string(), kMostConfig);
  return text ? *std::move(text) : std::string();
}

bool has_line(const fs::path& file, std::string_view wanted) {
  const std::string text = text_of(file);
  const auto lines = lines_of(text);
  return std::ranges::any_of(lines, [&](std::string_view line) { return trimmed(line) == wanted; });
}

bool has_pytest_table(const fs::path& file) {
  const auto root = parse_toml(text_of(file), file.string());
  return root && root->at_path("tool.pytest").is_table();
}

// Returns the file in `directory` that configures pytest, or "" (source: "Configuration file formats" of
// pytest).
std::string pytest_config_in(const fs::path& directory) {
  std::error_code none;
  for (const char* name : {"pytest.ini", ".pytest.ini"}) {
    if (fs::is_regular_file(directory / name, none)) return name;
  }
  if (has_pytest_table(directory / "pyproject.toml")) return "pyproject.toml";
  if (has_line(directory / "tox.ini", "[pytest]")) return "tox.ini";
  if (has_line(directory / "setup.cfg", "[tool:pytest]")) return "setup.cfg";
  return "";
}

bool is_pytest_file(std::string_view name) {
  return name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
}

bool is_library(std::string_view name) { return name.ends_with(".so") || name.find(".so.") != name.npos; }

// Returns the source directory of a CMake build, or "" if the directory is not a build.
std::string source_of(const fs::path& build) {
  constexpr std::string_view kSource = "CMAKE_HOME_DIRECTORY:INTERNAL=";
  const std::string text = text_of(build / kCMakeCache);
  for (const std::string_view line : lines_of(text)) {
    if (line.starts_with(kSource)) return std::string(line.substr(kSource.size()));
  }
  return "";
}

bool is_below(std::string_view path, std::string_view directory) {
  return directory == "." || path == directory ||
         (path.starts_with(directory) && path.substr(directory.size()).starts_with('/'));
}

class Search {
 public:
  explicit Search(const std::string& top) : top_(top) {}

  FoundTests run() {
    walk(".", 0);
    leave_out_older_builds();
    place_test_files();
    return std::move(found_);
  }

 private:
  fs::path at(const std::string& path) const { return top_ / path; }

  static std::string below(const std::string& directory, const std::string& name) {
    return directory == "." ? name : directory + "/" + name;
  }

  void walk(const std::string& directory, int depth) {
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator entry(at(directory), error), end; !error && entry != end;
         entry.increment(error)) {
      if (++seen_ > kMostEntries) return stop(directory);
      entries.push_back(*entry);
    }
    if (error) return leave_out(directory, "cannot be read: " + error.message());
    std::ranges::sort(entries);
    look_at(directory);
    for (const fs::directory_entry& entry : entries) {
      if (seen_ > kMostEntries) return;
      std::error_code unknown;
      const std::string name = entry.path().filename().string();
      const auto type = entry.symlink_status(unknown).type();
      if (type == fs::file_type::regular) examine_file(directory, name);
      if (type == fs::file_type::directory && !is_foreign(entry.path(), name)) enter(directory, name, depth);
    }
  }

  void enter(const std::string& directory, const std::string& name, int depth) {
    if (depth < kMostDepth) return walk(below(directory, name), depth + 1);
    leave_out(below(directory, name), fmt::format("is more than {} directories deep", kMostDepth));
  }

  void stop(const std::string& directory) {
    leave_out(directory, fmt::format("is where the search stopped, after {} files", kMostEntries));
  }

  static bool is_foreign(const fs::path& path, const std::string& name) {
    std::error_code none;
    return name.starts_with(".") || std::ranges::find(kForeignFolders, name) != kForeignFolders.end() ||
           fs::exists(path / "pyvenv.cfg", none);
  }

  void look_at(const std::string& directory) {
    std::error_code none;
    if (fs::is_regular_file(at(directory) / "CTestTestfile.cmake", none) && !is_in(found_.ctest, directory))
      found_.ctest.push_back(directory);
    if (const std::string source = source_of(at(directory)); !source.empty())
      builds_[source].insert(directory);
    const bool inside = std::ranges::any_of(
        found_.pytest, [&](const PytestPlace& place) { return is_below(directory, place.directory); });
    if (inside) return;
    if (const std::string config = pytest_config_in(at(directory)); !config.empty())
      found_.pytest.push_back({directory, below(directory, config), {}});
  }

  void examine_file(const std::string& directory, const std::string& name) {
    const std::string path = below(directory, name);
    if (is_pytest_file(name)) test_files_.push_back(path);
    if (is_library(name) || ::access(at(path).c_str(), X_OK) != 0) return;
    const auto kinds = kinds_marked_in(at(path).string());
    if (kinds && !kinds->empty()) found_.programs.push_back(path);
  }

  // Keeps only the build that was configured last, if a project has several.
  void leave_out_older_builds() {
    for (const auto& [source, builds] : builds_) {
      const std::string newest = *std::ranges::max_element(builds, {}, [this](const std::string& build) {
        std::error_code none;
        return fs::last_write_time(at(build) / kCMakeCache, none);
      });
      for (const std::string& build : builds) {
        if (build == newest || is_below(newest, build)) continue;
        leave_out(build, fmt::format("is an older build of the project that {} builds", newest));
        const auto in_it = [&build](const std::string& path) { return is_below(path, build); };
        std::erase_if(found_.programs, in_it);
        std::erase_if(found_.ctest, in_it);
        std::erase_if(test_files_, in_it);
        std::erase_if(found_.pytest, [&](const PytestPlace& place) { return in_it(place.directory); });
      }
    }
  }

  // Adds test files without a configuration. pytest starts at the top, and its arguments are their folders.
  // Files that a build copied from the project are skipped.
  void place_test_files() {
    PytestPlace place{.directory = ".", .sign = {}, .folders = {}};
    std::set<std::string> folders;
    for (const std::string& file : test_files_) {
      const bool configured = std::ranges::any_of(
          found_.pytest, [&](const PytestPlace& other) { return is_below(file, other.directory); });
      const bool built = std::ranges::any_of(builds_, [&](const auto& builds) {
        return std::ranges::any_of(
            builds.second, [&](const std::string& build) { return build != "." && is_below(file, build); });
      });
      if (configured || built) continue;
      if (place.sign.empty()) place.sign = file;
      folders.insert(file.find('/') == std::string::npos ? "." : file.substr(0, file.find('/')));
    }
    if (folders.empty()) return;
    if (!folders.contains(".")) place.folders.assign(folders.begin(), folders.end());
    found_.pytest.push_back(std::move(place));
  }

  static bool is_in(const std::vector<std::string>& directories, const std::string& path) {
    return std::ranges::any_of(directories, [&](const std::string& other) { return is_below(path, other); });
  }

  void leave_out(const std::string& path, std::string why) {
    found_.left_out.push_back({path, std::move(why)});
  }

  fs::path top_;
  FoundTests found_;
  std::vector<std::string> test_files_;
  std::map<std::string, std::set<std::string>> builds_;  // key: source directory
  std::size_t seen_ = 0;
};

}  // namespace

FoundTests find_tests(const std::string& directory) { return Search(directory).run(); }

namespace {

using nlohmann::json;

constexpr std::array kJudges = {"WILL_FAIL",
                                "PASS_REGULAR_EXPRESSION",
                                "FAIL_REGULAR_EXPRESSION",
                                "FIXTURES_SETUP",
                                "FIXTURES_CLEANUP",
                                "FIXTURES_REQUIRED",
                                "REQUIRED_FILES",
                                "DEPENDS",
                                "ENVIRONMENT_MODIFICATION"};

std::string string_or_empty(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

void read_property(const json& property, CTestTest& test) {
  if (!property.is_object()) return;
  const std::string name = string_or_empty(property.value("name", json()));
  const json value = property.value("value", json());
  if (std::ranges::find(kJudges, name) != kJudges.end()) test.judge = name;
  if (name == "WORKING_DIRECTORY") test.directory = string_or_empty(value);
  if (name != "ENVIRONMENT" || !value.is_array()) return;
  for (const json& variable : value) {
    const std::string text = string_or_empty(variable);
    if (const auto equals = text.find('='); equals != text.npos)
      test.env[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

CTestTest test_of(const json& listed) {
  CTestTest test;
  if (!listed.is_object()) return test;
  test.name = string_or_empty(listed.value("name", json()));
  for (const json& word : listed.value("command", json::array()))
    test.command.push_back(string_or_empty(word));
  for (const json& property : listed.value("properties", json::array())) read_property(property, test);
  return test;
}

}  // namespace

Result<std::vector<CTestTest>> ctest_tests(const std::string& build, Milliseconds limit) {
  const auto answer = run_outside_program(
      {.argv = {"ctest", "--test-dir", build, "--show-only=json-v1"}, .package = "cmake", .time = limit});
  if (!answer) return answer.error();
  if (answer->exit_code != 0) {
    return Error::usage("list the tests of CTest: ctest exits with " + std::to_string(answer->exit_code) +
                        ": " + clean_text(answer->errors.substr(0, answer->errors.find('\n'))));
  }
  const json document = parse_json(answer->output);
  const json listed = document.is_object() ? document.value("tests", json()) : json();
  if (!listed.is_array())
    return Error::usage("list the tests of CTest: ctest prints no list (CMake >= 3.20 does)");
  std::vector<CTestTest> tests;
  for (const json& test : listed) tests.push_back(test_of(test));
  return tests;
}

std::string ctest_pattern(const std::vector<std::string>& names) {
  std::string pattern;
  for (const std::string& name : names) {
    pattern += pattern.empty() ? "" : "|";
    for (const char c : name) {
      if (std::string_view(".[]()*+?^$|\\").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return "^(" + pattern + ")$";
}

}  // namespace proctor
