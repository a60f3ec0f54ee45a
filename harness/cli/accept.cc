// Implements `proctor accept`, which tests whether each device of the machine is good. It runs the built-in suites on
// every device. The level selects the cases (reports/accept/accept_report.h). The verdict is about the devices, not the
// cases.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/console_display.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/run_command.h"
#include "harness/runner/acceptance.h"
#include "reports/accept/accept_report.h"
#include "reports/accept/accept_words.h"

namespace proctor::cli {
namespace {

// The console of `proctor accept`: failures during the run, and the verdict on each device at the end.
class AcceptDisplay : public ConsoleDisplay {
 public:
  void start(const RunStart& run) override;
  void finish(const RunFinish& finish) override;

 protected:
  ConsoleOptions options_of(const RunStart& run) const override;
  std::vector<std::string> notes_of(const RunStart& run) const override;

 private:
  void print(const std::string& text);
  void print_headline(const AcceptReport& report);

  std::string colour_{};
};

constexpr Milliseconds kLastLines{5'000};

void AcceptDisplay::start(const RunStart& run) {
  colour_ = run.planned.request.console.colour.value_or("auto");
  ConsoleDisplay::start(run);
}

ConsoleOptions AcceptDisplay::options_of(const RunStart& run) const {
  ConsoleOptions options = console_options(run.planned.request.console);
  options.only_failed = true;
  options.ending = false;
  return options;
}

std::vector<std::string> AcceptDisplay::notes_of(const RunStart& run) const {
  const AcceptRequest& accept = run.planned.request.accept;
  const int level = runner::accept_level_of(accept);
  std::vector<std::string> notes = {fmt::format("  level        {} of {}, built-in suites at size {}", level,
                                                kHighestAcceptLevel, size_of_level(level))};
  if (!accept.expect.empty()) notes.push_back("  expected     " + accept.expect);
  return notes;
}

void AcceptDisplay::print(const std::string& text) { out().write(shown(text)); }

void AcceptDisplay::print_headline(const AcceptReport& report) {
  const std::string line = headline(report.verdict) + ": " + accept_details(report);
  const bool colours = colour_ == "auto" ? out().colours() : colour_ == "always";
  const char* code = report.verdict == RunVerdict::kPassed   ? "1;32"
                     : report.verdict == RunVerdict::kFailed ? "1;31"
                                                             : "1;33";
  out().write(colours ? fmt::format("\033[{}m{}\033[0m\n", code, shown(line)) : shown(line) + "\n");
}

// Prints the table of devices, then the reasons for its verdicts.
void AcceptDisplay::finish(const RunFinish& finish) {
  const AcceptReport& report = *finish.acceptance;
  for (const Error& problem : finish.problems) fail(problem);
  ConsoleDisplay::finish(finish);
  for (const std::string& drain : finish.drains) print(drain + "\n");
  const std::size_t terminal = columns_of_stdout();
  const std::size_t columns = terminal == 0 ? kUsualColumns : terminal;
  print("\n");
  print_headline(report);
  print(accept_meta_line(report) + "\n\n" + accept_step_table(report, columns));
  if (const std::string speeds = accept_speed_table(report, columns); !speeds.empty()) print("\n" + speeds);
  print("\n" + accept_reasons(report, columns));
  out().drain(kLastLines);
}

}  // namespace

void add_accept_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                        const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("accept", "Test each device of this machine for acceptance");
  auto typed = std::make_shared<TypedRequest>();
  add_options(*command, kForAccept, *typed);
  command->callback([typed, &action, &command_line, &after_dashes] {
    typed->request.caller.command_line = command_line;
    action = [typed, &after_dashes] {
      AcceptDisplay display;
      return execute_run(*typed, after_dashes, display);
    };
  });
}

}  // namespace proctor::cli
