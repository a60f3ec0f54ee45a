#include "harness/runner/acceptance.h"

#include <fmt/format.h>

#include <utility>

#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/process/evidence/kernel_log.h"
#include "harness/runner/acceptance_plan.h"

namespace proctor::runner {
namespace {

// The level by which a device was rejected, in the evidence of its drain: "level 3: ...".
constexpr std::string_view kLevel = "level ";

int level_of(const DrainedDevice& drained) {
  if (!drained.evidence.starts_with(kLevel) || drained.evidence.size() <= kLevel.size())
    return kHighestAcceptLevel;
  return drained.evidence[kLevel.size()] - '0';
}

// "proctor accept --level 1 --sim cuda:4".
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
  question_.again = typed_line(words_of_acceptance(request));
  question_.expected = checked.expected;
  question_.command_line = typed_line(request.caller.own_line);
  question_.run_dir = prepared.run_dir;
  question_.before = ask();
  const KernelLog log = KernelLog::from_environment();
  if (!log.problem().empty() && (log.is_stand_in() || request.machine.sim.empty()))
    question_.problems.push_back(log.problem());
}

// Devices are judged without the facts of a library that does not answer. The report names the problem.
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
    if (drains && report_.verdict == AcceptVerdict::kRejected)
      finish.drains.emplace_back("nothing is drained: no other run can see these devices");
    return;
  }
  const DrainList drained(prepared_.placed.leases->path());
  for (const AcceptedDevice& device : report_.devices) {
    if (device.verdict == AcceptVerdict::kAccepted) use_again(device, drained, finish);
    const bool is_here = !device.id.starts_with("missing:");
    if (drains && device.verdict == AcceptVerdict::kRejected && is_here) drain(device, drained, finish);
  }
}

// Only if an acceptance drained it, of no higher level than this one.
void Acceptance::use_again(const AcceptedDevice& device, const DrainList& drained, RunFinish& finish) const {
  const auto entry = drained.find(device.id);
  if (!entry || entry->run.empty()) return;
  if (entry->reason == kRejected && level_of(*entry) > report_.level) return;
  const auto undrained = drained.undrain(device.id);
  if (!undrained) return finish.problems.push_back(undrained.error());
  finish.drains.push_back(device.id + " gets cases again");
}

void Acceptance::drain(const AcceptedDevice& device, const DrainList& drained, RunFinish& finish) const {
  const auto done =
      drained.drain({.device = device.id,
                     .reason = kRejected,
                     .evidence = fmt::format("{}{}: {}", kLevel, report_.level, device.reason()),
                     .run = checked_.run_id});
  if (!done) return finish.problems.push_back(done.error());
  finish.drains.push_back(describe(*drained.find(device.id)));
}

}  // namespace proctor::runner
