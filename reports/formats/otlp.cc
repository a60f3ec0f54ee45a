#include <fmt/core.h>

#include <algorithm>

#include "harness/base/digest.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/formats/formats.h"
#include "reports/formats/json_writer.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

// SpanKind in trace.proto.
constexpr int kInternal = 1;

// Writes the array `attributes` of a span or resource. The destructor closes the array.
class Attributes {
 public:
  explicit Attributes(JsonWriter& json) : json_(json) { json_.open_array("attributes"); }
  ~Attributes() { json_.close(); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void add(std::string_view key, std::string_view text) { write(key, "stringValue", text); }
  void add(std::string_view key, const char* text) { add(key, std::string_view(text)); }
  void add(std::string_view key, const std::string& text) { add(key, std::string_view(text)); }
  void add(std::string_view key, bool value) { write(key, "boolValue", value); }
  // A 64-bit integer is text in the JSON of protobuf.
  void add(std::string_view key, std::int64_t value) { write(key, "intValue", std::to_string(value)); }
  void add(std::string_view key, const std::vector<std::string>& texts) {
    json_.open_object().member("key", key).open_object("value").open_object("arrayValue");
    json_.objects("values", texts,
                  [](JsonWriter& out, const std::string& text) { out.member("stringValue", text); });
    json_.close().close().close();
  }
  void add_if_any(std::string_view key, const std::string& text) {
    if (!text.empty()) add(key, text);
  }

 private:
  template <typename T>
  void write(std::string_view key, std::string_view type, const T& value) {
    json_.open_object().member("key", key).open_object("value").member(type, value).close().close();
  }

  JsonWriter& json_;
};

// Writes the spans of a run.
class Trace {
 public:
  Trace(const ResolvedRun& run, JsonWriter& json)
      : run_(run),
        json_(json),
        start_ms_(unix_ms(run.plan.started)),
        id_(hash("", 32)),
        run_span_(hash("run", 16)) {}

  void write_run() {
    const RunPlanned& plan = run_.plan;
    open(run_span_, "", "proctor run", 0, run_.elapsed_ms);
    {
      Attributes attributes(json_);
      attributes.add("proctor.run.id", plan.run_id);
      attributes.add("proctor.plan_digest", plan.plan_digest);
      attributes.add("proctor.exit_code", std::int64_t{run_.shell_exit_code});
      attributes.add("proctor.verdict", std::string(to_string(run_.verdict)));
      attributes.add("proctor.simulated", run_.simulated);
      attributes.add("proctor.containment", plan.containment.layer);
      const Summary summary = run_.summary;
      for (const Outcome outcome : kAllOutcomes) {
        if (summary[outcome] > 0)
          attributes.add("proctor.cases." + std::string(to_string(outcome)), std::int64_t{summary[outcome]});
      }
    }
    const bool passed = run_.shell_exit_code == kExitGreen;
    close(passed ? SpanStatus::kOk : SpanStatus::kError, passed ? "" : std::string(to_string(run_.verdict)));
  }

  void write_case(const ResolvedCase& test) {
    const Verdict verdict = test.verdict;
    if (test.attempts.empty()) return write_unstarted(test, verdict);
    const Attempt* deciding = test.deciding;
    const Outcome shown = deciding != nullptr ? verdict_of(*deciding).outcome : verdict.outcome;
    for (const Attempt& attempt : test.attempts) {
      // Attempts with the outcome of the case get the verdict of the case, which a known failure may have changed.
      const Verdict own = verdict_of(attempt);
      write_attempt(test, attempt, &attempt == deciding || own.outcome == shown ? verdict : own);
    }
  }

 private:
  std::string hash(const std::string& what, std::size_t digits) const {
    return sha256_hex(run_.plan.run_id + "\n" + run_.plan.plan_digest + "\n" + what).substr(0, digits);
  }

  std::string nanoseconds(std::int64_t ms) const { return std::to_string((start_ms_ + ms) * 1'000'000); }

  void open(const std::string& id, const std::string& parent, const std::string& name, std::int64_t start_ms,
            std::int64_t end_ms) {
    json_.open_object().member("traceId", id_).member("spanId", id).member_if_any("parentSpanId", parent);
    json_.member("name", name).member("kind", kInternal).member("startTimeUnixNano", nanoseconds(start_ms));
    json_.member("endTimeUnixNano", nanoseconds(std::max(start_ms, end_ms)));
  }

  void close(SpanStatus status, const std::string& message) {
    json_.open_object("status").member("code", static_cast<int>(status));
    json_.member_if_any("message", message).close().close();
  }

  void add_case(Attributes& attributes, const ResolvedCase& test, const Verdict& verdict) const {
    const PlannedCase& planned = test.planned;
    attributes.add("test.case.name", planned.id);
    attributes.add("test.case.result.status", span_result(verdict, planned.kind));
    attributes.add("test.suite.name", planned.suite + "." + planned.backend);
    attributes.add("proctor.outcome", to_string(verdict.outcome));
    attributes.add_if_any("proctor.reason", verdict.reason.text());
    attributes.add("proctor.simulated", test.simulated);
  }

  void write_unstarted(const ResolvedCase& test, const Verdict& verdict) {
    open(hash(test.planned.id, 16), run_span_, test.planned.id, run_.elapsed_ms, run_.elapsed_ms);
    {
      Attributes attributes(json_);
      add_case(attributes, test, verdict);
    }
    close(formats_of(verdict, test.planned.kind).span, test.headline);
  }

  void write_attempt(const ResolvedCase& test, const Attempt& attempt, const Verdict& verdict) {
    const AttemptStarted& start = attempt.start;
    const std::string which = fmt::format("{}\n{}\n{}", test.planned.id, start.repeat, start.attempt);
    const std::int64_t end = attempt.end ? attempt.end->at_ms : run_.elapsed_ms;
    open(hash(which, 16), run_span_, test.planned.id, start.at_ms, end);
    {
      Attributes attributes(json_);
      add_case(attributes, test, verdict);
      attributes.add("proctor.attempt", std::int64_t{start.attempt});
      if (start.repeat > 1) attributes.add("proctor.repeat", std::int64_t{start.repeat});
      if (!start.devices.empty()) attributes.add("proctor.devices", start.devices);
      attributes.add_if_any("proctor.log", start.log);
      if (attempt.end && !attempt.end->marks.empty())
        attributes.add("proctor.marks", texts_of(attempt.end->marks));
    }
    write_failures(attempt, end);
    const SpanStatus status = formats_of(verdict, test.planned.kind).span;
    close(status, status == SpanStatus::kOk ? "" : attempt.headline);
  }

  void write_failures(const Attempt& attempt, std::int64_t at_ms) {
    if (!attempt.end) return;
    json_.objects_if_any("events", attempt.end->failures, [&](JsonWriter& json, const Failure& failure) {
      json.member("timeUnixNano", nanoseconds(at_ms)).member("name", "exception");
      Attributes attributes(json);
      attributes.add("exception.type", failure.rule.empty() ? "failure" : failure.rule);
      attributes.add("exception.message", failure.message);
      if (const std::string file = below_checkout(run_.plan, failure.file); !file.empty()) {
        attributes.add("code.file.path", file);
        attributes.add("code.line.number", std::int64_t{failure.line});
      }
    });
  }

  const ResolvedRun& run_;
  JsonWriter& json_;
  std::int64_t start_ms_;
  std::string id_;
  std::string run_span_;
};

void write_resource(JsonWriter& json, const RunPlanned& plan) {
  const Subject& subject = plan.subject;
  json.open_object("resource");
  {
    Attributes attributes(json);
    attributes.add("service.name", "proctor");
    attributes.add("service.version", plan.proctor_version);
    attributes.add_if_any("host.name", plan.hostname);
    attributes.add_if_any("vcs.ref.head.revision", subject.commit.value.value_or(""));
    attributes.add_if_any("vcs.ref.head.name", subject.branch.value.value_or(""));
    attributes.add_if_any("vcs.repository.url.full", subject.repository.value.value_or(""));
    attributes.add_if_any("cicd.pipeline.run.url.full", subject.build.value.value_or(""));
    for (const auto& [name, value] : plan.stack) attributes.add("proctor.stack." + name, value);
  }
  json.close();
}

}  // namespace

void write_otlp(const ResolvedRun& run, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().open_array("resourceSpans").open_object();
  write_resource(json, run.plan);
  json.open_array("scopeSpans").open_object();
  json.open_object("scope").member("name", "proctor").member("version", run.plan.proctor_version).close();
  json.open_array("spans");
  Trace trace(run, json);
  trace.write_run();
  for (const ResolvedCase& test : run.cases) trace.write_case(test);
  json.close().close().close().close().close().close();
  output.pending() += '\n';
}

}  // namespace proctor
