// Assembles the table of options, and contains its rows for verdicts, reports, the console, servers and acceptance.
// Help and manual show the rows below a heading in the order of the table.
#include <iterator>
#include <utility>

#include "harness/request/option_rows.h"

namespace proctor {

Rows verdict_rows() {
  return {{.name = "--known-failures",
           .value = TextValue{.of = PROCTOR_AT(verdicts.known_failures), .is_path = true},
           .placeholder = "FILE",
           .help = "List of known failures",
           .in = kForRun,
           .short_help = kForRun,
           .heading = kVerdicts,
           .effect = GateEffect::kInGateRule,
           .key = "known_failures",
           .project_only = true},
          {.name = "--strict",
           .value = FlagValue{PROCTOR_AT(rules.strict)},
           .help = "Fail a case that reports a warning",
           .in = kForRun,
           .heading = kVerdicts,
           .effect = GateEffect::kNone,
           .key = "strict"},
          {.name = "--fail-on-skip",
           .value = TextValue{.of = PROCTOR_AT(rules.fail_on_skip), .if_flag = "*"},
           .placeholder = "REASON",
           .help = "Exit with 3 if a case is skipped; with =REASON, only if its reason matches this pattern",
           .in = kForRun,
           .heading = kVerdicts,
           .effect = GateEffect::kNone,
           .key = "fail_on_skip"},
          {.name = "--min-executed",
           .value = NumberValue{.of = PROCTOR_AT(rules.min_executed), .least = 0},
           .placeholder = "N",
           .help = "Exit with 3 if fewer than N cases were executed (default: 1)",
           .in = kForRun,
           .heading = kVerdicts,
           .effect = GateEffect::kNone,
           .key = "min_executed"}};
}

Rows report_rows() {
  return {
      {.name = "--out",
       .value = TextValue{.of = PROCTOR_AT(reports.out)},
       .placeholder = "DIR",
       .help = "Run directory, new or empty (default: a new one in proctor-out/)",
       .in = kStarting,
       .short_help = kStarting,
       .heading = kReports,
       .effect = GateEffect::kNone},
      // `proctor ctest` writes this option for CTest; users do not type it.
      {.name = "--join",
       .value = TextValue{.of = PROCTOR_AT(reports.join)},
       .placeholder = "DIR",
       .help = "Join the run that `proctor ctest open` opened in this directory; if none is open, start a "
               "run there",
       .in = kForRun,
       .heading = kHiddenHeading,
       .effect = GateEffect::kInGateRule,
       .excludes = {"--out"}},
      {.name = "--junit",
       .value = TextValue{.of = PROCTOR_AT(reports.junit), .is_path = true},
       .placeholder = "FILE",
       .help = "Also write the JUnit report to this file",
       .in = kStarting,
       .short_help = kForRun | kForExec,
       .heading = kReports,
       .effect = GateEffect::kNone,
       .key = "junit"},
      {.name = "--history",
       .value = TextValue{.of = PROCTOR_AT(reports.history), .is_path = true},
       .placeholder = "FILE",
       .help =
           "Mark the failures that are new compared with this history, then record the run in it (proctor "
           "history); create the file if it does not exist",
       .in = kStarting,
       .heading = kReports,
       .effect = GateEffect::kNone,
       .key = "history"},
      {.name = "--subject",
       .value = TextsValue{PROCTOR_AT(reports.subject)},
       .placeholder = "NAME=VALUE",
       .help =
           "Subject of the test: commit, dirty, branch, repository or build (default: from the CI variables, "
           "else the "
           "checkout); repeatable",
       .in = kStarting,
       .heading = kReports,
       .effect = GateEffect::kNone},
      {.value = NumberValue{.of = PROCTOR_AT(reports.keep), .least = 0},
       .effect = GateEffect::kNone,
       .key = "keep",
       .key_in = kStarting},
      {.value = TextValue{.of = PROCTOR_AT(machine.state_dir), .is_path = true},
       .effect = GateEffect::kNone,
       .key = "state_dir",
       .key_in = kEvery},
      {.value = TextValue{.of = PROCTOR_AT(reports.stack_root), .is_path = true},
       .effect = GateEffect::kInGateRule,
       .without_effect = "/",
       .key = "stack_root",
       .key_in = kStarting}};
}

Rows console_rows() {
  return {{.name = "--show-output",
           .value =
               TextValue{.of = PROCTOR_AT(console.show_output), .choices = {"failed", "all", "live", "none"}},
           .placeholder = "WHICH",
           .help = "Output to show: failed (default, last 40 lines), all, live or none",
           .in = kForRun | kForAccept,
           .short_help = kForRun,
           .heading = kConsole,
           .effect = GateEffect::kNone,
           .key = "show_output"},
          {.name = "--verbose,-v",
           .value = FlagValue{PROCTOR_AT(console.verbose)},
           .help = "Show all limits of the containment, and every failure in full",
           .in = kForRun | kForAccept,
           .short_help = kForRun,
           .heading = kConsole,
           .effect = GateEffect::kNone},
          {.name = "--quiet,-q",
           .value = FlagValue{PROCTOR_AT(console.quiet)},
           .help = "Show only failures and the summary",
           .in = kForRun | kForAccept,
           .heading = kConsole,
           .effect = GateEffect::kNone,
           .excludes = {"--verbose"}},
          {.name = "--durations",
           .value = NumberValue{.of = PROCTOR_AT(console.durations), .least = 0},
           .placeholder = "N",
           .help = "List the N slowest cases (default: 0)",
           .in = kForRun | kForAccept,
           .heading = kConsole,
           .effect = GateEffect::kNone,
           .key = "durations"},
          {.name = "--color",
           .value = TextValue{.of = PROCTOR_AT(console.colour), .choices = {"auto", "always", "never"}},
           .placeholder = "WHEN",
           .help = "Colors: auto (default), always or never",
           .in = kForRun | kForAccept,
           .heading = kConsole,
           .effect = GateEffect::kNone,
           .key = "color",
           .key_in = kForRun | kForAccept},
          {.name = "--dry-run",
           .value = FlagValue{PROCTOR_AT(plan.dry_run)},
           .help = "Print the plan and start nothing",
           .in = kForRun | kForAccept,
           .short_help = kForRun,
           .heading = kCases,
           .effect = GateEffect::kNone,
           .excludes = {"--require-card-per-rank"}},
          {.name = "--no-capture",
           .value = FlagValue{PROCTOR_AT(terminal.no_capture)},
           .help = "Give this terminal to the only case; its output is not in the log",
           .in = kForRun,
           .heading = kConsole,
           .effect = GateEffect::kUnrecorded},
          {.name = "--no-capture",
           .value = FlagValue{PROCTOR_AT(terminal.no_capture)},
           .help = "Give the command this terminal; its output is not in the log",
           .in = kForExec,
           .short_help = kForExec,
           .heading = kConsole,
           .effect = GateEffect::kUnrecorded},
          {.name = "--debugger",
           .value = TextValue{.of = PROCTOR_AT(terminal.debugger)},
           .placeholder = "COMMAND",
           .help = "Run the only case under this debugger, for example 'gdb --args', without time limits",
           .in = kForRun,
           .heading = kConsole,
           .effect = GateEffect::kUnrecorded},
          {.name = "--workflow-commands",
           .value = FlagValue{PROCTOR_AT(terminal.workflow_commands)},
           .help = "Let GitHub Actions obey workflow commands (::error::, ##[group]) in the output",
           .in = kForExec,
           .heading = kConsole,
           .effect = GateEffect::kNone}};
}

Rows server_rows() {
  return {{.name = "--ready-regex",
           .value = TextValue{.of = PROCTOR_AT(server.ready_regex)},
           .placeholder = "REGEX",
           .help = "Treat the command as a server, ready when an output line matches this POSIX extended "
                   "regex; --timeout "
                   "counts from then",
           .in = kForExec,
           .short_help = kForExec,
           .heading = kReadiness,
           .effect = GateEffect::kUnrecorded},
          {.name = "--ready-timeout",
           .value = DurationValue{PROCTOR_AT(server.ready_timeout)},
           .placeholder = "DURATION",
           .help = "Time limit until the server is ready (default: --timeout)",
           .in = kForExec,
           .heading = kReadiness,
           .effect = GateEffect::kNone},
          {.name = "--ready-file",
           .value = TextValue{.of = PROCTOR_AT(server.ready_file)},
           .placeholder = "FILE",
           .help = "File to create while the server is ready, with its process id",
           .in = kForExec,
           .short_help = kForExec,
           .heading = kReadiness,
           .effect = GateEffect::kNone}};
}

Rows accept_rows() {
  return {
      {.name = "--level",
       .value = NumberValue{.of = PROCTOR_AT(accept.level), .least = 1, .most = 4},
       .placeholder = "N",
       .help = "How much is tried: 1 (a minute), 2 (default, 5 minutes), 3 (30 minutes) or 4 (--hours)",
       .in = kForAccept,
       .short_help = kForAccept,
       .heading = kAcceptance,
       .effect = GateEffect::kNone},
      {.name = "--hours",
       .value = NumberValue{.of = PROCTOR_AT(accept.hours), .least = 1, .most = 1000},
       .placeholder = "N",
       .help = "Time under load at level 4",
       .in = kForAccept,
       .heading = kAcceptance,
       .effect = GateEffect::kNone},
      {.name = "--budget",
       .value = DurationValue{PROCTOR_AT(accept.budget)},
       .placeholder = "DURATION",
       .help = "Most time for the steps of the level; of those that are not required, some are left out",
       .in = kForAccept,
       .short_help = kForAccept,
       .heading = kAcceptance,
       .effect = GateEffect::kNone},
      {.name = "--expect",
       .value = TextValue{.of = PROCTOR_AT(accept.expect)},
       .placeholder = "FILE",
       .help = "File with the expected devices of the machine, as `proctor devices --expect-file` writes it",
       .in = kForAccept,
       .short_help = kForAccept,
       .heading = kAcceptance,
       .effect = GateEffect::kNone},
      {.name = "--drain",
       .value = FlagValue{PROCTOR_AT(accept.drain)},
       .help = "Drain the devices that fail",
       .in = kForAccept,
       .short_help = kForAccept,
       .heading = kAcceptance,
       .effect = GateEffect::kNone},
      {.name = "--json",
       .value = TextValue{.of = PROCTOR_AT(accept.json)},
       .placeholder = "FILE",
       .help = "Also write the verdicts as JSON to this file",
       .in = kForAccept,
       .short_help = kForAccept,
       .heading = kAcceptance,
       .effect = GateEffect::kNone}};
}

namespace {

Rows all_rows() {
  Rows all;
  for (const auto& rows :
       {accept_rows, device_view_rows, suite_rows, case_rows, machine_rows, limit_rows, plan_rows,
        schedule_rows, device_rows, verdict_rows, report_rows, console_rows, server_rows}) {
    Rows more = rows();
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return all;
}

}  // namespace

const std::vector<Option>& options() {
  static const Rows kRows = all_rows();
  return kRows;
}

const std::vector<std::string_view>& option_headings() {
  static const std::vector<std::string_view> kHeadings = {
      kCases,   kCommandAfterDashes, kDevices, kLimits,  kReadiness,
      kRetries, kVerdicts,           kReports, kConsole, kConfiguration};
  return kHeadings;
}

}  // namespace proctor
