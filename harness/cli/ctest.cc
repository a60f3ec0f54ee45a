// Implements `proctor ctest`, which the CMake functions of docs/reference/frameworks/ctest.md call.
//
//   cases    prints the cases of a suite as CMake calls that create tests
//   open     creates a directory for all tests of one call of CTest: the run that `run --join` joins
//   report   writes the reports of that run
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "harness/base/read_file.h"
#include "harness/base/regular_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/ending.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_command.h"
#include "harness/cli/run_command.h"
#include "harness/frameworks/kind.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/recognise.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/known_listings.h"
#include "harness/runner/record/joined_run.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/run_directory.h"
#include "reports/formats/junit.h"
#include "reports/merge/join.h"
#include "reports/render.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

// ---- cases ----

// Returns a CMake bracket argument, in which no character is special.
std::string bracket(const std::string& text) {
  std::string equals = "=";
  while (text.find("]" + equals + "]") != text.npos || text.ends_with("]" + equals)) equals += "=";
  return "[" + equals + "[" + text + "]" + equals + "]";
}

Result<std::string> calls_for(const Plan& plan) {
  for (const Suite& suite : plan.suites) {
    if (!suite.kind->traits().one_case) continue;
    // If a program of a framework lists no tests, it has none, as in CMake's own functions. A program without a list
    // may have ended before its tests.
    if (suite.kind_reason.find(kListsNoTests) != std::string::npos) return std::string();
    std::puts("# one command");  // CMake then creates no test for the listing
    return Error::refused(
        fmt::format("Suite `{}` is one command ({}) and has no cases to list", suite.name, suite.kind_reason),
        "Use proctor_add_suite() to make one test of it, or set KIND to its framework.");
  }
  std::string text;
  for (const Case& test : plan.cases) {
    text += fmt::format("proctor_case({} {} {})\n", bracket(test.id),
                        bracket(std::string(framework_id(test))), test.disabled ? "TRUE" : "FALSE");
  }
  return text;
}

int cases(TypedRequest typed) {
  auto plan = plan_options(typed, std::nullopt);
  if (!plan) return fail(plan.error());
  const auto machine = Machine::open(typed.request.machine, new_run_id());
  if (!machine) return fail(machine.error());
  plan->selection.may_be_empty = true;  // as in CMake's own functions
  plan->listings = sibling_listings(plan->config.config_file);
  plan->keep_listings = !plan->listings.empty();
  const auto outcome = discover_plan(*plan, **machine);
  if (!outcome) return fail(outcome.error());
  for (const auto& warning : outcome->warnings)
    std::fprintf(stderr, "proctor: warning: %s\n", shown(warning.text).c_str());
  auto text = calls_for(outcome->plan);
  if (!text) return fail(text.error());
  // Without a device, a program may be unable to list its cases. CMake lists it again when a device may be present.
  const bool asked_in_vain = std::ranges::any_of(
      outcome->warnings, [](const Warning& warning) { return warning.code == WarningCode::kNotListed; });
  if (asked_in_vain) *text += "set(proctor_list_again TRUE)\n";
  const bool written =
      std::fwrite(text->data(), 1, text->size(), stdout) == text->size() && std::fflush(stdout) == 0;
  return written ? kExitGreen : fail(Error::system("write the cases to stdout", errno));
}

// ---- open and report ----

int open_run(const std::string& root) {
  const auto run = open_joined_run(root, parent_of_this_process());
  if (!run) return fail(run.error());
  // The report is a failure until the real reports are written, because a stopped CTest does not reach that step.
  auto written = replace_file((*run / "junit.xml").string(), junit_without_run("The run has not finished."));
  if (!written) return fail(written.error());
  // Containment is probed once here, not by each test. If it fails, each test reports the error.
  const auto machine =
      Machine::open({.known_containment = known_containment_of(*run)}, run->filename().string());
  if (machine) static_cast<void>((*machine)->containment());
  std::printf("the tests of this call of ctest are one run: %s\n", shown(run->string()).c_str());
  return kExitGreen;
}

// Returns the command line of a process.
std::vector<std::string> command_line_of(int pid) {
  std::vector<std::string> words;
  const std::string text = read_file_or_empty(fmt::format("/proc/{}/cmdline", pid));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

struct Opened {
  fs::path run;
  std::vector<std::string> command_line;  // command line of the process that opened the run
};

// Returns the run that is open below `directory`, or `directory` itself if it is a run.
Result<Opened> run_in(const std::string& directory) {
  std::error_code error;
  if (!parts_of(directory).empty()) return Opened{fs::canonical(directory, error), {"ctest"}};
  const Starter starter = parent_of_this_process();
  if (auto open = find_joined_run(directory, starter))
    return Opened{*std::move(open), command_line_of(starter.pid)};
  return Error::refused("This process opened no run in " + directory,
                        "Give the directory of the run itself, which contains parts/.");
}

std::int64_t last_change_ms(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return 0;
  return std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

std::string text_or_empty(const fs::path& path) {
  auto text = read_regular(path.string(), kMostRecord);
  return text ? *std::move(text) : "";
}

JoinRequest parts_of_run(const fs::path& run, std::vector<std::string> command_line) {
  JoinRequest request{
      .run_id = run.filename().string(), .command_line = std::move(command_line), .parts = {}};
  for (const std::string& place : parts_of(run)) {
    auto part = load_run((run / place).string());
    if (part) {
      request.parts.push_back({place, *std::move(part), last_change_ms(run / place / "journal.jsonl")});
      continue;
    }
    const std::string refused = text_or_empty(run / place / kRefusedFile);
    const std::string why = refused.empty() ? part.error().message() : refused.substr(0, refused.find('\n'));
    const bool lost = refused.empty() || refused.ends_with(std::string("\n") + kRefusedByMachine + "\n");
    request.warnings.push_back({lost ? WarningCode::kReportNotWritten : WarningCode::kPartRefused,
                                place + " has no results: " + why});
  }
  return request;
}

// Without any journal, writes a junit.xml that is a failure with the reason.
int report_nothing(const fs::path& run, const std::vector<Warning>& warnings) {
  std::string why = "No test of this call has results.";
  for (const Warning& warning : warnings) why += "\n" + warning.text;
  std::printf("%s\n", shown(why).c_str());
  if (warnings.empty()) return kExitGreen;  // no test was started
  auto written = replace_file((run / "junit.xml").string(), junit_without_run(why));
  return written ? kExitGreen : fail(written.error());
}

// Prints the failures, the counts, the page and the verdict, as `proctor run` does.
void print_end(const ResolvedRun& run, const fs::path& run_dir, std::size_t parts) {
  for (const FailedLine& line : failed_lines(failing_groups(run)))
    std::printf("%s %s: %s\n", line.word.c_str(), line.head.c_str(), clean_text(line.message).c_str());
  const int code = run.shell_exit_code;
  const char* simulated = run.simulated ? " · simulated: no evidence about hardware" : "";
  std::printf("%zu parts: %s%s\n", parts, outcomes_text(run).c_str(), simulated);
  std::printf("page: %s\n", shown((run_dir / "index.html").string()).c_str());
  std::printf("the run's exit code is %d (%s)\n", code, verdict_text(run, code).c_str());
}

int report(const std::string& directory) {
  const auto opened = run_in(directory);
  if (!opened) return fail(opened.error());
  const fs::path& run = opened->run;
  if (auto ours = check_reports_place(run.string()); !ours) return fail(ours.error());
  const JoinRequest request = parts_of_run(run, opened->command_line);
  if (request.parts.empty()) return report_nothing(run, request.warnings);
  // CTest can repeat its tests, so the journal is written again and replaced as a whole.
  const fs::path draft = run / ".journal.jsonl";
  std::error_code error;
  fs::remove(draft, error);
  const auto joined = write_journal(join_runs(request), draft.string());
  if (!joined) return fail(joined.error());
  fs::rename(draft, run / "journal.jsonl", error);
  if (error) return fail(Error::system("write " + (run / "journal.jsonl").string(), error.value()));
  if (auto rendered = render(*joined, run); !rendered) return fail(rendered.error());
  remove_old_journal_seals();
  print_end(*joined, run, request.parts.size());
  return kExitGreen;
}

}  // namespace

void add_ctest_command(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("ctest", "Commands for the CMake functions of docs/reference/frameworks/ctest.md")
          ->group("");
  command->require_subcommand(1);
  auto* list =
      command->add_subcommand("cases", "Print the cases as CMake calls: proctor_case(ID NAME DISABLED)");
  auto typed = std::make_shared<TypedRequest>();
  add_options(*list, kForRun, *typed);
  list->callback([typed, &action] { action = [typed] { return cases(*typed); }; });
  auto directory = std::make_shared<std::string>();
  auto* open = command->add_subcommand("open", "Open a run that later runs of the calling process join");
  open->add_option("directory", *directory, "Directory of the runs")->type_name("DIR")->required();
  open->callback([directory, &action] { action = [directory] { return open_run(*directory); }; });
  auto* reports = command->add_subcommand("report", "Make the reports of that run from those of its parts");
  reports->footer("The exit code is 0, whatever the verdict: the tests reported it.");
  reports->add_option("directory", *directory, "Directory of the runs, or of one that was opened")
      ->type_name("DIR")
      ->required();
  reports->callback([directory, &action] { action = [directory] { return report(*directory); }; });
}

}  // namespace proctor::cli
