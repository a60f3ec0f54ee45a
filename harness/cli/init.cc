// Implements `proctor init`: writes a proctor.toml for the tests in a directory. Every suite is listed as `proctor run`
// would do it. A program that lists no tests is left out, so that the file works unchanged.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ranges>
#include <set>

#include "harness/base/json.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/config.h"
#include "harness/plan/find_tests.h"
#include "harness/plan/select.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/program_needs.h"
#include "harness/runner/record/run_directory.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "proctor.toml";
constexpr std::size_t kMostSuites = 100;
constexpr std::size_t kMostPattern = 16'000;  // limit for one argument of CTest, in characters

struct InitOptions {
  std::string directory = ".";
  std::string timeout = "60s";
  bool dry_run = false;
};

// A candidate for a suite in the file.
struct Draft {
  std::string name;
  std::string path;  // where it was found, for messages
  std::vector<std::string> command;
  std::string kind{};
  std::string directory{};  // relative to the directory of the file; "": the same directory
  std::string process{};
  std::string backend{};         // "auto": it uses the vendor's devices if there are any
  std::string backend_reason{};  // comment after the key
  std::string timeout{};
  std::map<std::string, std::string> env{};
  std::string what{};  // "12 GoogleTest tests"
};

std::string lines_of_suite(const Draft& draft) {
  std::string command;
  for (const std::string& word : draft.command) command += (command.empty() ? "" : ", ") + toml_text(word);
  std::string text = fmt::format("[suite.{}]\n", draft.name);
  const auto add = [&text](const char* key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{} = {}\n", key, toml_text(value));
  };
  add("kind", draft.kind);
  text += fmt::format("command = [{}]\n", command);
  add("directory", draft.directory);
  add("process", draft.process);
  if (!draft.backend.empty())
    text += fmt::format("backend = {}  # {}\n", toml_text(draft.backend), draft.backend_reason);
  add("timeout", draft.timeout);
  if (draft.env.empty()) return text;
  text += fmt::format("[suite.{}.env]\n", draft.name);
  for (const auto& [name, value] : draft.env)
    text += fmt::format("{} = {}\n", toml_text(name), toml_text(value));
  return text;
}

// Returns the file URL of an absolute path (source: RFC 8089).
std::string file_url(const fs::path& path) {
  constexpr std::string_view kPlain = "/-._~";
  std::string url = "file://";
  for (const char c : path.string()) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

std::string text_of_file(const std::vector<Draft>& drafts) {
  std::string text;
  const std::string schema = Installation().shared_file("schema/proctor.schema.json");
  if (!schema.empty()) text += "#:schema " + file_url(fs::weakly_canonical(schema)) + "\n";
  text +=
      "# Suites of `proctor run`, found by `proctor init`. All keys: docs/reference/config.md of Proctor.\n";
  for (const Draft& draft : drafts) text += fmt::format("\n# {}\n{}", draft.what, lines_of_suite(draft));
  return text;
}

// Finds the tests of one directory, and collects the suites for the file.
class Inquiry {
 public:
  Inquiry(Machine& machine, const fs::path& top, Milliseconds limit)
      : machine_(machine), top_(top), limit_(limit) {
    for (const BuiltinSuite& builtin : Installation().builtin_suites()) taken_.insert(builtin.name);
  }

  void ask(const FoundTests& found) {
    for (const LeftOut& left : found.left_out) leave_out(left.path, left.why);
    for (const std::string& build : found.ctest) read_ctest(build);
    for (const std::string& program : found.programs) ask_program(program);
    for (const PytestPlace& place : found.pytest) ask_pytest(place);
    for (const auto& [build, tests] : ctest_) remaining_of_ctest(build, tests);
  }

  const std::vector<Draft>& drafts() const { return drafts_; }

 private:
  static void leave_out(const std::string& path, const std::string& why) {
    std::printf("left out %s: %s\n", shown(path).c_str(), shown(why).c_str());
  }

  std::string new_name(const std::string& wanted) {
    std::string name = wanted;
    for (int number = 2; taken_.contains(name); ++number) name = fmt::format("{}_{}", wanted, number);
    taken_.insert(name);
    return name;
  }

  // Returns a path relative to the directory of the file; absolute if it is not below it.
  std::string place_of(const fs::path& path) const {
    const fs::path relative = path.lexically_relative(top_);
    return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
  }

  void read_ctest(const std::string& build) {
    auto tests = ctest_tests((top_ / build).string(), limit_);
    if (!tests) return leave_out(build, tests.error().message());
    ctest_.emplace_back(build, *std::move(tests));
  }

  static bool runs(const CTestTest& test, const fs::path& program) {
    std::error_code none;
    return !test.command.empty() && fs::equivalent(test.command.front(), program, none);
  }

  std::vector<CTestTest> ctest_tests_of(const fs::path& program) const {
    std::vector<CTestTest> tests;
    for (const auto& [build, all] : ctest_)
      std::ranges::copy_if(all, std::back_inserter(tests),
                           [&](const CTestTest& test) { return runs(test, program); });
    return tests;
  }

  void ask_program(const std::string& path) {
    const fs::path program = top_ / path;
    Draft draft{.name = ad_hoc_name(path), .path = path, .command = {}};
    const auto listed = ctest_tests_of(program);
    fs::path directory = top_;
    if (!listed.empty()) {  // with the same directory as in CTest
      const CTestTest& first = listed.front();
      const auto judged =
          std::ranges::find_if(listed, [](const CTestTest& test) { return !test.judge.empty(); });
      if (judged != listed.end())
        return leave_out(path, fmt::format("has a test with {}, which only CTest evaluates", judged->judge));
      if (!first.directory.empty()) directory = first.directory;
      if (directory != top_) draft.directory = place_of(directory);
      draft.env = first.env;
      if (listed.size() == 1) draft.command.assign(first.command.begin() + 1, first.command.end());
    }
    fs::path word = program.lexically_relative(directory);
    if (!word.has_parent_path()) word = "." / word;
    draft.command.insert(draft.command.begin(), word.string());
    for (const NeededBackend& needed : needed_backends(program.string(), library_path())) {
      if (!draft.backend.empty()) break;
      draft.backend = needed.certain ? to_string(needed.backend) : "auto";
      draft.backend_reason = clean_text(needed.why);
    }
    add(std::move(draft));
  }

  std::string library_path() const {
    const auto found = machine_.caller().find("LD_LIBRARY_PATH");
    return found == machine_.caller().end() ? "" : found->second;
  }

  // One process per file, because a process per test takes longer to start and collect than most tests run.
  void ask_pytest(const PytestPlace& place) {
    Draft draft{.name = "pytest", .path = place.sign, .command = {"pytest"}};
    draft.process = "file";
    if (place.directory != ".") {
      draft.name = ad_hoc_name("pytest_" + fs::path(place.directory).filename().string());
      draft.directory = place.directory;
    }
    draft.command.insert(draft.command.end(), place.folders.begin(), place.folders.end());
    add(std::move(draft));
  }

  // Adds the tests that no suite runs as one case, because only CTest can start and judge them.
  void remaining_of_ctest(const std::string& build, const std::vector<CTestTest>& tests) {
    std::vector<std::string> rest;
    std::vector<std::string> others;
    std::size_t not_built = 0;
    std::size_t ours = 0;
    for (const CTestTest& test : tests) {
      not_built += test.command.empty() ? 1 : 0;
      if (test.command.empty()) continue;
      const bool is_ours = fs::path(test.command.front()).filename() == "proctor";
      ours += is_ours ? 1 : 0;
      const bool taken =
          std::ranges::any_of(programs_, [&](const fs::path& program) { return runs(test, program); });
      (taken || is_ours ? others : rest).push_back(test.name);
    }
    if (not_built > 0)
      leave_out(build, count_text(not_built, "test") + " of CTest without a program: build them first");
    if (ours > 0)
      leave_out(build, count_text(ours, "test") + " of CTest that run under Proctor already: use ctest");
    if (rest.empty()) return;
    Draft draft{
        .name = "ctest", .path = build, .command = {"ctest", "--test-dir", build, "--output-on-failure"}};
    if (!others.empty() || not_built > 0) {
      draft.command.insert(draft.command.end(), {"--tests-regex", ctest_pattern(rest)});
      if (draft.command.back().size() > kMostPattern)
        return leave_out(
            build, count_text(rest.size(), "test") + " of CTest, whose names do not fit into one pattern");
    }
    draft.kind = "command";
    draft.timeout = "30m";
    draft.what = count_text(rest.size(), "test") + " of CTest, as one case";
    add(std::move(draft));
  }

  // Returns whether all words are valid in TOML and readable.
  static bool is_clean(const Draft& draft) {
    std::vector<std::string> words = draft.command;
    words.push_back(draft.directory);
    for (const auto& [name, value] : draft.env) words.insert(words.end(), {name, value});
    return std::ranges::all_of(words, [](const std::string& word) { return clean_text(word) == word; });
  }

  // Adds a suite if its program lists tests, or if the program needs a device to list them.
  void add(Draft draft) {
    if (drafts_.size() >= kMostSuites)
      return leave_out(draft.path, fmt::format("the limit of {} suites is reached", kMostSuites));
    if (!is_clean(draft)) return leave_out(draft.path, "has a name that is not clean UTF-8");
    draft.name = new_name(draft.name);
    PlanOptions options;
    options.config = {.directory = top_.string(), .config_file = {}, .user_file = {}, .profile = {}};
    options.config.text = lines_of_suite(draft);
    options.selection.suites = {draft.name};
    options.selection.may_be_empty = true;
    options.listing_timeout = limit_;
    options.on_wait = report_wait;
    const auto outcome = discover_plan(options, machine_);
    const std::string why = outcome ? why_no_suite(outcome->plan, draft) : outcome.error().message();
    if (!why.empty()) {
      taken_.erase(draft.name);
      return leave_out(draft.path, why);
    }
    const Suite& suite = outcome->plan.suites.front();
    draft.kind = suite.kind->name();
    if (!suite.gpu_modules.empty()) {
      draft.backend = "auto";
      draft.backend_reason = fmt::format("imports {}", fmt::join(std::views::keys(suite.gpu_modules), ", "));
    }
    if (draft.what.empty()) {
      const bool unlisted = is_unlisted(outcome->plan.cases.front());
      draft.what = (unlisted ? "tests" : count_text(outcome->plan.cases.size(), "test")) + " of kind " +
                   draft.kind + (unlisted ? ", listed only with a device" : "");
    }
    std::printf("%s: %s, suite `%s`\n", shown(draft.path).c_str(), shown(draft.what).c_str(),
                draft.name.c_str());
    programs_.push_back(fs::path(suite.directory) / draft.command.front());
    drafts_.push_back(std::move(draft));
  }

  static std::string why_no_suite(const Plan& plan, const Draft& draft) {
    if (plan.suites.empty() || plan.cases.empty()) return "lists no tests";
    const Suite& suite = plan.suites.front();
    return suite.kind->traits().one_case && draft.kind.empty() ? suite.kind_reason : "";
  }

  Machine& machine_;
  const fs::path& top_;
  const Milliseconds limit_;
  std::set<std::string> taken_;  // names
  std::vector<Draft> drafts_;
  std::vector<fs::path> programs_;                                     // programs of the drafts
  std::vector<std::pair<std::string, std::vector<CTestTest>>> ctest_;  // by build directory
};

Result<fs::path> top_of(const InitOptions& options) {
  std::error_code error;
  const fs::path top = fs::canonical(options.directory, error);
  if (error) return Error::usage(fmt::format("open {}: {}", options.directory, error.message()));
  if (!fs::is_directory(top, error)) return Error::refused(options.directory + " is not a directory");
  struct stat there {};
  if (!options.dry_run && ::lstat((top / kFile).c_str(), &there) == 0) {
    return Error::refused(fmt::format("{} exists already, and is not overwritten", (top / kFile).string()),
                          "Rename it, or print what would be written: proctor init --dry-run.");
  }
  if (options.dry_run) return top;
  if (auto usable = check_output_file("proctor init", (top / kFile).string()); !usable) return usable.error();
  return top;
}

// Fails if the file exists, so a file that another process created meanwhile is kept.
Result<void> write_new(const fs::path& file, const std::string& text) {
  std::FILE* const out = std::fopen(file.c_str(), "wx");
  if (out == nullptr) return Error::system("write " + file.string(), errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (std::fclose(out) == 0 && written) return {};
  const int err = errno;
  ::unlink(file.c_str());
  return Error::system("write " + file.string(), err);
}

int init(const InitOptions& options) {
  const auto limit = parse_duration(options.timeout);
  if (!limit) return fail(Error::refused("--timeout: " + limit.error().what, limit.error().hint));
  if (*limit == Milliseconds(0)) return fail(Error::refused("--timeout must be greater than zero (got 0s)"));
  const auto top = top_of(options);
  if (!top) return fail(top.error());
  const auto machine = Machine::open({}, new_run_id());
  if (!machine) return fail(machine.error());
  Inquiry inquiry(**machine, *top, *limit);
  inquiry.ask(find_tests(top->string()));
  const auto& drafts = inquiry.drafts();
  if (drafts.empty()) {
    return fail(Error::refused("No tests were found in " + top->string(),
                               "Build the project first. `proctor init` looks for executables with "
                               "GoogleTest, Catch2, doctest, Boost.Test or "
                               "Google Benchmark, for tests of pytest, and for CTestTestfile.cmake."));
  }
  const std::string text = text_of_file(drafts);
  if (options.dry_run) {
    std::printf("\n%s", shown(text).c_str());
    return kExitGreen;
  }
  if (auto written = write_new(*top / kFile, text); !written) return fail(written.error());
  std::error_code none;
  const bool here = fs::equivalent(*top, fs::current_path(none), none);
  std::printf("%s: %s. Run them: proctor run%s\n", shown((*top / kFile).string()).c_str(),
              count_text(drafts.size(), "suite").c_str(),
              here ? "" : (" --config " + shell_quote((*top / kFile).string())).c_str());
  return kExitGreen;
}

}  // namespace

void add_init_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("init", "Write a `proctor.toml` for the tests of a directory");
  auto options = std::make_shared<InitOptions>();
  command->add_option("directory", options->directory, "Directory of the project (default: this one)")
      ->type_name("DIR");
  command->add_flag("--dry-run", options->dry_run, "Print the file instead of writing it");
  command
      ->add_option("--timeout", options->timeout,
                   "Time limit of each program to list its tests (default: 60s)")
      ->type_name("DURATION");
  command->callback([options, &action] { action = [options] { return init(*options); }; });
}

}  // namespace proctor::cli
