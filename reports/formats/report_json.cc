#include "reports/formats/report_json.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/core/containment_layer.h"
#include "harness/core/text.h"
#include "reports/formats/case_facts.h"
#include "reports/formats/json_writer.h"
#include "reports/resolve/failure_rates.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

void write_fact(JsonWriter& json, const StackFact& fact) {
  json.open_object().member("name", fact.name).member("value", fact.value).member("source", fact.source);
  json.member("reason", fact.value ? std::nullopt : std::optional(fact.reason)).close();
}

void write_device(JsonWriter& json, const PlannedDevice& device, const std::vector<DeviceShare>& shares) {
  const auto share = std::ranges::find(shares, device.id, &DeviceShare::device);
  const bool known = share != shares.end();
  json.open_object().member("id", device.id).member("backend", device.backend).member("name", device.name);
  json.member("simulated", device.simulated).member("uuid", device.uuid).member("pci", device.pci);
  json.member("pci_id", device.pci_id).member("capability", device.capability);
  json.member("attempts", known ? share->all : 0).member("failed_attempts", known ? share->bad : 0);
  json.member("stands_out", known && share->stands_out).close();
}

void write_subject_fact(JsonWriter& json, std::string_view name, const SubjectFact& fact) {
  json.open_object(name);
  if (!fact.value) {
    json.member("value", nullptr);
  } else if (name == "dirty") {
    json.member("value", *fact.value == "true");
  } else {
    json.member("value", *fact.value);
  }
  const std::string reason = fact.reason.empty() ? "the journal does not say it" : fact.reason;
  json.member("source", fact.value ? std::optional(fact.source) : std::nullopt);
  json.member("reason", fact.value ? std::nullopt : std::optional(reason)).close();
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void write_subject(JsonWriter& json, const Subject& subject) {
  json.open_object("subject");
  write_subject_fact(json, "commit", subject.commit);
  write_subject_fact(json, "dirty", subject.dirty);
  write_subject_fact(json, "branch", subject.branch);
  write_subject_fact(json, "repository", subject.repository);
  write_subject_fact(json, "build", subject.build);
  json.member("checkout", unless_empty(subject.checkout)).close();
}

void write_suite(JsonWriter& json, const ResolvedRun& run, const PlannedSuite& suite) {
  const ProgramRead read = run.program_read(suite);
  const bool there = !suite.program.empty();
  json.open_object().member("name", suite.name).member("backend", suite.backend).member("kind", suite.kind);
  json.member("command", suite.command).member("program", unless_empty(suite.program));
  json.member("bytes", there ? std::optional(suite.bytes) : std::nullopt);
  json.member("sha256", unless_empty(read.sha256));
  json.member("reason", read.sha256.empty() ? std::optional(read.reason) : std::nullopt);
  json.member("devices", suite.devices).member("devices_reason", unless_empty(suite.devices_reason)).close();
}

void write_sim(JsonWriter& json, const std::optional<SimInfo>& sim) {
  if (!sim) {
    json.member("sim", nullptr);
    return;
  }
  json.open_object("sim").member("topology", sim->topology).member("driver", sim->driver).close();
}

void write_shard(JsonWriter& json, const std::optional<PlannedShard>& shard) {
  if (!shard) {
    json.member("shard", nullptr);
    return;
  }
  json.open_object("shard").member("index", shard->index).member("count", shard->count);
  json.member("planned", shard->planned).member("plan", shard->plan).close();
}

void write_rest(JsonWriter& json, const std::optional<PlannedRest>& rest) {
  if (!rest) {
    json.member("rest", nullptr);
    return;
  }
  json.open_object("rest").member("runs", rest->runs).member("planned", rest->planned);
  json.member("plan", unless_empty(rest->plan)).member("plan_digest", rest->plan_digest);
  json.member("shards", rest->shards).close();
}

void write_known_failures(JsonWriter& json, const ResolvedRun& run) {
  const auto& list = run.plan.known_failures;
  if (!list) {
    json.member("known_failures", nullptr);
    return;
  }
  json.open_object("known_failures").member("file", list->file).member("sha256", list->sha256);
  json.open_array("entries");
  for (const KnownFailureUse& use : run.known_failures) {
    const KnownFailureEntry& entry = *use.entry;
    json.open_object().member("at", entry.at).member("cases", entry.cases).member("source", entry.source);
    json.member("issue", unless_empty(entry.issue)).member("owner", unless_empty(entry.owner));
    json.member("added", unless_empty(entry.added)).member("expires", entry.expires);
    json.member("days_left", use.days_left).member("hits", use.hits).close();
  }
  json.close().close();
}

// An object has a name once.
std::vector<std::pair<std::string, std::string>> last_of_each(
    const std::vector<std::pair<std::string, std::string>>& entries) {
  std::map<std::string, std::size_t> index;
  std::vector<std::pair<std::string, std::string>> once;
  for (const auto& [name, value] : entries) {
    const auto [found, is_new] = index.emplace(clean_text(name), once.size());
    if (is_new) once.emplace_back(found->first, value);
    once[found->second].second = value;
  }
  return once;
}

// Of a run that repeated its cases for their failure rates.
void write_repeats(JsonWriter& json, const RunPlanned& plan) {
  if (plan.stress_ms > 0) json.member("stress_ms", plan.stress_ms);
  if (!plan.exclusion) return;
  json.open_object("exclusion").member("confidence", plan.exclusion->confidence);
  json.member("rate", plan.exclusion->rate).close();
}

void write_run(JsonWriter& json, const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  json.open_object("run").member("id", plan.run_id).member("started", plan.started);
  // null: the runner was killed
  json.member("finished", run.ended ? std::optional(run.ended->finished) : std::nullopt);
  json.member("simulated", run.simulated);
  write_sim(json, plan.sim);
  const std::string& layer = plan.containment.layer;
  const auto known = parse_layer(layer);
  json.member("containment", known ? to_string(facts_of(*known).reported_as) : layer);
  json.member("containment_layer", layer).member("signals", plan.containment.signals);
  json.member("exit_code", run.shell_exit_code);
  json.member("plan_digest", plan.plan_digest);
  write_shard(json, plan.shard);
  write_rest(json, plan.rest);
  write_subject(json, plan.subject);
  write_known_failures(json, run);
  json.member("size", unless_empty(plan.size))
      .member("seed", plan.seed)
      .member("profile", unless_empty(plan.profile));
  write_repeats(json, plan);
  json.open_array("devices");
  const std::vector<DeviceShare>& shares = run.device_shares;
  for (const PlannedDevice& device : plan.devices) write_device(json, device, shares);
  json.close().open_object("stack");
  for (const auto& [name, value] : last_of_each(plan.stack)) json.member(name, value);
  json.close().open_array("fingerprint");
  for (const StackFact& fact : plan.fingerprint) write_fact(json, fact);
  json.close().close();
}

void write_summary(JsonWriter& json, const Summary& summary) {
  json.open_object("summary").member("planned", summary.planned());
  for (const Outcome outcome : kAllOutcomes) json.member(to_string(outcome), summary[outcome]);
  json.close();
}

void write_failures(JsonWriter& json, const std::vector<Failure>& failures) {
  json.open_array("failures");
  for (const Failure& f : failures) {
    json.open_object().member("rule", f.rule).member("message", f.message).member("file", f.file);
    json.member("line", f.line)
        .member("expected", f.expected)
        .member("got", f.got)
        .member("device", f.device);
    json.close();
  }
  json.close();
}

void write_trials(JsonWriter& json, const std::vector<Trial>& trials) {
  if (trials.empty()) return;
  json.open_array("trials");
  for (const Trial& trial : trials) {
    json.open_object().member("ok", trial.ok).open_array("devices");
    for (const TrialDevice& each : trial.devices)
      json.open_object().member("role", each.role).member("device", each.device).close();
    json.close().close();
  }
  json.close();
}

void write_measures(JsonWriter& json, const std::vector<Measure>& measures) {
  json.open_array("measures");
  for (const Measure& m : measures) {
    json.open_object().member("name", m.name).member("value", m.value).member("unit", m.unit);
    json.member("n", m.n).member("spread", m.spread).close();
  }
  json.close();
}

void write_termination(JsonWriter& json, const Termination& termination) {
  json.open_object("termination").member("signal_sent", termination.signal_sent);
  json.member("forced", termination.forced).member("unreapable", termination.unreapable);
  json.member("kill_to_empty_ms", termination.kill_to_empty_ms).open_array("strays");
  for (const Stray& stray : termination.strays)
    json.open_object().member("pid", stray.pid).member("command", stray.command).close();
  json.close();
  if (!termination.left_by.empty()) json.member("left_by", termination.left_by);
  json.member_if_any("guard_lost", termination.guard_lost).close();
}

void write_culprit(JsonWriter& json, const Culprit* culprit) {
  if (culprit == nullptr) return;
  json.open_object("culprit").member("kind", culprit->kind).member("name", culprit->name);
  json.member("version", culprit->version).close();
}

void write_diagnosis(JsonWriter& json, const Diagnosis& diagnosis) {
  json.open_object("diagnosis").member("rule", diagnosis.rule).member("class", diagnosis.error_class);
  json.member("problem", to_string(diagnosis.problem)).member("severity", diagnosis.severity.text());
  json.member("where", diagnosis.where).member("line", diagnosis.line).member("next", diagnosis.next);
  json.member("source", diagnosis.source).member("others", diagnosis.others).member("gaps", diagnosis.gaps);
  write_culprit(json, diagnosis.culprit ? &*diagnosis.culprit : nullptr);
  json.close();
}

bool was_taken(const TelemetryFigure& f) {
  return f.samples > 0 || f.first || f.last || f.mean || f.peak || f.delta || !f.seen.empty();
}

// Why figures were not taken is the same for most of thousands of attempts: it is said once, with their number.
class TelemetryGaps {
 public:
  void add(const TelemetryInfo& telemetry) {
    add("host", telemetry.host);
    for (const DeviceTelemetry& device : telemetry.devices) add(device.device, device.figures);
  }
  void write(JsonWriter& json) const {
    if (attempts_.empty()) return;
    json.open_array("telemetry_gaps");
    for (const auto& [gap, attempts] : attempts_) {
      const auto& [of, name, note] = gap;
      json.open_object().member("of", of).member("name", name).member("note", note);
      json.member("attempts", attempts).close();
    }
    json.close();
  }

 private:
  void add(const std::string& of, const std::vector<TelemetryFigure>& figures) {
    for (const TelemetryFigure& figure : figures) {
      if (!was_taken(figure)) ++attempts_[{of, figure.name, figure.note}];
    }
  }

  std::map<std::tuple<std::string, std::string, std::string>, int> attempts_;
};

void write_figures(JsonWriter& json, std::string_view key, const std::vector<TelemetryFigure>& figures) {
  json.open_array(key);
  for (const TelemetryFigure& f : figures) {
    if (!was_taken(f)) continue;
    json.open_object().member("name", f.name).member("unit", f.unit).member("source", f.source);
    json.member("samples", f.samples).member("first", f.first).member("last", f.last).member("mean", f.mean);
    json.member("peak", f.peak)
        .member("delta", f.delta)
        .member("seen", f.seen)
        .member("note", f.note)
        .close();
  }
  json.close();
}

void write_telemetry(JsonWriter& json, const TelemetryInfo& telemetry) {
  if (telemetry.host.empty() && telemetry.devices.empty()) return;
  json.open_object("telemetry");
  write_figures(json, "host", telemetry.host);
  json.open_array("devices");
  for (const DeviceTelemetry& device : telemetry.devices) {
    json.open_object().member("device", device.device);
    write_figures(json, "figures", device.figures);
    json.close();
  }
  json.close().close();
}

// null: the variable is not set, which differs from an empty value.
void write_environment(JsonWriter& json, const std::vector<EnvironmentVariable>& environment) {
  if (environment.empty()) return;
  json.open_object("environment");
  std::set<std::string> names;
  for (const EnvironmentVariable& variable : environment) {
    if (!names.insert(clean_text(variable.name)).second) continue;
    json.open_object(variable.name).member("value", variable.value).member("by", variable.by).close();
  }
  json.close();
}

void write_exit(JsonWriter& json, const std::optional<int>& code, const std::optional<int>& signal) {
  json.open_object("exit").member("code", code).member("signal", signal).close();
}

void write_ranks(JsonWriter& json, const std::vector<RankEnd>& ranks) {
  json.open_array("ranks");
  for (const RankEnd& rank : ranks) {
    const auto outcome = rank.verdict ? std::optional(to_string(rank.verdict->outcome)) : std::nullopt;
    json.open_object().member("rank", rank.rank).member("devices", rank.devices).member("outcome", outcome);
    json.member("reason", rank.verdict ? rank.verdict->reason.text() : "");
    write_exit(json, rank.exit_code, rank.exit_signal);
    json.member("left", rank.left).member("ended_by_runner", rank.ended_by_runner);
    json.member("last_step", rank.last_step);
    write_environment(json, rank.environment);
    json.open_object("output").member("log", rank.log).member("bytes", rank.bytes);
    json.member("dropped_bytes", rank.dropped_bytes).close().close();
  }
  json.close();
}

void write_evidence(JsonWriter& json, const EvidenceInfo& evidence) {
  const CoreInfo& core = evidence.core;
  if (evidence.file.empty() && evidence.lines.empty() && core.file.empty()) return;
  json.open_object("evidence").member("file", evidence.file).member("lines", evidence.lines);
  json.member("duration_ms", evidence.duration_ms);
  if (evidence.frame) {
    json.open_object("frame").member("function", evidence.frame->function);
    json.member("location", evidence.frame->location).close();
  }
  if (core.file.empty()) {
    json.member("core", nullptr);
  } else {
    json.open_object("core").member("file", core.file).member("program", core.program);
    json.member("bytes", core.bytes).close();
  }
  json.close();
}

void write_attempt(JsonWriter& json, const ResolvedRun& run, const Attempt& attempt, TelemetryGaps& gaps) {
  static const AttemptEnded kNoEnd;
  const AttemptEnded& end = attempt.end ? *attempt.end : kNoEnd;
  const Verdict verdict = verdict_of(attempt);
  json.open_object().member("attempt", attempt.start.attempt).member("repeat", attempt.start.repeat);
  json.member("outcome", to_string(verdict.outcome)).member("reason", verdict.reason.text());
  if (!end.marks.empty()) json.member("marks", texts_of(end.marks));
  json.member("duration_ms", end.duration_ms).member("devices", attempt.start.devices);
  if (attempt.start.shared) json.member("shared", true);
  write_environment(json, run.environment(attempt));
  write_ranks(json, end.ranks);
  write_exit(json, end.exit_code, end.exit_signal);
  write_termination(json, end.termination);
  json.open_object("output").member("log", attempt.start.log).member("bytes", end.output.bytes);
  json.member("dropped_bytes", end.output.dropped_bytes).member("lost", end.output.lost).close();
  write_evidence(json, end.evidence);
  const TelemetryInfo telemetry = run.telemetry(attempt);
  write_telemetry(json, telemetry);
  gaps.add(telemetry);
  json.member("last_step", end.last_step);
  write_failures(json, end.failures);
  write_trials(json, end.trials);
  if (end.diagnosis) write_diagnosis(json, *end.diagnosis);
  json.close();
}

// What the newest attempt that ended says about the check itself.
const AttemptEnded& newest_end(const ResolvedCase& test) {
  static const AttemptEnded kNone;
  const AttemptEnded* newest = &kNone;
  for (const Attempt& attempt : test.attempts) {
    if (attempt.end) newest = &*attempt.end;
  }
  return *newest;
}

void write_properties(JsonWriter& json, const AttemptEnded& end) {
  if (end.properties.empty()) return;
  json.open_array("properties");
  for (const auto& [name, value] : end.properties)
    json.open_object().member("name", name).member("value", value).close();
  json.close();
}

void write_rate(JsonWriter& json, const FailureRate& rate) {
  json.member("runs", rate.runs).member("failures", rate.failures).member("rate", rate.rate());
  json.member("low", rate.interval.low).member("high", rate.interval.high);
}

void write_rate_parts(JsonWriter& json, std::string_view key, const std::vector<RatePart>& parts) {
  json.open_array(key);
  for (const RatePart& part : parts) {
    json.open_object().member("of", part.of);
    write_rate(json, part.rate);
    json.close();
  }
  json.close();
}

void write_rates(JsonWriter& json, const CaseRates& rates) {
  json.open_object("failure_rate");
  write_rate(json, rates.all);
  if (rates.claim) {
    json.member("claim", to_string(*rates.claim)).member("runs_needed", rates.needed);
    json.member("text", rates.text).close();
    return;
  }
  json.member("text", rates.text);
  write_rate_parts(json, "by_device", rates.by_device);
  write_rate_parts(json, "by_order", rates.by_order);
  json.close();
}

void write_case(JsonWriter& json, const ResolvedRun& run, const ResolvedCase& test, TelemetryGaps& gaps) {
  const PlannedCase& planned = test.planned;
  const Verdict verdict = test.verdict;
  const AttemptEnded& end = newest_end(test);
  json.open_object()
      .member("id", planned.id)
      .member("suite", planned.suite)
      .member("backend", planned.backend);
  json.member("outcome", to_string(verdict.outcome)).member("reason", verdict.reason.text());
  json.member("problem", to_string(test.problem));
  write_culprit(json, test.culprit.get());
  json.member("marks", texts_of(test.marks));
  json.member("rule", end.rule).member("source", end.source).member("severity", end.severity.text());
  write_measures(json, end.measures);
  write_properties(json, end);
  json.member("simulated", test.simulated);
  json.member("devices",
              test.attempts.empty() ? std::vector<std::string>() : test.attempts.back().start.devices);
  json.member("duration_ms", test.duration_ms);
  json.member("known_failure", test.end ? test.end->known_failure : "");
  if (test.end) json.member_if_any("known_failure_at", test.end->known_failure_at);
  json.member("note", test.end ? test.end->note : "");
  json.member("message", verdict.outcome == Outcome::kPass ? "" : test.headline);
  write_case_facts(json, test);
  if (test.rates) write_rates(json, *test.rates);
  json.open_array("attempts");
  for (const Attempt& attempt : test.attempts) write_attempt(json, run, attempt, gaps);
  json.close().close();
}

void write_health(JsonWriter& json, const DeviceHealth& health) {
  json.open_object()
      .member("device", health.device)
      .member("what", health.what.text())
      .member("case", health.case_id);
  json.member("at_ms", health.at_ms).member("wait_ms", health.wait_ms).member("bytes", health.bytes);
  json.member("evidence", health.evidence).close();
}

void write_hardware(JsonWriter& json, const HardwareEvidence& evidence) {
  json.open_object().member("id", evidence.id).member("when", evidence.when).member("pci", evidence.pci);
  json.member("vendor", evidence.vendor).member("device", evidence.device);
  json.member("kernel_driver", evidence.kernel_driver).member("driver_file", evidence.driver_file);
  json.member("driver_build_id", evidence.driver_build_id).member("boot_id", evidence.boot_id);
  json.member("simulator", evidence.simulator).member("gaps", evidence.gaps);
  json.member("at_ms", evidence.at_ms).close();
}

}  // namespace

void write_report_json(const ResolvedRun& run, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kReportSchemaVersion);
  write_run(json, run);
  write_summary(json, run.summary);
  json.open_array("suites");
  for (const PlannedSuite& suite : run.plan.suites) write_suite(json, run, suite);
  json.close().open_array("cases");
  TelemetryGaps gaps;
  for (const ResolvedCase& test : run.cases) write_case(json, run, test, gaps);
  json.close().open_array("warnings");
  for (const Warning& warning : run.warnings)
    json.open_object().member("code", warning.code.text()).member("text", warning.text).close();
  json.close().open_array("health");
  for (const DeviceHealth& health : run.health) write_health(json, health);
  json.close().open_array("hardware");
  for (const HardwareEvidence& evidence : run.hardware) write_hardware(json, evidence);
  json.close();
  gaps.write(json);
  json.close();
  output.pending() += '\n';
}

std::string report_json(const ResolvedRun& run) {
  return text_of([&](TextOutput& output) { write_report_json(run, output); });
}

}  // namespace proctor
