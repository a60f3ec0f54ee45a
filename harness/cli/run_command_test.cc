// Tests `proctor run` as a process: its output, the files that it leaves, and its end after an interruption.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "harness/base/json.h"
#include "harness/base/unique_fd.h"
#include "harness/base/words.h"
#include "harness/cli/run_test_support.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// A suite of kind `proctor` in shell: the protocol needs no library.
constexpr const char* kShellSuite = R"(#!/bin/sh
say() { echo "{\"v\":1,\"case\":\"$name\",$1}" >&"$PROCTOR_EVENTS_FD"; }
case "$1" in
--proctor-list)
  for n in A.Pass A.Fail A.Skip A.Quiet; do
    echo "{\"v\":1,\"event\":\"case\",\"case\":\"$n\"}" >&"$PROCTOR_EVENTS_FD"
  done
  exit 0 ;;
esac
name=${1#--proctor-case=}
say '"event":"start","t_ns":1,"rule":"V-1"'
case $name in
A.Pass) say '"event":"end","result":"pass"' ;;
A.Fail) say '"event":"fail","message":"wrong answer","expected":"1","got":2'; say '"event":"end","result":"fail"'; exit 1 ;;
A.Skip) say '"event":"skip","reason":"needs:devices>=2"'; say '"event":"end","result":"skip"' ;;
A.Quiet) echo PASS ;;
esac
)";

class Run : public ProctorTest {
 protected:
  // Returns the outcomes by id, as "outcome(reason)". The test fails if an id occurs twice.
  std::map<std::string, std::string> outcomes(const std::string& run_dir = "out") {
    std::map<std::string, std::string> found;
    const json report = json::parse(read(run_dir + "/report.json"), nullptr, false);
    if (!report.is_object()) {
      ADD_FAILURE() << "no report.json in " << run_dir;
      return found;
    }
    for (const auto& entry : report["cases"]) {
      const std::string reason = entry["reason"];
      const std::string text = std::string(entry["outcome"]) + (reason.empty() ? "" : "(" + reason + ")");
      EXPECT_TRUE(found.emplace(entry["id"], text).second) << entry["id"];
    }
    return found;
  }

  json report() { return json::parse(read("out/report.json"), nullptr, false); }

  // Writes a suite for each command: its name, and the script for /bin/sh.
  void write_commands(const std::vector<std::pair<std::string, std::string>>& commands) {
    std::string config;
    for (const auto& [name, script] : commands) {
      config +=
          "[suite." + name + "]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", '" + script + "']\n";
    }
    write("proctor.toml", config);
  }

  Ended run(std::vector<std::string> arguments, const ChildOptions& options = {}) {
    arguments.insert(arguments.begin(), {"run", "--out", "out"});
    return proctor(arguments, options);
  }
};

TEST_F(Run, ReportsOutcomesOfProctorSuite) {
  write("suite.sh", kShellSuite, true);
  write("proctor.toml", "[suite.shell]\nkind = \"proctor\"\ncommand = [\"./suite.sh\"]\n");
  const Ended ended = run({});
  EXPECT_EQ(ended.exit_code, 1) << ended.out << ended.err;
  const std::map<std::string, std::string> expected = {{"shell.none/A.Pass", "pass"},
                                                       {"shell.none/A.Fail", "fail"},
                                                       {"shell.none/A.Skip", "skip(needs:devices>=2)"},
                                                       {"shell.none/A.Quiet", "error(no_result)"}};
  EXPECT_EQ(outcomes(), expected);
  EXPECT_THAT(ended.out, HasSubstr("owner:         code"));
  EXPECT_THAT(ended.out, HasSubstr("wrong answer"));
  EXPECT_THAT(ended.out, HasSubstr("--case shell.none/A.Fail"));
  EXPECT_TRUE(fs::exists(path("out/junit.xml")));
  EXPECT_TRUE(fs::exists(path("out/junit/shell.none.xml")));
  EXPECT_TRUE(fs::exists(path("out/summary.md")));
  EXPECT_FALSE(fs::exists(path("out/run.json"))) << "nothing is left to sweep";
}

// The case must fail with a code problem, not the runner or the machine.
TEST_F(Run, AttributesInvalidEventsToCode) {
  write("suite.sh", R"sh(#!/bin/sh
say() { echo "$1" >&"$PROCTOR_EVENTS_FD"; }
many() { printf '%030000d' 0 | tr 0 "$1"; }
case "$1" in
--proctor-list)
  for n in A.Deep A.Noise A.Pass; do say "{\"v\":1,\"event\":\"case\",\"case\":\"$n\"}"; done
  exit 0 ;;
esac
name=${1#--proctor-case=}
case $name in
A.Deep) say "{\"v\":1,\"case\":\"$name\",\"event\":\"step\",\"name\":$(many '[')$(many ']')}" ;;
A.Noise) say "PASS" ;;
esac
say "{\"v\":1,\"case\":\"$name\",\"event\":\"end\",\"result\":\"pass\"}"
)sh",
        true);
  write("proctor.toml", "[suite.shell]\nkind = \"proctor\"\ncommand = [\"./suite.sh\"]\n");
  const Ended ended = run({});
  EXPECT_EQ(ended.exit_code, 1) << ended.out << ended.err;
  const std::map<std::string, std::string> expected = {{"shell.none/A.Deep", "error(protocol)"},
                                                       {"shell.none/A.Noise", "error(protocol)"},
                                                       {"shell.none/A.Pass", "pass"}};
  EXPECT_EQ(outcomes(), expected);
  EXPECT_THAT(ended.out, HasSubstr("owner:         code"));
  EXPECT_THAT(ended.out, Not(HasSubstr("owner:         machine")));
}

// Later readers of the journal must report what they ignore.
TEST_F(Run, ReadersSurviveTooDeepJournalLine) {
  write_commands({{"one", "true"}});
  ASSERT_EQ(run({}).exit_code, 0);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  write("out/journal.jsonl", read("out/journal.jsonl") + "{\"v\":" + deep + "}\n{\"type\":" + deep + "}\n");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"finish", "out"},
           {"report", "render", "out"},
           {"report", "render", "--format", "page", "out", "out", "--out", "p.html"},
           {"report", "render", "--format", "github", "out"},
           {"report", "diff", "out", "out"},
           {"history", "add", "h.sqlite", "out"},
           {"rerun", "out"}}) {
    const Ended ended = proctor(words);
    EXPECT_EQ(ended.signal, 0) << words[0] << " " << words[1] << ended.out << ended.err;
  }
  EXPECT_THAT(read("out/summary.md"), HasSubstr("more than 100 deep"));
}

TEST_F(Run, RunsGoogleTestBinaryWithoutConfig) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const Ended ended = run({"--filter", "*Elide.*", "--junit", "copy.xml", "--", self});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("gtest"));
  EXPECT_THAT(ended.out, HasSubstr("1 planned: 1 passed"));
  EXPECT_EQ(read("copy.xml"), read("out/junit.xml"));
}

TEST_F(Run, DefaultDirectoryHasALatestLink) {
  const Ended ended = proctor({"run", "--", "/bin/true"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_TRUE(fs::exists(path("proctor-out/latest/report.json")));
}

TEST_F(Run, DryRunStartsNothing) {
  write_commands({{"one", "echo x > started"}});
  const Ended ended = proctor({"run", "--dry-run"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.out, HasSubstr("one/"));
  EXPECT_FALSE(fs::exists(path("started")));
  EXPECT_FALSE(fs::exists(path("proctor-out")));
}

TEST_F(Run, ListsCasesAsJson) {
  write_commands({{"one", "true"}, {"two", "true"}});
  const json list = json::parse(proctor({"list", "--json"}).out, nullptr, false);
  ASSERT_TRUE(list.is_object());
  EXPECT_EQ(list["schema_version"], 1);
  EXPECT_EQ(list["cases"].size(), 2u);
  EXPECT_EQ(list["cases"][0]["kind"], "command");
}

TEST_F(Run, EveryPrintedPlaceExists) {
  write_commands({{"silent", "false"}, {"hangs", "exec sleep 600"}, {"killed", "kill -9 $$"}});
  const Ended ended = run({"--timeout", "1s"});
  EXPECT_EQ(ended.exit_code, 1) << ended.out << ended.err;
  std::vector<std::string> places;
  for (const std::string_view line : lines_of(ended.out)) {
    if (!line.starts_with("where to look: ")) continue;
    std::string_view rest = line.substr(line.find(':') + 2);
    for (auto end = rest.find(" · "); !rest.empty(); end = rest.find(" · ")) {
      places.emplace_back(rest.substr(0, end));
      rest = end == std::string_view::npos ? "" : rest.substr(end + std::string_view(" · ").size());
    }
  }
  EXPECT_THAT(places, testing::Contains("out/logs/silent/sh.1.log"));
  EXPECT_GE(places.size(), 4u) << "three logs, and the evidence of a timeout";
  for (const std::string& place : places) EXPECT_TRUE(fs::is_regular_file(path(place))) << place;
  EXPECT_EQ(read("out/logs/silent/sh.1.log"), "-------- no output --------\n");
  const Ended log = proctor({"log", "silent/sh", "out"});
  EXPECT_EQ(log.exit_code, 0);
  EXPECT_EQ(log.out, "");
  EXPECT_THAT(log.err, HasSubstr("silent/sh printed nothing"));
}

TEST_F(Run, SilentPassedCaseHasNoLog) {
  write_commands({{"good", "true"}});
  EXPECT_EQ(run({}).exit_code, 0);
  EXPECT_FALSE(fs::exists(path("out/logs/good/sh.1.log")));
  EXPECT_EQ(report()["cases"][0]["attempts"][0]["output"]["log"], "");
  EXPECT_THAT(proctor({"log", "good/sh", "out"}).err, HasSubstr("good/sh printed nothing"));
}

TEST_F(Run, FlakyPassFailsTheRun) {
  write_commands({{"flaky", "test -e seen || { touch seen; exit 1; }"}});
  const Ended ended = run({"--retries", "2"});
  EXPECT_EQ(ended.exit_code, 1) << ended.out << ended.err;
  EXPECT_THAT(
      ended.out,
      testing::HasSubstr("flaky: 1 of 1 executed case, over the policy (fail): --flaky pass:1% allows them"));
  const json entry = report()["cases"][0];
  EXPECT_EQ(entry["outcome"], "pass");
  EXPECT_EQ(entry["marks"], json::array({"flaky"}));
  EXPECT_EQ(entry["attempts"].size(), 2u);
}

TEST_F(Run, RepeatsUntilItFails) {
  write_commands({{"third", "echo x >> runs; test $(wc -l < runs) -lt 3"}});
  const Ended ended = run({"--repeat", "50,until-fail"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(report()["cases"][0]["attempts"].size(), 3u);
}

TEST_F(Run, FailFastStartsNothingMore) {
  write_commands({{"a", "exit 1"}, {"b", "touch b_ran"}, {"c", "touch c_ran"}});
  const Ended ended = run({"--jobs", "1", "--fail-fast"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_FALSE(fs::exists(path("b_ran")) || fs::exists(path("c_ran")));
  EXPECT_EQ(outcomes()["c/sh"], "notrun(fail_fast)") << read("out/report.json");
}

TEST_F(Run, DeadlineStopsRunningAndPendingCases) {
  write_commands({{"a", "exec sleep 1000"}, {"b", "true"}});
  const Ended ended = run({"--jobs", "1", "--deadline", "300ms"});
  EXPECT_EQ(ended.exit_code, 3) << ended.out << ended.err;
  for (const auto& [id, outcome] : outcomes()) EXPECT_EQ(outcome, "notrun(run_limit)") << id;
}

TEST_F(Run, KnownFailureIsExpectedUntilFixed) {
  write_commands({{"broken", "exit 3"}, {"mended", "true"}});
  write("known.toml",
        "[[known_failure]]\ncase = \"*\"\nreason = \"exit:3\"\nsource = \"https://example.org/1\"\n"
        "expires = 2999-01-01\n");
  const Ended ended = run({"--known-failures", "known.toml"});
  auto found = outcomes();
  EXPECT_THAT(found["broken/sh"], testing::StartsWith("xfail")) << ended.out << ended.err;
  EXPECT_THAT(found["mended/sh"], testing::StartsWith("xpass"));
}

TEST_F(Run, MissingDevicesSuggestDoctorCommand) {
  write("proctor.toml",
        "[suite.gpu]\nkind = \"command\"\nbackend = \"cuda\"\ngpus = 1\ncommand = [\"/bin/true\"]\n");
  const Ended ended = run({});
  EXPECT_EQ(ended.exit_code, 3) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("proctor doctor"));
  EXPECT_THAT(outcomes()["gpu/true"], testing::StartsWith("skip(no_")) << read("out/report.json");
}

TEST_F(Run, ContinuesWithClosedStdout) {
  const Ended ended = run({"--", "/bin/true"}, {.stdout_fd = -1});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("stdout"));
  EXPECT_EQ(outcomes()["true/true"], "pass");
}

TEST_F(Run, ContinuesWithFullStdout) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const Ended ended = run({"--", "/bin/true"}, {.stdout_fd = full.get()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("No space left on device"));
  EXPECT_THAT(read("out/report.json"), HasSubstr("stdout_not_written"));
}

TEST_F(Run, ExitsBySignalAfterWritingReports) {
  write_commands({{"a", "exec sleep 1000"}, {"b", "exec sleep 1000"}, {"c", "exec sleep 1000"}});
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    fs::remove_all(path("out"));
    const auto send = [&](pid_t pid) {
      EXPECT_TRUE(wait_for("out/journal.jsonl", "attempt_started", 2));
      ::kill(pid, signal);
    };
    const Ended ended = run({"--jobs", "2"}, {.while_running = send});
    EXPECT_EQ(ended.signal, signal) << ended.out << ended.err;
    const auto found = outcomes();
    EXPECT_EQ(found.size(), 3u);
    for (const auto& [id, outcome] : found) EXPECT_EQ(outcome, "notrun(interrupted)") << id;
  }
}

TEST_F(Run, SecondSignalKillsCaseIgnoringFirst) {
  write_commands({{"stubborn", "trap \"\" TERM INT; echo ready > ready; while :; do sleep 1; done"}});
  write("proctor.toml", read("proctor.toml") + "grace = \"1h\"\n");
  const auto send = [&](pid_t pid) {
    EXPECT_TRUE(wait_for("ready", "ready"));
    ::kill(pid, SIGINT);
    EXPECT_TRUE(wait_for("out/journal.jsonl", "stop_requested"));
    ::kill(pid, SIGINT);
  };
  const Ended ended = run({}, {.while_running = send});
  EXPECT_EQ(ended.signal, SIGINT) << ended.out << ended.err;
  const json termination = report()["cases"][0]["attempts"][0]["termination"];
  EXPECT_EQ(termination["forced"], true) << read("out/report.json");
}

// A command that hangs and prints would run as long as the job and leave no report.
TEST_F(Run, WarnsInCiAboutUnlimitedCommand) {
  write_commands({{"a", "true"}});
  const std::string warning = "a/sh has no time limit, and the run has no deadline";
  const auto said = [&](const std::vector<std::string>& words, const std::vector<std::string>& env) {
    const Ended ended = proctor(words, {.env = env});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out + ended.err;
  };
  EXPECT_THAT(said({"run", "--out", "ci"}, {"CI=true"}), HasSubstr(warning));
  EXPECT_THAT(said({"run", "--out", "deadline", "--deadline", "9m"}, {"CI=true"}), Not(HasSubstr(warning)));
  EXPECT_THAT(said({"run", "--out", "limit", "--timeout", "9m"}, {"CI=true"}), Not(HasSubstr(warning)));
  EXPECT_THAT(said({"run", "--out", "here"}, {}), Not(HasSubstr(warning)));
  EXPECT_THAT(said({"exec", "--out", "exec", "--", "true"}, {"CI=true"}),
              HasSubstr("true has no time limit"));
}

TEST_F(Run, DryRunPrintsWarnings) {
  write("proctor.toml",
        "[suite.a]\nkind = \"command\"\ncommand = [\"true\"]\n[[override]]\nmatch = \"b/*\"\nretries = 1\n");
  const Ended ended = proctor({"run", "--dry-run"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("warning: proctor.toml:4: override for `b/*` matches no case"));
}

// No signal arrives if only the parent shell is killed, but the death of the parent is detected.
TEST_F(Run, ParentDeathUnderCiStopsRun) {
  write_commands({{"a", "exec sleep 1000"}});
  const auto shoot_shell = [&](pid_t shell) {
    EXPECT_TRUE(wait_for("out/journal.jsonl", "attempt_started"));
    ::kill(shell, SIGKILL);
  };
  const Ended ended = run_child({"/bin/sh", "-c", program() + " run --out out; true"},
                                {.env = {"CI=true"}, .while_running = shoot_shell});
  EXPECT_EQ(ended.signal, SIGKILL);
  ASSERT_TRUE(wait_for("out/report.json", "\"interrupted\"")) << read("out/journal.jsonl");
  EXPECT_THAT(read("out/journal.jsonl"), HasSubstr("parent_died"));
}

TEST_F(Run, JournalOfKilledRunRendersEveryReport) {
  write_commands({{"a", "true"}, {"b", "exec sleep 1000"}, {"c", "true"}});
  const auto shoot = [&](pid_t pid) {
    EXPECT_TRUE(wait_for("out/journal.jsonl", "attempt_started", 2));
    ::kill(pid, SIGKILL);
  };
  // A concurrent run of another test removes leftovers of dead runners in /tmp, so this test uses another directory.
  const Ended ended = run({"--jobs", "1"}, {.env = {"TMPDIR=/var/tmp"}, .while_running = shoot});
  EXPECT_EQ(ended.signal, SIGKILL);
  const std::string scratch = json::parse(read("out/run.json"), nullptr, false)["scratch"][0];
  EXPECT_TRUE(fs::exists(scratch));

  EXPECT_EQ(proctor({"report", "render", "out"}).exit_code, 0);
  auto found = outcomes();
  EXPECT_EQ(found["a/sh"], "pass");
  EXPECT_EQ(found["b/sh"], "notrun(interrupted)");
  EXPECT_EQ(found.size(), 3u);

  const Ended finished = proctor({"finish", "out"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(scratch));
  EXPECT_FALSE(fs::exists(scratch));
  EXPECT_FALSE(fs::exists(path("out/run.json")));
}

TEST_F(Run, FinishRejectsLivingRun) {
  write_commands({{"a", "exec sleep 1000"}});
  const auto try_finish = [&](pid_t pid) {
    EXPECT_TRUE(wait_for("out/journal.jsonl", "attempt_started"));
    EXPECT_EQ(testing_support::run_child({program(), "finish", path("out")}).exit_code, 2);
    EXPECT_EQ(::kill(pid, 0), 0);
    ::kill(pid, SIGTERM);
  };
  EXPECT_EQ(run({}, {.while_running = try_finish}).signal, SIGTERM);
}

TEST_F(Run, NoCaptureAndDebuggerUseTerminal) {
  write_commands({{"loud", "echo from the case"}});
  const Ended ended = run({"--no-capture"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("from the case\n"));
  fs::remove_all(path("out"));
  const Ended debugged = run({"--debugger", "/usr/bin/env 'TOOL=the tool'"});
  EXPECT_EQ(debugged.exit_code, 0) << debugged.out << debugged.err;
}

TEST_F(Run, ColoursFollowEnvironmentVariables) {
  EXPECT_THAT(run({"--", "/bin/true"}).out, Not(HasSubstr("\033[")));
  fs::remove_all(path("out"));
  const ChildOptions forced{.env = {"CLICOLOR_FORCE=1"}};
  EXPECT_THAT(run({"--", "/bin/true"}, forced).out, HasSubstr("\033["));
  fs::remove_all(path("out"));
  const ChildOptions neither{.env = {"CLICOLOR_FORCE=1", "NO_COLOR=1"}};
  EXPECT_THAT(run({"--", "/bin/true"}, neither).out, Not(HasSubstr("\033[")));
}

}  // namespace
}  // namespace proctor::cli
