#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/text.h"
#include "reports/formats/formats.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : without_hidden_controls(clean_text(value))) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : c == '\r' ? "\\\\r" : std::string(1, c);  // OpenMetrics has no escape for CR
  }
  return out;
}

// Writes metric families and samples in the OpenMetrics text format.
class Metrics {
 public:
  explicit Metrics(TextOutput& output) : output_(output) {}

  void family(std::string_view name, std::string_view type, std::string_view help) {
    output_.pending() += fmt::format("# TYPE {0} {1}\n# HELP {0} {2}\n", name, type, help);
  }
  template <typename T>
  void sample(std::string_view name, const Labels& labels, const T& value) {
    std::string text(name);
    for (const auto& [label, of] : labels)
      text += fmt::format("{}{}=\"{}\"", text.size() == name.size() ? "{" : ",", label, escaped(of));
    if (!labels.empty()) text += "}";
    output_.pending() += fmt::format("{} {}\n", text, value);
    output_.passed();
  }

 private:
  TextOutput& output_;
};

std::string or_unknown(const SubjectFact& fact) { return fact.value.value_or(""); }

void write_run(Metrics& metrics, const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  metrics.family("proctor_run", "info", "The program and the stack of the run.");
  metrics.sample("proctor_run_info",
                 {{"run_id", plan.run_id},
                  {"version", plan.proctor_version},
                  {"plan_digest", plan.plan_digest},
                  {"verdict", std::string(to_string(run.verdict))},
                  {"simulated", run.simulated ? "true" : "false"},
                  {"commit", or_unknown(plan.subject.commit)},
                  {"branch", or_unknown(plan.subject.branch)}},
                 1);
  metrics.family("proctor_exit_code", "gauge", "Exit code of the run, as a shell saw it.");
  metrics.sample("proctor_exit_code", {}, run.shell_exit_code);
  metrics.family("proctor_duration_seconds", "gauge", "From the start of the run to its newest record.");
  metrics.sample("proctor_duration_seconds", {}, static_cast<double>(run.elapsed_ms) / 1000);
  metrics.family("proctor_run_problems", "gauge", "Problems that make the run fail beside its cases.");
  metrics.sample("proctor_run_problems", {}, run.problems.size());
  const auto drained = std::ranges::count(run.health, HealthWord(HealthFact::kDrained), &DeviceHealth::what);
  metrics.family("proctor_devices_drained", "gauge", "Devices that got no more cases.");
  metrics.sample("proctor_devices_drained", {}, drained);
  metrics.family("proctor_warnings", "gauge", "Warnings of the run.");
  metrics.sample("proctor_warnings", {}, run.warnings.size());
}

}  // namespace

void write_metrics(const ResolvedRun& run, TextOutput& output) {
  std::map<std::pair<std::string, std::string>, SuiteSum> suites;
  for (const ResolvedCase& test : run.cases) {
    SuiteSum& counts = suites[{clean_text(test.planned.suite), clean_text(test.planned.backend)}];
    ++counts.summary[test.verdict.outcome];
    counts.flaky += test.flaky ? 1 : 0;
    counts.duration_ms += test.duration_ms;
  }
  Metrics metrics(output);
  write_run(metrics, run);
  metrics.family("proctor_cases", "gauge", "Planned cases by outcome.");
  for (const auto& [suite, counts] : suites) {
    for (const Outcome outcome : kAllOutcomes) {
      metrics.sample(
          "proctor_cases",
          {{"suite", suite.first}, {"backend", suite.second}, {"outcome", std::string(to_string(outcome))}},
          counts.summary[outcome]);
    }
  }
  metrics.family("proctor_cases_flaky", "gauge", "Cases that failed and then passed.");
  for (const auto& [suite, counts] : suites)
    metrics.sample("proctor_cases_flaky", {{"suite", suite.first}, {"backend", suite.second}}, counts.flaky);
  metrics.family("proctor_cases_seconds", "gauge", "Time in all attempts of the cases.");
  for (const auto& [suite, counts] : suites) {
    metrics.sample("proctor_cases_seconds", {{"suite", suite.first}, {"backend", suite.second}},
                   static_cast<double>(counts.duration_ms) / 1000);
  }
  output.pending() += "# EOF\n";
}

}  // namespace proctor
