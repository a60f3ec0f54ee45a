#include "reports/resolve/test_journal.h"

#include <fstream>

#include "harness/journal/journal_chain.h"
#include "harness/testing/child.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::testing_support {

RunPlanned plan_of(std::vector<PlannedCase> cases) {
  RunPlanned plan;
  plan.run_id = "20260131T120000Z-ab12";
  plan.started = "2026-01-31T12:00:00Z";
  plan.proctor_version = "0.1.0";
  plan.command_line = {"proctor", "run", "memory", "--backend", "xpu", "--filter", "Copy*", "--out=here"};
  plan.directory = "/home/user/my project";
  plan.hostname = "gpu-07";
  plan.plan_digest = std::string(64, 'a');
  plan.containment = {"pidns", {"a memory limit"}, {"delegate a cgroup to this user"}};
  plan.devices = {{"xpu:0000:03:00.0", "xpu", "Card", false}};
  plan.stack = {{"xpu.driver", "22.43.24595.41"}};
  plan.cases = std::move(cases);
  return plan;
}

PlannedCase planned(const std::string& id, const std::string& kind) {
  return {id, "memory", "xpu", kind, "proctor.memory.xpu", id.substr(id.find('/') + 1), 1, 1, 60'000};
}

AttemptStarted started(const std::string& id, int attempt, int repeat) {
  return {id,
          attempt,
          repeat,
          100,
          {"xpu:0000:03:00.0"},
          "logs/0123456789abcdef." + std::to_string(attempt) + ".log"};
}

AttemptEnded ended(const std::string& id, Verdict verdict, int attempt, int repeat) {
  AttemptEnded end;
  end.case_id = id;
  end.attempt = attempt;
  end.repeat = repeat;
  end.at_ms = 1350;
  end.duration_ms = 1250;
  end.verdict = std::move(verdict);
  end.output.log = started(id, attempt, repeat).log;
  return end;
}

CaseEnded concluded(const std::string& id, Verdict verdict, Marks marks) {
  return {id, std::move(verdict), std::move(marks), "", ""};
}

ResolvedRun resolved_of(const std::vector<Event>& events) {
  RunResolver run;
  for (const Event& event : events) run.on(event);
  return run.take();
}

std::string journal_text(const std::vector<Event>& events) {
  std::string text;
  JournalChain chain;
  for (const Event& event : events) text += chain.append(to_json_line(event));
  return text;
}

std::string awkward_text() {
  std::string text =
      "]]> & <b a=\"1\" b='2'> \x1b[31mred\x1b[0m | `code` ``` **bold** # \xed\xa0\x80 \xe2\x82 ";
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  return text + "\r\n\tend";
}

std::vector<Event> rich_journal() {
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {RunPlanned{}};
  const auto add = [&](const std::string& name, const Verdict& verdict, const std::string& kind = "proctor") {
    const std::string id = "memory.xpu/" + name;
    cases.push_back(planned(id, kind));
    events.push_back(started(id));
    events.push_back(ended(id, verdict));
    events.push_back(concluded(id, verdict));
    return id;
  };
  for (const Outcome outcome : kAllOutcomes) {
    add("Every." + std::string(to_string(outcome)),
        {outcome, reason_in_words("reason:" + std::string(to_string(outcome)))});
  }
  add("Foreign.xpass", {Outcome::kXpass, ""}, "pytest");
  for (const std::string& text : {awkward_text(), std::string(1 << 17, 'x'), std::string()}) {
    const std::string id =
        add("Text." + std::to_string(text.size()), {Outcome::kFail, reason_in_words(text)});
    auto& end = std::get<AttemptEnded>(events[events.size() - 2]);
    end.failures = {{"M-1", text, "suites/memory/copy.cc", 112, text, "0x00", "xpu:0000:03:00.0"}, {}};
    end.measures = {{text, 1.5, "GB/s", 3, 0.1}};
    end.termination = {15, true, false, 12, {{4711, text}}};
    end.output = {end.output.log, text.size() + 70'000,   5,
                  true,           text.substr(0, 65'536), text.substr(0, 65'536)};
    end.evidence = {text, {text, "native: ioctl"}, 812, {text, text, 4096}, StackFrame{text, text}};
    end.telemetry = {{{text, text, text, 1, 0.5, 1.5, 1.25, 1.5, 1.0, {text}, text}},
                     {{text, {{"power", "W", "", 0, {}, {}, {}, {}, {}, {}, text}}}}};
    end.last_step = text;
    end.diagnosis = Diagnosis{.rule = "xid:79",
                              .error_class = "device_lost",
                              .problem = FailureOwner::kMachine,
                              .culprit = Culprit{"device", text, text},
                              .severity = Gravity::kFatal,
                              .where = "kernel_log",
                              .line = text,
                              .next = text + "Reboot.",
                              .source = text,
                              .others = {text},
                              .gaps = {text}};
    end.marks = {Mark::kLeaky};
    end.rule = end.source = text;
    end.severity = SeverityWord::in_text(text);
    auto& conclusion = std::get<CaseEnded>(events.back());
    conclusion.note = text;
    conclusion.known_failure = text;
    conclusion.known_failure_location = text;
  }
  const std::string flaky = "memory.xpu/Flaky.Case";
  cases.push_back(planned(flaky));
  events.push_back(started(flaky, 1));
  events.push_back(ended(flaky, {Outcome::kCrash, {Reason::kSignal, 11}}, 1));
  events.push_back(started(flaky, 2));
  events.push_back(ended(flaky, {Outcome::kPass, ""}, 2));
  events.push_back(concluded(flaky, {Outcome::kPass, ""}, {Mark::kFlaky}));

  const std::string thrice = "memory.xpu/Fails.Thrice";
  cases.push_back(planned(thrice));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    events.push_back(started(thrice, attempt));
    events.push_back(
        ended(thrice, {attempt == 2 ? Outcome::kTimeout : Outcome::kCrash, {Reason::kSignal, 6}}, attempt));
  }
  events.push_back(concluded(thrice, {Outcome::kCrash, {Reason::kSignal, 6}}));

  cases.push_back(planned("memory.xpu/Never.Started"));
  cases.push_back(planned("memory.xpu/Was.Running"));
  events.push_back(started("memory.xpu/Was.Running"));
  PlannedCase foreign{"attention/tests/t.py::test_big[fp16-128]",
                      "attention",
                      "none",
                      "pytest",
                      "tests.t",
                      "test_big[fp16-128]",
                      0,
                      1,
                      1000};
  cases.push_back(foreign);
  foreign.id = "attention/tests/u.py::test_big[fp16-128]";
  cases.push_back(foreign);  // same classname and name

  RunPlanned plan = plan_of(std::move(cases));
  plan.stack.emplace_back(awkward_text(), awkward_text());
  plan.stack.emplace_back("xpu.driver", "a second value of one name");
  plan.subject.commit = {awkward_text(), awkward_text(), ""};
  plan.subject.dirty = {"true", "git status", ""};
  plan.subject.branch = {{}, "", awkward_text()};
  plan.subject.checkout = "/home/user/my project";
  plan.suites = {{"memory", "xpu", "proctor", {awkward_text()}, awkward_text(), 4711, ""},
                 {"attention", "none", "pytest", {"pytest"}, "/usr/bin/pytest", 12, ""},
                 {"gone", "none", "command", {"gone"}, "", 0, awkward_text()}};
  plan.known_failures = KnownFailuresFile{awkward_text(),
                                          std::string(64, 'a'),
                                          {{"known.toml:1",
                                            {awkward_text()},
                                            awkward_text(),
                                            awkward_text(),
                                            awkward_text(),
                                            "2026-01-01",
                                            "2026-03-01"},
                                           {awkward_text(), {}, "", "", "", "", awkward_text()}}};
  plan.size = "ci";
  events.front() = std::move(plan);
  events.push_back(CasePast{thrice, 9, 2, 1, awkward_text(), awkward_text()});
  events.push_back(DeviceHealth{"xpu-sim:0", HealthFact::kProbeFailed, thrice, 1500, 0, 0, awkward_text()});
  events.push_back(
      DeviceHealth{awkward_text(), HealthFact::kDrained, thrice, 1500, 250, 1 << 20, awkward_text()});
  events.push_back(HardwareEvidence{"xpu:0000:03:00.0",
                                    "start",
                                    "0000:03:00.0",
                                    "8086",
                                    "e20b",
                                    "xe",
                                    awkward_text(),
                                    "ab12",
                                    "0f-00",
                                    true,
                                    {awkward_text()},
                                    3});
  events.push_back(ProgramRead{"/usr/bin/pytest", std::string(64, 'b'), ""});
  events.push_back(Warning{WarningCode::kJournalNotWritten, awkward_text()});
  events.push_back(StopRequested{0, StopCause::kDeadline, 2000});
  events.push_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
  return events;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string complaint_of(const std::vector<std::string>& command) {
  const Ended done = run_child(command);
  return done.exit_code == 0 ? ""
                             : "failed: " + command.front() + "\n" + (done.out + done.err).substr(0, 4000);
}

std::filesystem::path our_schema(const std::string& name) {
  return std::filesystem::path(PROCTOR_SOURCE_DIR) / "reports/schema" / name;
}

std::filesystem::path published_schemas() {
  return std::filesystem::path(PROCTOR_SOURCE_DIR) / "../shared/data/schemas";
}

std::string xml_complaint(const std::filesystem::path& schema, const std::filesystem::path& xml) {
  return complaint_of({"xmllint", "--noout", "--nonet", "--schema", schema.string(), xml.string()});
}

// The validator process is started once for all reports of this program, because its start takes longer than a check.
std::string report_json_complaint(const std::filesystem::path& json, bool closed) {
  static TalkingChild judge(
      {"/usr/bin/python3", "-W", "ignore", "-B", our_schema("validate_report.py").string(), "--lines"});
  const std::string question = (closed ? "closed " : "") + json.string();
  judge.say(question);
  const auto answer = judge.line();
  if (!answer) return "validate_report.py ended without an answer to: " + question;
  return *answer == "\"\"" ? "" : *answer;
}

}  // namespace proctor::testing_support
