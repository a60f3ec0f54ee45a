// The journal's JSON. Each struct lists its fields once (`fields`), and both Writer and Reader use this list.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/journal/events.h"

namespace proctor {
namespace {

using Json = nlohmann::ordered_json;  // for writing
// For reading: an ordered_json compares each key of an object with the new one, which is slow for many keys.
using Read = nlohmann::json;

// T, which is const when it is written and not const when it is read.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

void fields(auto& io, Is<PlannedCase> auto& r) {
  io("id", r.id), io("suite", r.suite), io("backend", r.backend), io("kind", r.kind);
  io("classname", r.classname), io("name", r.name), io("devices", r.devices), io("repeat", r.repeat);
  io("timeout_ms", r.timeout_ms), io("ranks", r.ranks);
}

void fields(auto& io, Is<PlannedDevice> auto& r) {
  io("id", r.id), io("backend", r.backend), io("name", r.name), io("simulated", r.simulated);
  io("uuid", r.uuid), io("pci", r.pci), io("pci_id", r.pci_id), io("compute_capability", r.capability);
}

void fields(auto& io, Is<ContainmentInfo> auto& r) {
  io("layer", r.layer), io("not_guaranteed", r.not_guaranteed), io("how_to_improve", r.how_to_improve);
  io("signals", r.signals);
}

void fields(auto& io, Is<SimInfo> auto& r) { io("topology", r.topology), io("driver", r.driver); }

void fields(auto& io, Is<StackFact> auto& r) {
  io("name", r.name), io("value", r.value), io("source", r.source), io("reason", r.reason),
      io("absent", r.absent);
}

void fields(auto& io, Is<PlannedShard> auto& r) {
  io("index", r.index), io("count", r.count), io("planned", r.planned), io("plan", r.plan);
}

void fields(auto& io, Is<PlannedRest> auto& r) {
  io("runs", r.runs), io("plan_digest", r.plan_digest), io("plan", r.plan), io("planned", r.planned);
  io("shards", r.shards);
}

void fields(auto& io, Is<SubjectFact> auto& r) {
  io("value", r.value), io("source", r.source), io("reason", r.reason);
}

void fields(auto& io, Is<Subject> auto& r) {
  io("commit", r.commit), io("dirty", r.dirty), io("branch", r.branch), io("repository", r.repository);
  io("build", r.build), io("checkout", r.checkout);
}

void fields(auto& io, Is<PlannedSuite> auto& r) {
  io("name", r.name), io("backend", r.backend), io("kind", r.kind), io("command", r.command);
  io("program", r.program), io("bytes", r.bytes), io("reason", r.reason), io("devices", r.devices);
  io("devices_reason", r.devices_reason), io("devices_disabled", r.devices_disabled);
}

void fields(auto& io, Is<KnownFailureEntry> auto& r) {
  io("location", r.at), io("cases", r.cases), io("source", r.source), io("issue", r.issue),
      io("owner", r.owner);
  io("added", r.added), io("expires", r.expires);
}

void fields(auto& io, Is<KnownFailuresFile> auto& r) {
  io("file", r.file), io("sha256", r.sha256), io("entries", r.entries);
}

void fields(auto& io, Is<NarrowingOption> auto& r) {
  io("option", r.option), io("value", r.value), io("covered_by", r.covered_by);
}

void fields(auto& io, Is<NarrowingVariable> auto& r) {
  io("suite", r.suite), io("backend", r.backend), io("name", r.name), io("value", r.value), io("by", r.by);
  io("covered_by", r.covered_by), io.exact("value_bytes", r.value);
}

void fields(auto& io, Is<Narrowed> auto& r) { io("options", r.options), io("variables", r.variables); }

void fields(auto& io, Is<InputFile> auto& r) { io("file", r.file), io("sha256", r.sha256); }

void fields(auto& io, Is<Exclusion> auto& r) { io("confidence", r.confidence), io("rate", r.rate); }

void fields(auto& io, Is<RunPlanned> auto& r) {
  io("run_id", r.run_id), io("started", r.started), io("proctor_version", r.proctor_version);
  io("command_line", r.command_line), io("directory", r.directory), io("hostname", r.hostname);
  io("plan_digest", r.plan_digest), io("filters", r.filters), io("shard", r.shard), io("remaining", r.rest),
      io("containment", r.containment), io("sim", r.sim), io("jobs", r.jobs);
  for_each_rule([&io](const RunRule& rule, auto& value) { io(rule.member, value); }, r.rules);
  io("exec", r.exec), io("backends_present", r.backends_present), io("missing_backend", r.missing_backend),
      io("hidden_by", r.hidden_by);
  io("flaky_passes", r.flaky_passes), io("max_flaky_percent", r.max_flaky_percent);
  io("stress_ms", r.stress_ms), io("exclusion", r.exclusion);
  io("devices", r.devices), io("cases", r.cases), io("stack", r.stack);
  io("fingerprint", r.fingerprint);
  io("subject", r.subject), io("suites", r.suites), io("known_failures", r.known_failures);
  io("size", r.size), io("seed", r.seed), io("profile", r.profile);
  io("restrictions", r.restrictions), io("inputs", r.inputs);
  io.exact("command_line_bytes", r.command_line), io.exact("directory_bytes", r.directory);
}

void fields(auto& io, Is<EnvironmentVariable> auto& r) {
  io("name", r.name), io("value", r.value), io("by", r.by);
}

void fields(auto& io, Is<AttemptStarted> auto& r) {
  io("case", r.case_id), io("attempt", r.attempt), io("repeat", r.repeat), io("at_ms", r.at_ms);
  io("devices", r.devices), io("log", r.log), io("environment", r.environment);
  io("shared", r.shared);
}

void fields(auto& io, Is<LeakedProcess> auto& r) { io("pid", r.pid), io("command", r.command); }

void fields(auto& io, Is<Measure> auto& r) {
  io("name", r.name), io("value", r.value), io("unit", r.unit), io("n", r.n), io("spread", r.spread);
}

void fields(auto& io, Is<Failure> auto& r) {
  io("rule", r.rule), io("message", r.message), io("file", r.file), io("line", r.line);
  io("expected", r.expected), io("got", r.got), io("device", r.device);
}

void fields(auto& io, Is<TrialDevice> auto& r) { io("role", r.role), io("device", r.device); }

void fields(auto& io, Is<Trial> auto& r) { io("ok", r.ok), io("devices", r.devices); }

void fields(auto& io, Is<Termination> auto& r) {
  io("signal_sent", r.signal_sent), io("forced", r.forced), io("unkillable", r.unkillable);
  io("kill_duration_ms", r.kill_duration_ms), io("leaked_processes", r.leaked_processes),
      io("leaked_by", r.leaked_by), io("guard_lost", r.guard_lost);
}

void fields(auto& io, Is<OutputInfo> auto& r) {
  io("log", r.log), io("bytes", r.bytes), io("dropped_bytes", r.dropped_bytes),
      io("write_failed", r.write_failed);
  io("stdout_tail", r.stdout_tail), io("stderr_tail", r.stderr_tail);
}

void fields(auto& io, Is<CoreInfo> auto& r) {
  io("file", r.file), io("program", r.program), io("bytes", r.bytes);
}

void fields(auto& io, Is<StackFrame> auto& r) { io("function", r.function), io("location", r.location); }

void fields(auto& io, Is<EvidenceInfo> auto& r) {
  io("file", r.file), io("lines", r.lines), io("duration_ms", r.duration_ms), io("core", r.core);
  io("frame", r.frame);
}

void fields(auto& io, Is<Culprit> auto& r) {
  io("kind", r.kind), io("name", r.name), io("version", r.version);
}

void fields(auto& io, Is<Diagnosis> auto& r) {
  io("rule", r.rule), io("class", r.error_class), io("owner", r.problem), io("severity", r.severity);
  io("where", r.where), io("line", r.line), io("next", r.next), io("source", r.source);
  io("others", r.others), io("gaps", r.gaps), io("culprit", r.culprit);
}

void fields(auto& io, Is<TelemetryFigure> auto& r) {
  io("name", r.name), io("unit", r.unit), io("source", r.source), io("samples", r.samples);
  io("first", r.first), io("last", r.last), io("mean", r.mean), io("peak", r.peak), io("delta", r.delta);
  io("seen", r.seen), io("note", r.note);
}

void fields(auto& io, Is<DeviceTelemetry> auto& r) { io("device", r.device), io("figures", r.figures); }

void fields(auto& io, Is<TelemetryInfo> auto& r) { io("host", r.host), io("devices", r.devices); }

void fields(auto& io, Is<RankEnd> auto& r) {
  io("rank", r.rank), io("devices", r.devices), io("verdict", r.verdict), io("exit_code", r.exit_code);
  io("exit_signal", r.exit_signal), io("announced_end", r.announced_end),
      io("stopped_by_proctor", r.stopped_by_proctor);
  io("last_step", r.last_step), io("log", r.log), io("bytes", r.bytes), io("dropped_bytes", r.dropped_bytes);
  io("environment", r.environment);
}

void fields(auto& io, Is<AttemptEnded> auto& r) {
  io("case", r.case_id), io("attempt", r.attempt), io("repeat", r.repeat), io("at_ms", r.at_ms);
  io("duration_ms", r.duration_ms), io("verdict", r.verdict), io("exit_code", r.exit_code);
  io("exit_signal", r.exit_signal), io("termination", r.termination), io("output", r.output);
  io("evidence", r.evidence), io("telemetry", r.telemetry), io("last_step", r.last_step),
      io("failures", r.failures), io("measures", r.measures), io("properties", r.properties),
      io("trials", r.trials), io("marks", r.marks);
  io("rule", r.rule), io("source", r.source), io("severity", r.severity);
  io("diagnosis", r.diagnosis), io("ranks", r.ranks);
}

void fields(auto& io, Is<AttemptSuspected> auto& r) {
  io("case", r.case_id), io("attempt", r.attempt), io("repeat", r.repeat), io("device", r.device);
  io("evidence", r.evidence);
}

void fields(auto& io, Is<CaseEnded> auto& r) {
  io("case", r.case_id), io("verdict", r.verdict), io("marks", r.marks), io("known_failure", r.known_failure);
  io("note", r.note), io("known_failure_location", r.known_failure_location);
}

void fields(auto& io, Is<CasePast> auto& r) {
  io("case", r.case_id), io("runs", r.runs), io("failing_runs", r.failing_runs);
  io("flaky_runs", r.flaky_runs), io("since", r.since), io("passed", r.passed);
}

void fields(auto& io, Is<HardwareEvidence> auto& r) {
  io("id", r.id), io("when", r.when), io("pci", r.pci), io("vendor", r.vendor), io("device", r.device);
  io("kernel_driver", r.kernel_driver), io("driver_file", r.driver_file);
  io("driver_build_id", r.driver_build_id), io("boot_id", r.boot_id), io("simulator", r.simulator);
  io("gaps", r.gaps), io("at_ms", r.at_ms);
}

void fields(auto& io, Is<DeviceHealth> auto& r) {
  io("device", r.device), io("finding", r.what), io("case", r.case_id), io("at_ms", r.at_ms);
  io("wait_ms", r.wait_ms), io("bytes", r.bytes), io("evidence", r.evidence);
}

void fields(auto& io, Is<ProgramRead> auto& r) {
  io("program", r.program), io("sha256", r.sha256), io("reason", r.reason);
}

void fields(auto& io, Is<Warning> auto& r) { io("code", r.code), io("text", r.text); }

void fields(auto& io, Is<StopRequested> auto& r) {
  io("signal", r.signal), io("reason", r.reason), io("at_ms", r.at_ms);
}

void fields(auto& io, Is<RunEnded> auto& r) { io("finished", r.finished), io("at_ms", r.at_ms); }

// JSON cannot express these numbers. The name keeps them apart from other values.
std::string name_of_non_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

// Returns printable ASCII text. Each other byte becomes a backslash and its number: "\xFF".
std::string escaped(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '\\';
    text += is_plain ? std::string(1, byte) : fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
  }
  return text;
}

std::string unescaped(std::string_view text) {
  constexpr std::size_t kLength = 4;
  std::string bytes;
  while (!text.empty()) {
    unsigned byte = 0;
    const std::string_view piece = text.substr(0, kLength);
    const bool is_number = piece.starts_with("\\x") && piece.size() == kLength &&
                           std::from_chars(&piece[2], &piece[2] + 2, byte, 16).ptr == &piece[2] + 2;
    bytes += is_number ? static_cast<char>(byte) : text.front();
    text.remove_prefix(is_number ? kLength : 1);
  }
  return bytes;
}

class Writer {
 public:
  explicit Writer(Json& object) : object_(object) {}

  void operator()(const char* key, const auto& value) { object_[key] = json_of(value); }

  // Writes the exact bytes of a value that a rerun passes on, if clean_text() would change it.
  void exact(const char* key, const std::string& value) {
    if (clean_text(value) != value) object_[key] = escaped(value);
  }
  void exact(const char* key, const std::vector<std::string>& values) {
    if (std::ranges::all_of(values, [](const std::string& value) { return clean_text(value) == value; }))
      return;
    for (const std::string& value : values) object_[key].push_back(escaped(value));
  }

 private:
  static Json json_of(bool value) { return value; }
  static Json json_of(std::integral auto value) { return value; }
  static Json json_of(double value) {
    return std::isfinite(value) ? Json(value) : Json(name_of_non_finite(value));
  }
  static Json json_of(const std::string& value) { return clean_text(value); }
  static Json json_of(const std::pair<std::string, std::string>& value) {
    return Json::array({clean_text(value.first), clean_text(value.second)});
  }
  static Json json_of(const Verdict& value) {
    return Json{{"outcome", std::string(to_string(value.outcome))},
                {"reason", clean_text(value.reason.text())}};
  }
  template <typename Known>
  static Json json_of(const Word<Known>& value) {
    return clean_text(value.text());
  }
  static Json json_of(FailureOwner value) { return std::string(to_string(value)); }
  // Leaves out empty members: a record has many figures, and most of their members are empty.
  static Json json_of(const TelemetryFigure& figure) {
    Json object = Json::object();
    Writer writer(object);
    fields(writer, figure);
    for (auto it = object.begin(); it != object.end();) {
      const bool says_nothing = it->is_null() || *it == "" || (it->is_array() && it->empty());
      it = says_nothing ? object.erase(it) : std::next(it);
    }
    return object;
  }
  template <typename T>
  static Json json_of(const std::optional<T>& value) {
    return value ? json_of(*value) : Json(nullptr);
  }
  template <typename T>
  static Json json_of(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(json_of(value));
    return array;
  }
  template <typename T>
  requires std::is_class_v<T>
  static Json json_of(const T& record) {
    Json object = Json::object();
    Writer writer(object);
    fields(writer, record);
    return object;
  }

  Json& object_;
};

// Reads an object. A member that is missing or has another type leaves the field's default.
class Reader {
 public:
  explicit Reader(const Read& object) : object_(object) {}

  void operator()(const char* key, auto& value) {
    if (const auto found = object_.find(key); found != object_.end()) read(*found, value);
  }

  void exact(const char* key, std::string& value) {
    const auto found = object_.find(key);
    if (found != object_.end() && found->is_string()) value = unescaped(found->get<std::string>());
  }
  void exact(const char* key, std::vector<std::string>& values) {
    std::vector<std::string> words;
    (*this)(key, words);
    if (words.empty()) return;
    values.clear();
    for (const std::string& word : words) values.push_back(unescaped(word));
  }

 private:
  static void read(const Read& json, bool& value) {
    if (json.is_boolean()) value = json.get<bool>();
  }
  template <std::integral T>
  static void read(const Read& json, T& value) {
    if (json.is_number_unsigned()) {
      const auto number = json.get<std::uint64_t>();
      if (std::in_range<T>(number)) value = static_cast<T>(number);
    } else if (json.is_number_integer()) {
      const auto number = json.get<std::int64_t>();
      if (std::in_range<T>(number)) value = static_cast<T>(number);
    }
  }
  static void read(const Read& json, double& value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (json.is_number()) value = json.get<double>();
    if (json == "nan") value = std::numeric_limits<double>::quiet_NaN();
    if (json == "inf") value = kInfinity;
    if (json == "-inf") value = -kInfinity;
  }
  static void read(const Read& json, std::string& value) {
    if (json.is_string()) value = json.get<std::string>();
  }
  static void read(const Read& json, std::pair<std::string, std::string>& value) {
    if (!json.is_array() || json.size() != 2) return;
    read(json[0], value.first);
    read(json[1], value.second);
  }
  static void read(const Read& json, Verdict& value) {
    if (!json.is_object()) return;
    std::string outcome, reason;
    Reader reader(json);
    reader("outcome", outcome);
    reader("reason", reason);
    if (const auto known = parse_outcome(outcome)) {
      value = {*known, reason_in_words(std::move(reason))};
    } else {  // from a newer version of Proctor: never taken as good
      value = {Outcome::kError, {Reason::kUnknownOutcome, outcome}};
    }
  }
  template <typename Known>
  static void read(const Read& json, Word<Known>& value) {
    if (json.is_string()) value = Word<Known>::in_text(json.get<std::string>());
  }
  static void read(const Read& json, FailureOwner& value) {
    if (json.is_string()) value = parse_failure_owner(json.get<std::string>()).value_or(value);
  }
  static void read(const Read& json, std::optional<std::string>& value) {
    if (json.is_string()) value = json.get<std::string>();
  }
  template <typename T>
  static void read(const Read& json, std::optional<T>& value) {
    if (std::is_integral_v<T> ? !json.is_number_integer() : json.is_null()) return;
    if (std::is_class_v<T> && !json.is_object()) return;
    T inner{};
    read(json, inner);
    value = std::move(inner);
  }
  template <typename T>
  static void read(const Read& json, std::optional<std::vector<T>>& values) {
    if (json.is_array()) read(json, values.emplace());
  }
  template <typename T>
  static void read(const Read& json, std::vector<T>& values) {
    if (!json.is_array()) return;
    for (const Read& element : json) read(element, values.emplace_back());
  }
  template <typename T>
  requires std::is_class_v<T>
  static void read(const Read& json, T& record) {
    if (!json.is_object()) return;
    Reader reader(json);
    fields(reader, record);
  }

  const Read& object_;
};

// Returns the first required member that a plan lacks, or "". A plan without such a member would look like a
// run that nothing narrowed, or that read no file. A journal of an older version may lack other members.
std::string lacking_in_plan(const Read& json) {
  for (const char* key : {"restrictions", "inputs"}) {
    if (!json.contains(key)) return key;
  }
  return "";
}

template <typename T>
constexpr const char* kTypeName = nullptr;
template <>
constexpr const char* kTypeName<RunPlanned> = "run_planned";
template <>
constexpr const char* kTypeName<AttemptStarted> = "attempt_started";
template <>
constexpr const char* kTypeName<AttemptEnded> = "attempt_ended";
template <>
constexpr const char* kTypeName<AttemptSuspected> = "attempt_suspected";
template <>
constexpr const char* kTypeName<CaseEnded> = "case_ended";
template <>
constexpr const char* kTypeName<CasePast> = "case_past";
template <>
constexpr const char* kTypeName<DeviceHealth> = "device_health";
template <>
constexpr const char* kTypeName<HardwareEvidence> = "hardware_evidence";
template <>
constexpr const char* kTypeName<ProgramRead> = "program_read";
template <>
constexpr const char* kTypeName<Warning> = "warning";
template <>
constexpr const char* kTypeName<StopRequested> = "stop_requested";
template <>
constexpr const char* kTypeName<RunEnded> = "run_ended";

template <std::size_t I = 0>
std::optional<Event> read_event(const std::string& type, const Read& json) {
  if constexpr (I < std::variant_size_v<Event>) {
    using T = std::variant_alternative_t<I, Event>;
    if (type != kTypeName<T>) return read_event<I + 1>(type, json);
    T record;
    Reader reader(json);
    fields(reader, record);
    return record;
  } else {
    return std::nullopt;
  }
}

// Removes the members that equal the default, which a reader restores.
void drop_defaults(Json& object, const Json& defaults) {
  for (auto it = object.begin(); it != object.end();) {
    const auto usual = defaults.find(it.key());
    if (usual != defaults.end() && it->is_object() && usual->is_object()) drop_defaults(*it, *usual);
    const bool is_default = usual != defaults.end() && (*it == *usual || (it->is_object() && it->empty()));
    it = is_default ? object.erase(it) : std::next(it);
  }
}

template <typename T>
void shorten(Json&, const T&) {}

// A long stress run has millions of passing repeats, and most members of their records are empty. The members
// that readers search for in the head of a record stay (reports/resolve/run_results.cc).
void shorten(Json& json, const AttemptEnded& record) {
  static const Json kDefaults = [] {
    Json defaults = Json::object();
    Writer writer(defaults);
    const AttemptEnded empty{};
    fields(writer, empty);
    for (const char* kept : {"attempt", "verdict", "exit_code", "exit_signal"}) defaults.erase(kept);
    return defaults;
  }();
  if (record.trials.empty()) json.erase("trials");  // few checks use several devices
  if (record.repeat > 1 && record.verdict.outcome == Outcome::kPass) drop_defaults(json, kDefaults);
}

}  // namespace

std::string to_json_line(const Event& event) {
  return std::visit(
      [](const auto& record) {
        Json json;
        json["v"] = kJournalVersion;
        json["type"] = kTypeName<std::remove_cvref_t<decltype(record)>>;
        Writer writer(json);
        fields(writer, record);
        shorten(json, record);
        return json.dump();
      },
      event);
}

Result<std::optional<Event>> parse_json_line(std::string_view line) {
  if (const std::string why = beyond_json_limits(line); !why.empty())
    return Error{ErrorKind::kSystem, "read a journal record: " + why, {}, 0};
  const Read json = parse_json(line);
  if (json.is_discarded()) return Error{ErrorKind::kSystem, "read a journal record: it is not JSON", {}, 0};
  const auto type = json.is_object() ? json.find("type") : json.end();
  if (type == json.end() || !type->is_string()) {
    return Error{ErrorKind::kSystem, "read a journal record: it has no type", {}, 0};
  }
  const auto version = json.find("v");
  if (version != json.end() && version->is_number() && version->get<double>() != kJournalVersion) {
    return Error::usage("read a journal record: its journal has version " + version->dump() +
                            ", and this Proctor reads version " + std::to_string(kJournalVersion),
                        "Read it with a Proctor of the version that wrote it.");
  }
  if (*type == kTypeName<RunPlanned>) {
    if (const std::string key = lacking_in_plan(json); !key.empty())
      return Error::usage("read a journal record: it is damaged: the plan has no `" + key + "`");
  }
  return read_event(type->get<std::string>(), json);
}

}  // namespace proctor
