#include "harness/cli/console/console_display.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/frameworks/kind.h"

namespace proctor::cli {
namespace {

// Returns a note for users who expected their own suites. It is "" if the user selected suites or has some.
std::string note_of_built_in(const PlannedRun& planned) {
  const SelectionOptions& chosen = planned.request.selection;
  const std::vector<std::string>& files = planned.config_files;
  const auto is_built_in = [](const Suite& suite) { return suite.origin == kBuiltInOrigin; };
  if (!chosen.suites.empty() || !chosen.cases.empty() || !planned.request.plan.file.empty()) return {};
  if (!std::ranges::all_of(planned.plan.suites, is_built_in)) return {};
  const std::string why =
      files.empty() ? "no proctor.toml was found" : fmt::format("no suite is in {}", fmt::join(files, ", "));
  const std::size_t count = planned.plan.cases.size();
  return fmt::format("  suites       built in, {} {}, none of yours: {}; `proctor run -- PROGRAM` runs one",
                     count, count == 1 ? "case" : "cases", why);
}

}  // namespace

ConsoleDisplay::ConsoleDisplay() : output_(STDOUT_FILENO) {
  output_.on_lost([this](const std::string& why) {
    loss_ = why;
    std::fprintf(stderr, "proctor: failed to write to stdout: %s; the run continues\n", why.c_str());
  });
}

ConsoleOptions ConsoleDisplay::options_of(const RunStart& run) const {
  const RunRequest& request = run.planned.request;
  ConsoleOptions options = console_options(request.console);
  options.only_failed = in_ci();
  options.page = !request.reports.is_part;
  for (const Case& test : run.planned.plan.cases) {
    if (test.policy.retries > 0) options.retries[test.id] = test.policy.retries;
  }
  return options;
}

std::vector<std::string> ConsoleDisplay::notes_of(const RunStart& run) const {
  return suite_notes(run.planned, run.devices);
}

void ConsoleDisplay::start(const RunStart& run) {
  output_.hurry_when([&control = run.control] { return control.late_stop().has_value(); });
  console_.emplace(output_, options_of(run), run.run_dir, notes_of(run), run.gives_terminal);
  if (run.gives_terminal && in_github_actions() && !run.planned.request.terminal.workflow_commands)
    pause_.emplace();
}

void ConsoleDisplay::finish(const RunFinish& finish) {
  pause_.reset();
  console_->finish(finish.run, finish.exit_code, finish.rendered);
}

std::vector<std::string> suite_notes(const PlannedRun& planned,
                                     const std::vector<std::string>& about_devices) {
  const Plan& plan = planned.plan;
  std::vector<std::string> notes;
  for (const std::string& file : planned.config_files) notes.push_back("  config       " + file);
  if (auto note = note_of_built_in(planned); !note.empty()) notes.push_back(std::move(note));
  notes.insert(notes.end(), about_devices.begin(), about_devices.end());
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    const Suite& suite = plan.suites[i];
    const auto count = std::ranges::count(plan.cases, i, &Case::suite);
    if (count == 0 && suite.origin == kBuiltInOrigin) continue;
    notes.push_back("  suite        " + suite.name + ": " + std::string(suite.kind->name()) + " (" +
                    suite.kind_reason + "), backend " + std::string(to_string(suite.backend)) + ", " +
                    std::to_string(count) + (count == 1 ? " case" : " cases"));
    if (const std::string way = suite.kind->way_of_reporting(suite);
        planned.request.console.verbose && !way.empty())
      notes.push_back("               its program reports its cases " + way);
  }
  return notes;
}

}  // namespace proctor::cli
