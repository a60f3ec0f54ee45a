#include "reports/resolve/resolved_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "harness/base/number_text.h"
#include "harness/base/text.h"

namespace proctor {

int Summary::planned() const { return std::accumulate(counts.begin(), counts.end(), 0); }

int Summary::executed() const { return planned() - (*this)[Outcome::kSkip] - (*this)[Outcome::kNotrun]; }

std::string DeviceVerdict::command_in(const std::string& run_dir) const {
  const std::size_t at = command.find(kRunDirectory);
  if (at == command.npos) return command;
  return command.substr(0, at) + shell_quote(run_dir) + command.substr(at + kRunDirectory.size());
}

std::string to_string(const Variant& variant) {
  std::string text = variant.suite;
  if (variant.backend != "none" && !variant.backend.empty()) text += "." + variant.backend;
  if (!variant.device_model.empty()) text += " on " + variant.device_model;
  if (!variant.stack.empty()) text += ", stack " + variant.stack;
  return text + (variant.simulated ? ", simulated" : "");
}

std::string days_left_words(int days) {
  if (days == 0) return "the last day";
  const int count = std::abs(days);
  return days < 0 ? fmt::format("expired {} before", count_text(count, "day"))
                  : count_text(count, "day") + " left";
}

const ResolvedCase* ResolvedRun::find(std::string_view case_id) const {
  const auto id_at = [this](std::uint32_t at) -> std::string_view { return cases[at].planned.id; };
  const auto found = std::ranges::lower_bound(by_id, case_id, {}, id_at);
  return found != by_id.end() && id_at(*found) == case_id ? &cases[*found] : nullptr;
}

ProgramRead ResolvedRun::program_read(const PlannedSuite& suite) const {
  if (suite.program.empty()) return {.program = {}, .sha256 = {}, .reason = suite.reason};
  const auto found = programs.find(suite.program);
  if (found != programs.end()) return found->second;
  return {.program = suite.program, .sha256 = {}, .reason = "the run ended before it was read"};
}

bool ResolvedRun::warned_of(WarningCode code) const {
  return std::ranges::any_of(warnings, [&](const Warning& warning) { return warning.code == code; });
}

bool ResolvedRun::warned_of_machine() const {
  return std::ranges::any_of(warnings,
                             [](const Warning& warning) { return is_machine_warning(warning.code); });
}

std::vector<std::string> cases_left_by(const ResolvedRun& run) {
  std::vector<std::string> left;
  for (const ResolvedCase& test : run.cases) {
    if (!is_proven(test)) left.push_back(test.planned.id);
  }
  return left;
}

std::string no_device_text(const RunPlanned& plan) {
  const std::string& backend = plan.missing_backend;
  if (backend.empty()) return {};
  const std::string& variable = plan.hidden_by;
  if (variable.empty()) {
    return "no " + backend +
           " device was found here; next: `proctor doctor`, or simulate devices with --sim " +
           (backend == "cuda" ? "cuda:4" : "xpu:2x2");
  }
  if (variable.starts_with("CTEST_"))
    return "CTest has given this test no " + backend + " device; next: the test's property RESOURCE_GROUPS";
  if (variable == "--devices")
    return "--devices names no " + backend + " device; next: name one, or leave it out";
  std::string mask;
  for (const auto& [name, value] : plan.stack) {
    if (name == backend + ".caller_mask") mask = clean_text(value);
  }
  return "the caller's " + variable + "='" + mask + "' leaves no " + backend +
         " device; next: unset it, or `proctor explain mask " + backend + " '" + mask + "'`";
}

}  // namespace proctor
