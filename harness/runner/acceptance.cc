#include "harness/runner/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/duration.h"
#include "harness/base/named_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/process/evidence/kernel_log.h"
#include "harness/request/suite_arguments.h"
#include "harness/runner/plan_step.h"
#include "harness/runner/record/run_directory.h"

namespace proctor::runner {
namespace {

constexpr int kDefaultLevel = 2;
const std::vector<std::string> kSuites = {"memory", "kernels", "management", "visibility"};

void add_word(std::vector<std::string>& words, const char* option, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(option);
  words.push_back(value);
}

void add_machine_words(std::vector<std::string>& words, const RunRequest& request) {
  add_word(words, "--backend", request.selection.backend.value_or(""));
  add_word(words, "--sim", request.machine.sim);
}

// Returns the `proctor run` command line of this acceptance. Users repeat one of its cases with it.
std::vector<std::string> describe_run(const RunRequest& typed) {
  std::vector<std::string> words = {"proctor", "run"};
  words.insert(words.end(), kSuites.begin(), kSuites.end());
  add_word(words, kSuiteArgument, typed.suite_arguments.front());
  add_word(words, "--process", typed.selection.process.value_or(""));
  add_machine_words(words, typed);
  add_word(words, "--devices", typed.machine.devices);
  for (const char* flag : {"--each-device", "--probe-devices"}) words.emplace_back(flag);
  return words;
}

// Replaces %N with the name of the Slurm node, because each node of an allocation writes to its own place.
void name_the_node(std::string& path) {
  constexpr std::string_view kNode = "%N";
  const std::string node = own_slurm_node();
  for (auto at = path.find(kNode); at != path.npos && !node.empty(); at = path.find(kNode, at + node.size()))
    path.replace(at, kNode.size(), node);
}

// Reads the file of --expect. Returns nothing if the option is not given.
Result<std::optional<ExpectedMachine>> read_expected(const std::string& file) {
  if (file.empty()) return std::optional<ExpectedMachine>();
  const auto text = read_typed_file(file);
  if (!text) return text.error();
  auto expected = parse_expected(*text, file);
  if (!expected) return expected.error();
  return std::optional(*std::move(expected));
}

Result<void> check_budget(const AcceptRequest& accept) {
  const int level = accept_level_of(accept);
  const Milliseconds least{std::int64_t{1000} * smallest_budget_s(level)};
  if (!accept.budget || *accept.budget >= least) return {};
  return Error::refused(fmt::format("--budget {} is too small: the required steps of level {} take about {}",
                                    format_duration(*accept.budget), level, format_duration(least)),
                        fmt::format("The smallest that fits is --budget {}.", format_duration(least)));
}

int devices_of(const Checked& checked, Backend backend) {
  const auto devices = checked.machine->devices({backend});
  return devices ? static_cast<int>(devices->pool.size()) : 0;
}

}  // namespace

int accept_level_of(const AcceptRequest& accept) { return accept.level.value_or(kDefaultLevel); }

ChosenSteps steps_of(const AcceptRequest& accept) {
  const int level = accept_level_of(accept);
  return accept.budget ? choose_steps(level, static_cast<int>(accept.budget->count() / 1000))
                       : choose_steps(level);
}

std::vector<std::string> describe_acceptance(const RunRequest& request) {
  std::vector<std::string> words = {"proctor", "accept", "--level",
                                    std::to_string(accept_level_of(request.accept))};
  add_machine_words(words, request);
  add_word(words, "--expect", request.accept.expect);
  return words;
}

RunRequest with_level(RunRequest request) {
  const AcceptRequest& accept = request.accept;
  const int level = accept_level_of(accept);
  name_the_node(request.reports.out);
  name_the_node(request.accept.json);
  request.selection.suites = kSuites;
  // The lowest level has few cases, so it needs no shared process. Failures in a shared process would run a second
  // time.
  request.selection.process = level == kLowestAcceptLevel ? "case" : "batch:auto";
  request.suite_arguments = {fmt::format("size={}", size_of_level(level))};
  request.schedule.max_machine_failures = 0;  // each device is judged, also if many devices are broken
  request.devices.device_in_use = "fail";
  request.rules.each_device = true;
  request.devices.prove = true;
  request.devices.retest = true;
  request.schedule.deadline = accept.budget;
  if (level == kHighestAcceptLevel) request.schedule.repeat = fmt::format("{}h", accept.hours.value_or(1));
  request.caller.own_line = std::exchange(request.caller.command_line, describe_run(request));
  return request;
}

// Only the built-in suites judge a device. Suites of a proctor.toml have no effect.
Result<void> check_acceptance(Checked& checked) {
  const AcceptRequest& accept = checked.request().accept;
  if (!checked.request().selection.command.empty())
    return Error::refused("`proctor accept` takes no command after `--`");
  if (accept.hours && accept_level_of(accept) != kHighestAcceptLevel)
    return Error::refused("--hours requires --level 4", "For example: proctor accept --level 4 --hours 12");
  if (auto fits = check_budget(accept); !fits) return fits;
  auto expected = read_expected(accept.expect);
  if (!expected) return expected.error();
  checked.expected = *std::move(expected);
  if (!accept.json.empty()) {
    if (auto usable = check_output_file("--json", accept.json); !usable) return usable;
  }
  checked.asked.files.texts.resize(1);  // the built-in defaults
  return {};
}

// Keeps the cases of the steps that belong to the level and fit into the budget.
Result<FoundPlan> plan_of_acceptance(const Checked& checked, RunDisplay& display) {
  auto found = find_plan(checked, display);
  if (!found) return found;
  const auto steps = steps_of(checked.request().accept);
  Plan& plan = found->outcome.plan;
  std::erase_if(plan.cases, [&](const Case& test) {
    return std::ranges::find(steps.taken, step_of(test.id)) == steps.taken.end();
  });
  for (Case& test : plan.cases) {
    if (step_of(test.id)->all_devices && test.devices > 1)
      test.devices = std::max(test.devices, devices_of(checked, plan.suites[test.suite].backend));
  }
  return found;
}

namespace {

// The evidence of a drain begins with the level at which the device failed: "level 3: ...".
constexpr std::string_view kLevel = "level ";

int level_of(const DrainedDevice& drained) {
  if (!drained.evidence.starts_with(kLevel) || drained.evidence.size() <= kLevel.size())
    return kHighestAcceptLevel;
  return drained.evidence[kLevel.size()] - '0';
}

// Joins the words to a shell command. Example: "proctor accept --level 1 --sim cuda:4".
std::string typed_line(const std::vector<std::string>& words) {
  std::string line = "proctor";
  for (std::size_t i = 1; i < words.size(); ++i) line += " " + shell_quote(words[i]);
  return line;
}

}  // namespace

Acceptance::Acceptance(const Checked& checked, const Prepared& prepared)
    : checked_(checked), prepared_(prepared) {
  const RunRequest& request = checked.request();
  question_.level = accept_level_of(request.accept);
  question_.steps = steps_of(request.accept);
  question_.again = typed_line(describe_acceptance(request));
  question_.expected = checked.expected;
  question_.command_line = typed_line(request.caller.own_line);
  question_.run_dir = prepared.run_dir;
  question_.before = ask();
  const KernelLog log = KernelLog::from_environment();
  if (!log.problem().empty() && (log.is_stand_in() || request.machine.sim.empty()))
    question_.problems.push_back(log.problem());
}

// If a library does not respond, the devices are judged without its facts. The report names the problem.
FactsOfCards Acceptance::ask() {
  auto facts = checked_.machine->facts(prepared_.placed.devices);
  if (!facts) {
    question_.problems.push_back(facts.error().message());
    return {};
  }
  question_.problems.insert(question_.problems.end(), facts->problems.begin(), facts->problems.end());
  return std::move(facts->cards);
}

void Acceptance::judge(const ResolvedRun& run) {
  question_.after = ask();
  report_ = judge_acceptance(run, question_);
  const std::string text = accept_json(report_);
  write_files(text);
  auto read = parse_accept_report(text);
  if (!read) return problems_.push_back(read.error());
  report_ = *std::move(read);
}

void Acceptance::write_files(const std::string& text) {
  for (const std::string& file : {prepared_.run_dir + "/accept.json", checked_.request().accept.json}) {
    if (file.empty()) continue;
    if (auto written = replace_file(file, text); !written) problems_.push_back(written.error());
  }
}

void Acceptance::settle_devices(RunFinish& finish) {
  finish.acceptance = &report_;
  finish.problems = problems_;
  const bool drains = checked_.request().accept.drain;
  if (prepared_.placed.leases == nullptr) {
    if (drains && report_.verdict == RunVerdict::kFailed)
      finish.drains.emplace_back("nothing is drained: no other run can see these devices");
    return;
  }
  const DrainList drained(prepared_.placed.leases->path());
  for (const AcceptedDevice& device : report_.devices) {
    if (device.verdict == RunVerdict::kPassed) use_again(device, drained, finish);
    const bool is_here = !device.id.starts_with("missing:");
    if (drains && device.verdict == RunVerdict::kFailed && is_here) drain(device, drained, finish);
  }
}

// Removes the drain of a device if a run drained it, unless an acceptance of a higher level did.
void Acceptance::use_again(const AcceptedDevice& device, const DrainList& drained, RunFinish& finish) const {
  const auto entry = drained.find(device.id);
  if (!entry || entry->run.empty()) return;
  if (entry->reason == kFailedAcceptance && level_of(*entry) > report_.level) return;
  const auto undrained = drained.undrain(device.id);
  if (!undrained) return finish.problems.push_back(undrained.error());
  finish.drains.push_back(device.id + " gets cases again");
}

void Acceptance::drain(const AcceptedDevice& device, const DrainList& drained, RunFinish& finish) const {
  const auto done =
      drained.drain({.device = device.id,
                     .reason = kFailedAcceptance,
                     .evidence = fmt::format("{}{}: {}", kLevel, report_.level, device.reason()),
                     .run = checked_.run_id});
  if (!done) return finish.problems.push_back(done.error());
  finish.drains.push_back(describe(*drained.find(device.id)));
}

}  // namespace proctor::runner
