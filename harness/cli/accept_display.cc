#include "harness/cli/accept_display.h"

#include <fmt/format.h>

#include <cstdio>

#include "harness/cli/console/messages.h"
#include "harness/cli/text_table.h"
#include "harness/core/replace_file.h"
#include "harness/core/text.h"
#include "harness/devices/health/drained.h"
#include "harness/evidence/kernel_log.h"
#include "reports/accept/accept_words.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kLastLines{5'000};
// The level by which a device was rejected, in the evidence of its drain: "level 3: ...".
constexpr std::string_view kLevel = "level ";

int level_of(const DrainedDevice& drained) {
  if (!drained.evidence.starts_with(kLevel) || drained.evidence.size() <= kLevel.size())
    return kHighestAcceptLevel;
  return drained.evidence[kLevel.size()] - '0';
}

ConsoleOptions console_of(const Checked& checked) {
  ConsoleOptions options = console_options(checked.request().console);
  options.only_failed = true;
  options.ending = false;
  return options;
}

// "proctor accept --level 1 --sim cuda:4".
std::string typed_line(const std::vector<std::string>& words) {
  std::string line = "proctor";
  for (std::size_t i = 1; i < words.size(); ++i) line += " " + shell_quote(words[i]);
  return line;
}

std::vector<std::string> notes_of(const Checked& checked) {
  const AcceptRequest& accept = checked.request().accept;
  const int level = accept_level_of(accept);
  std::vector<std::string> notes = {fmt::format("  level        {} of {}, built-in suites at size {}", level,
                                                kHighestAcceptLevel, size_of_level(level))};
  if (!accept.expect.empty()) notes.push_back("  expected     " + accept.expect);
  return notes;
}

}  // namespace

AcceptDisplay::AcceptDisplay(const Checked& checked, const Prepared& prepared, ConsoleOutput& output)
    : checked_(checked),
      prepared_(prepared),
      output_(output),
      console_(output, console_of(checked), prepared.run_dir, notes_of(checked), /*quiet_status=*/false) {
  const AcceptRequest& accept = checked.request().accept;
  question_.level = accept_level_of(accept);
  question_.steps = steps_of(accept);
  question_.again = typed_line(words_of_acceptance(checked.request()));
  question_.expected = checked.expected;
  question_.command_line = typed_line(checked.asked.own_line);
  question_.run_dir = prepared.run_dir;
  question_.before = ask();
  const KernelLog log = KernelLog::from_environment();
  if (!log.problem().empty() && (log.is_stand_in() || checked.request().machine.sim.empty()))
    question_.problems.push_back(log.problem());
}

// Devices are judged without the facts of a library that does not answer. The report names the problem.
FactsOfCards AcceptDisplay::ask() {
  auto facts = checked_.machine->facts(prepared_.placed.devices);
  if (!facts) {
    question_.problems.push_back(facts.error().message());
    return {};
  }
  question_.problems.insert(question_.problems.end(), facts->problems.begin(), facts->problems.end());
  return std::move(facts->cards);
}

void AcceptDisplay::before_reports(const ResolvedRun& run) {
  question_.after = ask();
  report_ = judge_acceptance(run, question_);
  const std::string text = accept_json(report_);
  write_files(text);
  auto read = parse_accept_report(text);
  if (!read) return void(fail(read.error()));
  report_ = *std::move(read);
}

int AcceptDisplay::judge(const ResolvedRun& /*run*/) { return report_.exit_code; }

void AcceptDisplay::print(const std::string& text) { output_.write(shown(text)); }

void AcceptDisplay::print_headline() {
  const std::string line = accept_headline(report_);
  const std::string& colour = checked_.request().console.colour.value_or("auto");
  const bool colours = colour == "auto" ? output_.colours() : colour == "always";
  const char* code = report_.verdict == AcceptVerdict::kAccepted   ? "1;32"
                     : report_.verdict == AcceptVerdict::kRejected ? "1;31"
                                                                   : "1;33";
  output_.write(colours ? fmt::format("\033[{}m{}\033[0m\n", code, shown(line)) : shown(line) + "\n");
}

// The verdict is the end: what follows the table of devices are the reasons.
void AcceptDisplay::finish(const ResolvedRun& run, int shell_code, const Result<void>& rendered) {
  console_.finish(run, shell_code, rendered);
  settle_devices();
  const std::size_t terminal = columns_of_stdout();
  const std::size_t columns = terminal == 0 ? kUsualColumns : terminal;
  print("\n");
  print_headline();
  print(accept_meta_line(report_) + "\n\n" + accept_step_table(report_, columns));
  if (const std::string speeds = accept_speed_table(report_, columns); !speeds.empty()) print("\n" + speeds);
  print("\n" + accept_reasons(report_, columns));
  output_.drain(kLastLines);
}

void AcceptDisplay::write_files(const std::string& text) {
  for (const std::string& file : {prepared_.run_dir + "/accept.json", checked_.request().accept.json}) {
    if (file.empty()) continue;
    if (auto written = replace_file(file, text); !written) fail(written.error());
  }
}

void AcceptDisplay::settle_devices() {
  const LeaseDirectory* leases = prepared_.placed.leases;
  if (leases == nullptr) {
    if (checked_.request().accept.drain && report_.verdict == AcceptVerdict::kRejected)
      print("nothing is drained: no other run can see these devices\n");
    return;
  }
  const DrainList list(leases->path());
  for (const AcceptedDevice& device : report_.devices) {
    const auto drained = list.find(device.id);
    const bool by_run = drained && !drained->run.empty();
    const int level = by_run && drained->reason == kRejected ? level_of(*drained) : 0;
    if (device.verdict == AcceptVerdict::kAccepted && by_run && level <= report_.level) {
      const auto undrained = list.undrain(device.id);
      if (!undrained) fail(undrained.error());
      if (undrained) print(device.id + " gets cases again\n");
    }
    const bool is_here = !device.id.starts_with("missing:");
    if (!checked_.request().accept.drain || device.verdict != AcceptVerdict::kRejected || !is_here) continue;
    const auto done = list.drain({.device = device.id,
                                  .reason = kRejected,
                                  .evidence = fmt::format("{}{}: {}", kLevel, report_.level, device.reason()),
                                  .run = checked_.run_id});
    if (!done) fail(done.error());
    if (done) print(describe(*list.find(device.id)) + "\n");
  }
}

}  // namespace proctor::cli
