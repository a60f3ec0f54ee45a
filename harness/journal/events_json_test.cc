#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/base/json.h"
#include "harness/journal/events.h"

namespace proctor {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Has a value that is not the default in every field of every record.
RunPlanned full_plan() {
  RunPlanned plan;
  plan.run_id = "20260131T120000Z-ab12";
  plan.started = "2026-01-31T12:00:00Z";
  plan.proctor_version = "0.1.0";
  plan.command_line = {"proctor", "run", "a b"};
  plan.directory = "/home/user";
  plan.hostname = "gpu-07";
  plan.plan_digest = "00ff";
  plan.filters = {"m PYTEST_ADDOPTS=-k a"};
  plan.shard = PlannedShard{2, 4, 90, "ff00"};
  plan.rest = PlannedRest{{"run-1", "run-2"}, "ee00", "ff00", 90, 4};
  plan.containment = {"pidns", {"no memory limit"}, {"delegate a cgroup"}, "landlock"};
  plan.sim = SimInfo{"xpu:2x2", "intel"};
  plan.jobs = 3;
  plan.rules.min_executed = 2;
  plan.rules.fail_on_skip = "*CUDA";
  plan.backends_present = {"cuda"};
  plan.rules.strict = true;
  plan.exec = true;
  plan.rules.each_device = true;
  plan.flaky_passes = true;
  plan.max_flaky_percent = 5;
  plan.rules.allow_no_device = true;
  plan.missing_backend = "cuda";
  plan.hidden_by = "CUDA_VISIBLE_DEVICES";
  plan.devices = {{"xpu-sim:0", "xpu", "Card", true, "uuid", "0000:03:00.0", "8086:e211", "9.0"}};
  plan.cases = {{"m.xpu/A.B", "m", "xpu", "proctor", "proctor.m.xpu", "A.B", 2, 4, 60'000}};
  plan.stack = {{"xpu.driver", "22.43"}, {"xpu.loader", "1.8.12"}};
  plan.fingerprint = {{"host.kernel", "6.1", "/proc", ""},
                      {"kmd.xe", {}, "/sys/module/xe", "not loaded", true}};
  plan.subject = {.commit = {"0123abc", "GITHUB_SHA", ""},
                  .dirty = {"false", "git status", ""},
                  .branch = {{}, "", "HEAD is detached"},
                  .repository = {"https://git.example/a", ".git/config", ""},
                  .build = {"https://ci.example/1", "BUILD_URL", ""},
                  .checkout = "/home/user/a"};
  plan.suites = {
      {"m", "xpu", "gtest", {"build/m", "-q"}, "/home/user/build/m", 4711, "why not", 2, "linked", true}};
  plan.known_failures = KnownFailuresFile{
      "known.toml",
      "ff00",
      {{"known.toml:1", {"m.xpu/*"}, "seen", "https://bugs.example/1", "us", "2026-01-01", "2026-02-01"}}};
  plan.size = "full";
  plan.seed = 7;
  plan.profile = "ci";
  plan.restrictions =
      Narrowed{{{"--filter", "a*", "plan"}}, {{"m", "xpu", "PYTHONOPTIMIZE", "1", "caller", "plan"}}};
  plan.inputs = {{"proctor.toml", "0f0f"}};
  plan.stress_ms = 7'200'000;
  plan.exclusion = Exclusion{.confidence = 0.99, .rate = 0.01};
  return plan;
}

AttemptEnded full_attempt() {
  AttemptEnded end;
  end.case_id = "m.xpu/A.B";
  end.attempt = 2;
  end.repeat = 3;
  end.at_ms = 1'000'000'000'000;
  end.duration_ms = 77;
  end.verdict = {Outcome::kCrash, {Reason::kSignal, 11}};
  end.exit_code = 1;
  end.exit_signal = 11;
  end.termination = {15, true, true, 250, {{4711, "sleep 1"}}, {"m.xpu/A.C"}, "it was killed by signal 9"};
  end.output = {"logs/x.log", 18'000'000'000'000'000'000u, 3, true, "out", "err"};
  end.evidence = {"evidence/x.txt",
                  {"python3 (pid 1): state D", "native: ioctl"},
                  812,
                  {"evidence/x.core", "/usr/bin/python3", 12'345},
                  StackFrame{"wait_for_it", "queue.cc:40"}};
  end.telemetry = {{{"cpu_time", "s", "cgroup", 1, 0.5, 1.5, 1.25, 1.5, 1.0, {"word"}, "of the tree"}},
                   {{"xpu-sim:0", {{"power", "W", "", 0, {}, {}, {}, {}, {}, {}, "not offered"}}}}};
  end.last_step = "touch 3/8";
  end.ranks.push_back({.rank = 1,
                       .devices = {"cuda:1"},
                       .verdict = Verdict{Outcome::kCrash, {Reason::kSignal, 9}},
                       .exit_code = 3,
                       .exit_signal = 9,
                       .announced_end = "signal:9",
                       .stopped_by_proctor = true,
                       .last_step = "reduce",
                       .log = "logs/x.rank1.log",
                       .bytes = 7,
                       .dropped_bytes = 8});
  end.failures = {{"M-1", "read 0x00", "a.cc", 12, "0xA5", "0x00", "xpu-sim:0"}};
  end.measures = {{"bandwidth", 12.25, "GB/s", 7, 0.5}};
  end.properties = {{"seed", "7"}};
  end.trials = {{false, {{"source", "xpu-sim:0"}, {"target", "xpu-sim:1"}}}};
  end.marks = {Mark::kLeaky, Mark::kWarn};
  end.rule = "M-1";
  end.source = "spec 3.2";
  end.severity = Severity::kGate;
  end.diagnosis = Diagnosis{.rule = "xid:79",
                            .error_class = "device_lost",
                            .problem = FailureOwner::kSetup,
                            .culprit = Culprit{"driver", "Level Zero driver", "26.31"},
                            .severity = Gravity::kFatal,
                            .where = "kernel_log",
                            .line = "NVRM: Xid",
                            .next = "Reboot.",
                            .source = "docs",
                            .others = {"cuda:719"},
                            .gaps = {"no log"}};
  return end;
}

std::vector<Event> all_events() {
  return {
      full_plan(),
      AttemptStarted{"m.xpu/A.B",
                     2,
                     3,
                     55,
                     {"xpu-sim:0"},
                     "logs/x.log",
                     {{"ZE_AFFINITY_MASK", "0", "proctor"}, {"CUDA_VISIBLE_DEVICES", std::nullopt, "unset"}},
                     true},
      full_attempt(),
      AttemptSuspected{"m.xpu/A.B", 2, 3, "xpu-sim:0", "wrong bytes"},
      CaseEnded{"m.xpu/A.B",
                {Outcome::kXfail, reason_in_words("known")},
                {Mark::kFlaky},
                "bugs.example/1",
                "a note",
                "known.toml:1"},
      CasePast{"m.xpu/A.B", 7, 2, 1, "0123abc", "456def"},
      DeviceHealth{"xpu-sim:1", HealthFact::kMemoryMissing, "m.xpu/A.B", 77, 60'000, 268'435'456, "256 MiB"},
      HardwareEvidence{"xpu:0000:03:00.0",
                       "start",
                       "0000:03:00.0",
                       "8086",
                       "e20b",
                       "xe",
                       "/usr/lib/libze_intel_gpu.so.1",
                       "ab12",
                       "0f-00",
                       true,
                       {"boot_id: unreadable"},
                       77},
      ProgramRead{"/home/user/build/m", "ff00", "it was changed"},
      Warning{WarningCode::kJournalNotWritten, "the disk is full"},
      StopRequested{15, StopCause::kSignal, 99},
      RunEnded{"2026-01-31T12:00:09Z", 9000}};
}

// Detects a field that was added to a struct but not to its list in events_json.cc. The structured binding
// stops compiling until its count is right, and then the comparison of the count with the list fails.
#define PROCTOR_COUNT_FIELDS(T, count, ...)                   \
  [[maybe_unused]] std::size_t field_count(const T& record) { \
    [[maybe_unused]] const auto& [__VA_ARGS__] = record;      \
    return count;                                             \
  }
PROCTOR_COUNT_FIELDS(PlannedCase, 10, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10)
PROCTOR_COUNT_FIELDS(PlannedDevice, 8, f1, f2, f3, f4, f5, f6, f7, f8)
PROCTOR_COUNT_FIELDS(ContainmentInfo, 4, f1, f2, f3, f4)
PROCTOR_COUNT_FIELDS(SimInfo, 2, f1, f2)
PROCTOR_COUNT_FIELDS(StackFact, 5, f1, f2, f3, f4, f5)
PROCTOR_COUNT_FIELDS(PlannedShard, 4, f1, f2, f3, f4)
PROCTOR_COUNT_FIELDS(PlannedRest, 5, f1, f2, f3, f4, f5)
PROCTOR_COUNT_FIELDS(SubjectFact, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(Subject, 6, f1, f2, f3, f4, f5, f6)
PROCTOR_COUNT_FIELDS(PlannedSuite, 10, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10)
PROCTOR_COUNT_FIELDS(KnownFailureEntry, 7, f1, f2, f3, f4, f5, f6, f7)
PROCTOR_COUNT_FIELDS(KnownFailuresFile, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(ProgramRead, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(NarrowingOption, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(NarrowingVariable, 6, f1, f2, f3, f4, f5, f6)
PROCTOR_COUNT_FIELDS(Narrowed, 2, f1, f2)
PROCTOR_COUNT_FIELDS(InputFile, 2, f1, f2)
PROCTOR_COUNT_FIELDS(Exclusion, 2, f1, f2)
PROCTOR_COUNT_FIELDS(RunRules, 5, f1, f2, f3, f4, f5)
// The rules are members of the plan in JSON.
PROCTOR_COUNT_FIELDS(RunPlanned, 33 + field_count(RunRules{}), f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11,
                     f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29,
                     f30, f31, f32, f33, f34)
PROCTOR_COUNT_FIELDS(EnvironmentVariable, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(AttemptStarted, 8, f1, f2, f3, f4, f5, f6, f7, f8)
PROCTOR_COUNT_FIELDS(LeakedProcess, 2, f1, f2)
PROCTOR_COUNT_FIELDS(Measure, 5, f1, f2, f3, f4, f5)
PROCTOR_COUNT_FIELDS(Failure, 7, f1, f2, f3, f4, f5, f6, f7)
PROCTOR_COUNT_FIELDS(Trial, 2, f1, f2)
PROCTOR_COUNT_FIELDS(TrialDevice, 2, f1, f2)
PROCTOR_COUNT_FIELDS(Termination, 7, f1, f2, f3, f4, f5, f6, f7)
PROCTOR_COUNT_FIELDS(OutputInfo, 6, f1, f2, f3, f4, f5, f6)
PROCTOR_COUNT_FIELDS(CoreInfo, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(StackFrame, 2, f1, f2)
PROCTOR_COUNT_FIELDS(EvidenceInfo, 5, f1, f2, f3, f4, f5)
PROCTOR_COUNT_FIELDS(Culprit, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(Diagnosis, 11, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11)
PROCTOR_COUNT_FIELDS(TelemetryFigure, 11, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11)
PROCTOR_COUNT_FIELDS(DeviceTelemetry, 2, f1, f2)
PROCTOR_COUNT_FIELDS(TelemetryInfo, 2, f1, f2)
PROCTOR_COUNT_FIELDS(RankEnd, 12, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12)
PROCTOR_COUNT_FIELDS(AttemptEnded, 23, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                     f17, f18, f19, f20, f21, f22, f23)
PROCTOR_COUNT_FIELDS(AttemptSuspected, 5, f1, f2, f3, f4, f5)
PROCTOR_COUNT_FIELDS(CaseEnded, 6, f1, f2, f3, f4, f5, f6)
PROCTOR_COUNT_FIELDS(HardwareEvidence, 12, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12)
PROCTOR_COUNT_FIELDS(CasePast, 6, f1, f2, f3, f4, f5, f6)
PROCTOR_COUNT_FIELDS(DeviceHealth, 7, f1, f2, f3, f4, f5, f6, f7)
PROCTOR_COUNT_FIELDS(Warning, 2, f1, f2)
PROCTOR_COUNT_FIELDS(StopRequested, 3, f1, f2, f3)
PROCTOR_COUNT_FIELDS(RunEnded, 2, f1, f2)
#undef PROCTOR_COUNT_FIELDS

TEST(EventsJson, EveryFieldIsWritten) {
  for (const Event& event : all_events()) {
    const std::size_t fields = std::visit([](const auto& record) { return field_count(record); }, event);
    EXPECT_EQ(json::parse(to_json_line(event)).size(), fields + 2) << "v, type, and each field";
  }
  const json plan = json::parse(to_json_line(full_plan()));
  EXPECT_EQ(plan["cases"][0].size(), field_count(PlannedCase{}));
  EXPECT_EQ(plan["devices"][0].size(), field_count(PlannedDevice{}));
  EXPECT_EQ(plan["containment"].size(), field_count(ContainmentInfo{}));
  EXPECT_EQ(plan["sim"].size(), field_count(SimInfo{}));
  EXPECT_EQ(plan["shard"].size(), field_count(PlannedShard{}));
  EXPECT_EQ(plan["remaining"].size(), field_count(PlannedRest{}));
  EXPECT_EQ(plan["subject"].size(), field_count(Subject{}));
  EXPECT_EQ(plan["subject"]["commit"].size(), field_count(SubjectFact{}));
  EXPECT_EQ(plan["suites"][0].size(), field_count(PlannedSuite{}));
  EXPECT_EQ(plan["known_failures"].size(), field_count(KnownFailuresFile{}));
  EXPECT_EQ(plan["known_failures"]["entries"][0].size(), field_count(KnownFailureEntry{}));
  EXPECT_EQ(plan["inputs"][0].size(), field_count(InputFile{}));
  EXPECT_EQ(plan["exclusion"].size(), field_count(Exclusion{}));
  EXPECT_EQ(plan["restrictions"].size(), field_count(Narrowed{}));
  EXPECT_EQ(plan["restrictions"]["options"][0].size(), field_count(NarrowingOption{}));
  EXPECT_EQ(plan["restrictions"]["variables"][0].size(), field_count(NarrowingVariable{}));
  const json end = json::parse(to_json_line(full_attempt()));
  EXPECT_EQ(end["termination"].size(), field_count(Termination{}));
  EXPECT_EQ(end["termination"]["leaked_processes"][0].size(), field_count(LeakedProcess{}));
  EXPECT_EQ(end["output"].size(), field_count(OutputInfo{}));
  EXPECT_EQ(end["evidence"].size(), field_count(EvidenceInfo{}));
  EXPECT_EQ(end["evidence"]["core"].size(), field_count(CoreInfo{}));
  EXPECT_EQ(end["evidence"]["frame"].size(), field_count(StackFrame{}));
  EXPECT_EQ(end["diagnosis"].size(), field_count(Diagnosis{}));
  EXPECT_EQ(end["telemetry"].size(), field_count(TelemetryInfo{}));
  EXPECT_EQ(end["telemetry"]["host"][0].size(), field_count(TelemetryFigure{}));
  EXPECT_EQ(end["telemetry"]["devices"][0].size(), field_count(DeviceTelemetry{}));
  EXPECT_EQ(end["ranks"][0].size(), field_count(RankEnd{}));
  EXPECT_EQ(end["failures"][0].size(), field_count(Failure{}));
  EXPECT_EQ(end["measures"][0].size(), field_count(Measure{}));
  EXPECT_EQ(end["trials"][0].size(), field_count(Trial{}));
  EXPECT_EQ(end["trials"][0]["devices"][0].size(), field_count(TrialDevice{}));
}

TEST(EventsJson, EveryRecordRoundTrips) {
  for (const Event& event : all_events()) {
    const std::string line = to_json_line(event);
    EXPECT_EQ(line.find('\n'), line.npos);
    const auto back = parse_json_line(line);
    ASSERT_TRUE(back) << back.error().what;
    ASSERT_TRUE(*back) << line;
    EXPECT_EQ((*back)->index(), event.index());
    EXPECT_EQ(to_json_line(**back), line);
  }
}

TEST(EventsJson, FigureOmitsEmptyMembers) {
  const auto line = to_json_line(full_attempt());
  EXPECT_EQ(json::parse(line)["telemetry"]["devices"][0]["figures"][0],
            json({{"name", "power"}, {"unit", "W"}, {"samples", 0}, {"note", "not offered"}}));
  const auto end = std::get<AttemptEnded>(**parse_json_line(line));
  EXPECT_EQ(end.telemetry.host.at(0).delta, 1.0);
  EXPECT_EQ(end.telemetry.devices.at(0).figures.at(0).note, "not offered");
  EXPECT_FALSE(end.telemetry.devices.at(0).figures.at(0).peak);
}

// A repeat of a long stress run loses no information, and its record is short.
TEST(EventsJson, RepeatOmitsEmptyMembers) {
  AttemptEnded first = full_attempt();
  first.repeat = 2;
  const auto again = parse_json_line(to_json_line(first));
  ASSERT_TRUE(again.ok() && *again);
  AttemptEnded back = std::get<AttemptEnded>(**again);
  EXPECT_EQ(back.repeat, 2);
  first.repeat = back.repeat = 1;
  EXPECT_EQ(to_json_line(back), to_json_line(first));

  AttemptEnded pass;
  pass.case_id = "a";
  pass.verdict = {Outcome::kPass, {}};
  pass.exit_code = 0;
  const std::size_t whole = to_json_line(pass).size();
  pass.repeat = 2;
  const json short_one = json::parse(to_json_line(pass));
  EXPECT_LT(to_json_line(pass).size(), whole / 3) << short_one;
  EXPECT_EQ(short_one["exit_code"], 0);
  EXPECT_FALSE(short_one.contains("termination"));
}

TEST(EventsJson, ValuesRoundTrip) {
  const auto plan = std::get<RunPlanned>(**parse_json_line(to_json_line(full_plan())));
  EXPECT_EQ(plan.sim->driver, "intel");
  EXPECT_EQ(plan.cases.at(0).timeout_ms, 60'000);
  EXPECT_EQ(plan.cases.at(0).classname, "proctor.m.xpu");
  EXPECT_TRUE(plan.devices.at(0).simulated);
  EXPECT_EQ(plan.stack.at(1).second, "1.8.12");
  EXPECT_EQ(plan.fingerprint.at(0).value, "6.1");
  EXPECT_EQ(plan.fingerprint.at(1).value, std::nullopt);
  EXPECT_EQ(plan.fingerprint.at(1).reason, "not loaded");
  EXPECT_TRUE(plan.fingerprint.at(1).absent);
  EXPECT_FALSE(plan.fingerprint.at(0).absent);
  EXPECT_EQ(plan.containment.how_to_improve.at(0), "delegate a cgroup");
  EXPECT_EQ(plan.containment.signals, "landlock");
  EXPECT_TRUE(plan.rules.strict);
  EXPECT_TRUE(plan.rules.each_device);
  EXPECT_TRUE(plan.flaky_passes);
  EXPECT_EQ(plan.max_flaky_percent, 5);
  EXPECT_TRUE(plan.exec);

  const auto end = std::get<AttemptEnded>(**parse_json_line(to_json_line(full_attempt())));
  EXPECT_EQ(end.verdict, (Verdict{Outcome::kCrash, {Reason::kSignal, 11}}));
  EXPECT_EQ(end.exit_signal, 11);
  EXPECT_EQ(end.output.bytes, 18'000'000'000'000'000'000u);
  EXPECT_EQ(end.evidence.lines.at(1), "native: ioctl");
  EXPECT_EQ(end.evidence.core.program, "/usr/bin/python3");
  EXPECT_EQ(end.evidence.core.bytes, 12'345u);
  EXPECT_EQ(end.evidence.frame->location, "queue.cc:40");
  EXPECT_EQ(end.termination.leaked_processes.at(0).pid, 4711);
  EXPECT_EQ(end.termination.leaked_by.at(0), "m.xpu/A.C");
  EXPECT_EQ(end.termination.guard_lost, "it was killed by signal 9");
  EXPECT_EQ(end.ranks.at(0).announced_end, "signal:9");
  EXPECT_EQ(to_string(end.ranks.at(0).verdict.value()), "crash(signal:9)");
  EXPECT_EQ(end.failures.at(0).line, 12);
  EXPECT_EQ(end.measures.at(0).value, 12.25);
  EXPECT_FALSE(end.trials.at(0).ok);
  EXPECT_EQ(end.trials.at(0).devices.at(1).role, "target");
  EXPECT_EQ(end.trials.at(0).devices.at(1).device, "xpu-sim:1");
  EXPECT_FALSE(json::parse(to_json_line(AttemptEnded{})).contains("trials"));
  EXPECT_EQ(end.at_ms, 1'000'000'000'000);
}

TEST(EventsJson, MissingValuesRoundTrip) {
  const auto end = std::get<AttemptEnded>(**parse_json_line(to_json_line(AttemptEnded{})));
  EXPECT_EQ(end.exit_code, std::nullopt);
  EXPECT_EQ(end.exit_signal, std::nullopt);
  const auto plan = std::get<RunPlanned>(**parse_json_line(to_json_line(RunPlanned{})));
  EXPECT_FALSE(plan.sim);
}

TEST(EventsJson, CommandLineBytesRoundTrip) {
  RunPlanned plan;
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
  plan.command_line = {"proctor", "", bytes, "\\xFF\\", "\x1b[31mred"};
  plan.directory = "/caf\xe9";
  plan.restrictions = Narrowed{.options = {}, .variables = {NarrowingVariable{.value = bytes}}};
  const std::string line = to_json_line(plan);
  const auto back = std::get<RunPlanned>(**parse_json_line(line));
  EXPECT_EQ(back.command_line, plan.command_line);
  EXPECT_EQ(back.directory, plan.directory);
  EXPECT_EQ(back.restrictions.variables.at(0).value, bytes);
  EXPECT_EQ(to_json_line(back), line);
  plan.command_line = {"proctor", "\\xFF\n", "caf\xc3\xa9"};
  EXPECT_FALSE(json::parse(to_json_line(plan)).contains("command_line_bytes")) << "it is readable as it is";
  EXPECT_EQ(std::get<RunPlanned>(**parse_json_line(to_json_line(plan))).command_line, plan.command_line);
}

TEST(EventsJson, EscapesInvalidUtf8InText) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  bytes += "\xed\xa0\x80 \xe2\x82";
  const auto back = parse_json_line(to_json_line(Warning{WarningWord::in_text(bytes), bytes}));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_THAT(std::get<Warning>(**back).text, HasSubstr("\\xED\\xA0\\x80 \\xE2\\x82"));
}

TEST(EventsJson, NonFiniteNumbersRoundTrip) {
  AttemptEnded end;
  end.measures = {{"nan", std::numeric_limits<double>::quiet_NaN(), "", 1, 0},
                  {"inf", std::numeric_limits<double>::infinity(), "", 1, 0},
                  {"-inf", -std::numeric_limits<double>::infinity(), "", 1, 0}};
  const auto back = std::get<AttemptEnded>(**parse_json_line(to_json_line(end)));
  EXPECT_TRUE(std::isnan(back.measures.at(0).value));
  EXPECT_EQ(back.measures.at(1).value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(back.measures.at(2).value, -std::numeric_limits<double>::infinity());
}

TEST(EventsJson, IgnoresUnknownTypesAndKeys) {
  const auto unknown = parse_json_line(R"({"type":"telemetry","x":1})");
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(*unknown);

  const auto sparse = parse_json_line(
      R"({"type":"attempt_ended","case":"a","new_key":[{}],"attempt":"two","at_ms":1e3,"exit_code":"x",)"
      R"("repeat":99999999999,"output":7,"marks":["leaky",3],"failures":[{"line":-1}]})");
  ASSERT_TRUE(sparse);
  const auto& end = std::get<AttemptEnded>(**sparse);
  EXPECT_EQ(end.case_id, "a");
  EXPECT_EQ(end.attempt, 1);
  EXPECT_EQ(end.repeat, 1);
  EXPECT_EQ(end.exit_code, std::nullopt);
  EXPECT_EQ(end.failures.at(0).line, -1);
  EXPECT_EQ(end.marks.at(0), Mark::kLeaky);
}

TEST(EventsJson, RejectsPlanWithoutNarrowedOrInputs) {
  for (const std::string key : {"restrictions", "inputs"}) {
    json damaged = json::parse(to_json_line(full_plan()));
    damaged.erase(key);
    const auto event = parse_json_line(damaged.dump());
    ASSERT_FALSE(event) << key;
    EXPECT_EQ(event.error().what, "read a journal record: it is damaged: the plan has no `" + key + "`");
  }
}

TEST(EventsJson, UnknownOutcomeBecomesError) {
  const auto record = parse_json_line(R"({"type":"case_ended","verdict":{"outcome":"great","reason":""}})");
  EXPECT_EQ(std::get<CaseEnded>(**record).verdict,
            (Verdict{Outcome::kError, {Reason::kUnknownOutcome, "great"}}));
}

TEST(EventsJson, RejectsInvalidRecord) {
  for (const char* line :
       {"", " ", "{", "{}", "[]", "null", "7", "\"type\"", R"({"type":7})", "{\"type\":\"warning\"}x",
        R"({"type":"warning","text":"cut of)", "\xff", "{\"type\":\"warn\xff\"}"}) {
    EXPECT_FALSE(parse_json_line(line)) << line;
  }
  EXPECT_FALSE(parse_json_line(std::string(100'000, '[')));
  for (const std::string head : {R"({"v":)", R"({"type":"warning","v":)", R"({"type":"warning","text":)"}) {
    const auto event = parse_json_line(head + std::string(100'000, '[') + std::string(100'000, ']') + "}");
    ASSERT_FALSE(event) << head;
    EXPECT_EQ(event.error().what, "read a journal record: it has values within values, more than 100 deep");
  }
}

TEST(EventsJson, EveryTruncationIsAnError) {
  for (const Event& event : all_events()) {
    const std::string line = to_json_line(event);
    for (std::size_t length = 0; length < line.size(); ++length) {
      ASSERT_FALSE(parse_json_line(line.substr(0, length))) << line.substr(0, length);
    }
  }
}

}  // namespace
}  // namespace proctor
