#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "harness/base/text.h"
#include "harness/journal/containment_layer.h"
#include "reports/formats/formats.h"
#include "reports/formats/json_writer.h"
#include "reports/resolve/failure_rates.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

void write_fact(JsonWriter& json, const StackFact& fact) {
  json.member("name", fact.name).member("value", fact.value).member("source", fact.source);
  json.member("reason", fact.value ? std::nullopt : std::optional(fact.reason));
}

void write_device(JsonWriter& json, const PlannedDevice& device, const std::vector<DeviceShare>& shares) {
  const auto share = std::ranges::find(shares, device.id, &DeviceShare::device);
  const bool known = share != shares.end();
  json.member("id", device.id).member("backend", device.backend).member("name", device.name);
  json.member("simulated", device.simulated).member("uuid", device.uuid).member("pci", device.pci);
  json.member("pci_id", device.pci_id).member("compute_capability", device.capability);
  json.member("attempts", known ? share->all : 0).member("failed_attempts", known ? share->bad : 0);
  json.member("is_outlier", known && share->is_outlier);
}

void write_subject_fact(JsonWriter& json, std::string_view name, const SubjectFact& fact) {
  json.open_object(name);
  if (fact.value && name == "dirty") {
    json.member("value", *fact.value == "true");
  } else {
    json.member("value", fact.value);
  }
  const std::string reason = fact.reason.empty() ? "the journal does not contain this fact" : fact.reason;
  json.member("source", fact.value ? std::optional(fact.source) : std::nullopt);
  json.member("reason", fact.value ? std::nullopt : std::optional(reason)).close();
}

void write_subject(JsonWriter& json, const Subject& subject) {
  json.open_object("subject");
  write_subject_fact(json, "commit", subject.commit);
  write_subject_fact(json, "dirty", subject.dirty);
  write_subject_fact(json, "branch", subject.branch);
  write_subject_fact(json, "repository", subject.repository);
  write_subject_fact(json, "build", subject.build);
  json.member_or_null("checkout", subject.checkout).close();
}

void write_suite(JsonWriter& json, const PlannedSuite& suite, const ProgramRead& read) {
  const bool there = !suite.program.empty();
  json.member("name", suite.name).member("backend", suite.backend).member("kind", suite.kind);
  json.member("command", suite.command).member_or_null("program", suite.program);
  json.member("bytes", there ? std::optional(suite.bytes) : std::nullopt);
  json.member_or_null("sha256", read.sha256);
  json.member("reason", read.sha256.empty() ? std::optional(read.reason) : std::nullopt);
  json.member("devices", suite.devices).member_or_null("devices_reason", suite.devices_reason);
}

void write_parts(JsonWriter& json, const RunPlanned& plan) {
  if (const auto& shard = plan.shard; json.open_object_or_null("shard", shard.has_value())) {
    json.member("index", shard->index).member("count", shard->count);
    json.member("planned", shard->planned).member("plan", shard->plan).close();
  }
  if (const auto& rest = plan.rest; json.open_object_or_null("remaining", rest.has_value())) {
    json.member("runs", rest->runs).member("planned", rest->planned).member_or_null("plan", rest->plan);
    json.member("plan_digest", rest->plan_digest).member("shards", rest->shards).close();
  }
}

void write_known_failure(JsonWriter& json, const KnownFailureUse& use) {
  const KnownFailureEntry& entry = *use.entry;
  json.member("location", entry.at).member("cases", entry.cases).member("source", entry.source);
  json.member_or_null("issue", entry.issue).member_or_null("owner", entry.owner);
  json.member_or_null("added", entry.added).member("expires", entry.expires);
  json.member("days_left", use.days_left).member("hits", use.hits);
}

// Removes repeated names, because a JSON object has each name once. The last value is kept.
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

// Writes the members of a run that repeated its cases to measure failure rates.
void write_repeats(JsonWriter& json, const RunPlanned& plan) {
  if (plan.stress_ms > 0) json.member("stress_ms", plan.stress_ms);
  if (!plan.exclusion) return;
  json.open_object("exclusion").member("confidence", plan.exclusion->confidence);
  json.member("rate", plan.exclusion->rate).close();
}

void write_run(JsonWriter& json, const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  json.open_object("run").member("id", plan.run_id).member("started", plan.started);
  // The value is null if the runner was killed.
  json.member("finished", run.ended ? std::optional(run.ended->finished) : std::nullopt);
  json.member("simulated", run.simulated);
  if (json.open_object_or_null("sim", plan.sim.has_value()))
    json.member("topology", plan.sim->topology).member("driver", plan.sim->driver).close();
  const std::string& layer = plan.containment.layer;
  const auto known = parse_layer(layer);
  json.member("containment", known ? to_string(facts_of(*known).reported_as) : layer);
  json.member("containment_layer", layer).member("signals", plan.containment.signals);
  json.member("verdict", to_string(run.verdict))
      .member("exit_code", run.shell_exit_code)
      .member("plan_digest", plan.plan_digest);
  write_parts(json, plan);
  write_subject(json, plan.subject);
  const auto& list = plan.known_failures;
  if (json.open_object_or_null("known_failures", list.has_value())) {
    json.member("file", list->file).member("sha256", list->sha256);
    json.objects("entries", run.known_failures, write_known_failure).close();
  }
  json.member_or_null("size", plan.size).member("seed", plan.seed).member_or_null("profile", plan.profile);
  write_repeats(json, plan);
  json.objects("devices", plan.devices, [&](JsonWriter& out, const PlannedDevice& device) {
    write_device(out, device, run.device_shares);
  });
  json.open_object("stack");
  for (const auto& [name, value] : last_of_each(plan.stack)) json.member(name, value);
  json.close().objects("fingerprint", plan.fingerprint, write_fact).close();
}

void write_summary(JsonWriter& json, const Summary& summary) {
  json.open_object("summary").member("planned", summary.planned());
  for (const Outcome outcome : kAllOutcomes) json.member(to_string(outcome), summary[outcome]);
  json.close();
}

void write_failure(JsonWriter& json, const Failure& failure) {
  json.member("rule", failure.rule).member("message", failure.message).member("file", failure.file);
  json.member("line", failure.line).member("expected", failure.expected).member("got", failure.got);
  json.member("device", failure.device);
}

void write_trial(JsonWriter& json, const Trial& trial) {
  json.member("ok", trial.ok).objects("devices", trial.devices, [](JsonWriter& out, const TrialDevice& each) {
    out.member("role", each.role).member("device", each.device);
  });
}

void write_termination(JsonWriter& json, const Termination& termination) {
  json.open_object("termination").member("signal_sent", termination.signal_sent);
  json.member("forced", termination.forced).member("unkillable", termination.unkillable);
  json.member("kill_duration_ms", termination.kill_duration_ms);
  json.objects("leaked_processes", termination.leaked_processes,
               [](JsonWriter& out, const LeakedProcess& leaked) {
                 out.member("pid", leaked.pid).member("command", leaked.command);
               });
  if (!termination.leaked_by.empty()) json.member("leaked_by", termination.leaked_by);
  json.member_if_any("guard_lost", termination.guard_lost).close();
}

void write_culprit(JsonWriter& json, const Culprit* culprit) {
  if (culprit == nullptr) return;
  json.open_object("culprit").member("kind", culprit->kind).member("name", culprit->name);
  json.member("version", culprit->version).close();
}

void write_diagnosis(JsonWriter& json, const Diagnosis& diagnosis) {
  json.open_object("diagnosis").member("rule", diagnosis.rule).member("class", diagnosis.error_class);
  json.member("owner", to_string(diagnosis.problem)).member("severity", diagnosis.severity.text());
  json.member("where", diagnosis.where).member("line", diagnosis.line).member("next", diagnosis.next);
  json.member("source", diagnosis.source).member("others", diagnosis.others).member("gaps", diagnosis.gaps);
  write_culprit(json, diagnosis.culprit ? &*diagnosis.culprit : nullptr);
  json.close();
}

bool was_taken(const TelemetryFigure& f) {
  return f.samples > 0 || f.first || f.last || f.mean || f.peak || f.delta || !f.seen.empty();
}

// Counts the reasons for missing telemetry. Most of thousands of attempts have the same reason, so each is written once
// with its count.
class TelemetryGaps {
 public:
  void add(const TelemetryInfo& telemetry) {
    add("host", telemetry.host);
    for (const DeviceTelemetry& device : telemetry.devices) add(device.device, device.figures);
  }
  void write(JsonWriter& json) const {
    json.objects_if_any("telemetry_gaps", attempts_, [](JsonWriter& out, const auto& entry) {
      const auto& [of, name, note] = entry.first;
      out.member("of", of).member("name", name).member("note", note).member("attempts", entry.second);
    });
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
  json.objects(key, std::views::filter(figures, was_taken), [](JsonWriter& out, const TelemetryFigure& f) {
    out.member("name", f.name).member("unit", f.unit).member("source", f.source);
    out.member("samples", f.samples).member("first", f.first).member("last", f.last).member("mean", f.mean);
    out.member("peak", f.peak).member("delta", f.delta).member("seen", f.seen).member("note", f.note);
  });
}

void write_telemetry(JsonWriter& json, const TelemetryInfo& telemetry) {
  if (telemetry.host.empty() && telemetry.devices.empty()) return;
  json.open_object("telemetry");
  write_figures(json, "host", telemetry.host);
  json.objects("devices", telemetry.devices, [](JsonWriter& out, const DeviceTelemetry& device) {
    out.member("device", device.device);
    write_figures(out, "figures", device.figures);
  });
  json.close();
}

// A null value is a variable that is not set, in contrast to an empty value.
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

void write_rank(JsonWriter& json, const RankEnd& rank) {
  const auto outcome = rank.verdict ? std::optional(to_string(rank.verdict->outcome)) : std::nullopt;
  json.member("rank", rank.rank).member("devices", rank.devices).member("outcome", outcome);
  json.member("reason", rank.verdict ? rank.verdict->reason.text() : "");
  write_exit(json, rank.exit_code, rank.exit_signal);
  json.member("announced_end", rank.announced_end).member("stopped_by_proctor", rank.stopped_by_proctor);
  json.member("last_step", rank.last_step);
  write_environment(json, rank.environment);
  json.open_object("output").member("log", rank.log).member("bytes", rank.bytes);
  json.member("dropped_bytes", rank.dropped_bytes).close();
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
  if (json.open_object_or_null("core", !core.file.empty()))
    json.member("file", core.file).member("program", core.program).member("bytes", core.bytes).close();
  json.close();
}

void write_attempt(JsonWriter& json, const Attempt& attempt, TelemetryGaps& gaps) {
  static const AttemptEnded kNoEnd;
  const AttemptEnded& end = attempt.end ? *attempt.end : kNoEnd;
  const Verdict verdict = verdict_of(attempt);
  json.member("attempt", attempt.start.attempt).member("repeat", attempt.start.repeat);
  json.member("outcome", to_string(verdict.outcome)).member("reason", verdict.reason.text());
  if (!end.marks.empty()) json.member("marks", texts_of(end.marks));
  json.member("duration_ms", end.duration_ms).member("devices", attempt.start.devices);
  if (attempt.start.shared) json.member("shared", true);
  write_environment(json, attempt.environment());
  json.objects("ranks", end.ranks, write_rank);
  write_exit(json, end.exit_code, end.exit_signal);
  write_termination(json, end.termination);
  json.open_object("output").member("log", attempt.start.log).member("bytes", end.output.bytes);
  json.member("dropped_bytes", end.output.dropped_bytes)
      .member("write_failed", end.output.write_failed)
      .close();
  write_evidence(json, end.evidence);
  const TelemetryInfo telemetry = attempt.telemetry();
  write_telemetry(json, telemetry);
  gaps.add(telemetry);
  json.member("last_step", end.last_step);
  json.objects("failures", end.failures, write_failure).objects_if_any("trials", end.trials, write_trial);
  if (end.diagnosis) write_diagnosis(json, *end.diagnosis);
}

// Returns the end of the newest attempt that ended, which has the properties of the check.
const AttemptEnded& newest_end(const ResolvedCase& test) {
  static const AttemptEnded kNone;
  const AttemptEnded* newest = &kNone;
  for (const Attempt& attempt : test.attempts) {
    if (attempt.end) newest = &*attempt.end;
  }
  return *newest;
}

void write_rate(JsonWriter& json, const FailureRate& rate) {
  json.member("runs", rate.runs).member("failures", rate.failures).member("rate", rate.rate());
  json.member("low", rate.interval.low).member("high", rate.interval.high);
}

void write_rate_parts(JsonWriter& json, std::string_view key, const std::vector<RatePart>& parts) {
  json.objects(key, parts, [](JsonWriter& out, const RatePart& part) {
    out.member("of", part.of);
    write_rate(out, part.rate);
  });
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

void write_case(JsonWriter& json, const ResolvedCase& test, TelemetryGaps& gaps) {
  const PlannedCase& planned = test.planned;
  const Verdict verdict = test.verdict;
  const AttemptEnded& end = newest_end(test);
  json.member("id", planned.id).member("suite", planned.suite).member("backend", planned.backend);
  json.member("outcome", to_string(verdict.outcome)).member("reason", verdict.reason.text());
  json.member("owner", to_string(test.problem));
  write_culprit(json, test.culprit.get());
  json.member("marks", texts_of(test.marks));
  json.member("rule", end.rule).member("source", end.source).member("severity", end.severity.text());
  json.objects("measures", end.measures, write_measure);
  json.objects_if_any("properties", end.properties, [](JsonWriter& out, const auto& property) {
    out.member("name", property.first).member("value", property.second);
  });
  json.member("simulated", test.simulated);
  json.member("devices",
              test.attempts.empty() ? std::vector<std::string>() : test.attempts.back().start.devices);
  json.member("duration_ms", test.duration_ms);
  json.member("known_failure", test.end ? test.end->known_failure : "");
  if (test.end) json.member_if_any("known_failure_location", test.end->known_failure_location);
  json.member("note", test.end ? test.end->note : "");
  json.member("message", verdict.outcome == Outcome::kPass ? "" : test.headline);
  write_case_facts(json, test);
  if (test.rates) write_rates(json, *test.rates);
  json.objects("attempts", test.attempts,
               [&](JsonWriter& out, const Attempt& attempt) { write_attempt(out, attempt, gaps); });
}

void write_health(JsonWriter& json, const DeviceHealth& health) {
  json.member("device", health.device).member("finding", health.what.text()).member("case", health.case_id);
  json.member("at_ms", health.at_ms).member("wait_ms", health.wait_ms).member("bytes", health.bytes);
  json.member("evidence", health.evidence);
}

void write_hardware(JsonWriter& json, const HardwareEvidence& evidence) {
  json.member("id", evidence.id).member("when", evidence.when).member("pci", evidence.pci);
  json.member("vendor", evidence.vendor).member("device", evidence.device);
  json.member("kernel_driver", evidence.kernel_driver).member("driver_file", evidence.driver_file);
  json.member("driver_build_id", evidence.driver_build_id).member("boot_id", evidence.boot_id);
  json.member("simulator", evidence.simulator).member("gaps", evidence.gaps).member("at_ms", evidence.at_ms);
}

}  // namespace

void write_report_json(const ResolvedRun& run, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kReportSchemaVersion);
  write_run(json, run);
  write_summary(json, run.summary);
  json.objects("suites", run.plan.suites, [&](JsonWriter& out, const PlannedSuite& suite) {
    write_suite(out, suite, run.program_read(suite));
  });
  TelemetryGaps gaps;
  json.objects("cases", run.cases,
               [&](JsonWriter& out, const ResolvedCase& test) { write_case(out, test, gaps); });
  json.objects("warnings", run.warnings, write_warning).objects("health", run.health, write_health);
  json.objects("hardware", run.hardware, write_hardware);
  gaps.write(json);
  json.close();
  output.pending() += '\n';
}

std::string report_json(const ResolvedRun& run) {
  return text_of([&](TextOutput& output) { write_report_json(run, output); });
}

}  // namespace proctor
