// Tests bad input of every kind: exit code 2, a message with value and place that suggests the nearest name, and no
// attempt.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "harness/cli/run_test_support.h"

namespace proctor::cli {
namespace {

using testing::HasSubstr;

class BadInput : public ProctorTest {
 protected:
  void SetUp() override {
    ProctorTest::SetUp();
    write("proctor.toml", "[suite.maths]\nkind = \"command\"\ncommand = [\"/bin/true\"]\n");
  }

  void refuses(const std::vector<std::string>& arguments, const std::vector<std::string>& mentioned,
               const ChildOptions& options = {}) {
    const Ended ended = proctor(arguments, options);
    const std::string all = testing::PrintToString(arguments) + "\n" + ended.out + ended.err;
    EXPECT_EQ(ended.exit_code, 2) << all;
    for (const auto& part : mentioned) EXPECT_THAT(ended.err, HasSubstr(part)) << all;
    EXPECT_FALSE(std::filesystem::exists(path("proctor-out"))) << "something was started: " << all;
  }
};

TEST_F(BadInput, RejectsBadOptions) {
  refuses({"run", "--timout", "5s"}, {"--timout", "`--timeout`"});
  refuses({"run", "--timout=5s"}, {"--timout", "`--timeout`"});
  refuses({"list", "--jsno"}, {"--jsno", "`--json`"});
  refuses({"rnu"}, {"rnu", "`run`"});
  refuses({}, {"needs a command", "Commands: run, exec, ", "`proctor --help`"});
  refuses({"stack"}, {"needs a command", "Commands: capture, "});
  refuses({"run", "--retry", "2"}, {"--retry", "`--retries`"});
  refuses({"run", "-n", "4"}, {"`-n`", "`--jobs`", "behind `--`"});
  refuses({"run", "-n4"}, {"`-n4`", "`--jobs`"});
  refuses({"run", "-k", "x", "--", "/bin/true"}, {"`-k`", "`--filter`"});
  refuses({"run", "-x"}, {"`-x`", "`--fail-fast`"});
  refuses({"run", "--gtest_filter=A.*"}, {"--gtest_filter", "`--filter`"});
  refuses({"devices", "-x"}, {"`-x`", "See `proctor devices --help`"});
  refuses({"help", "rnu"}, {"rnu", "`run`"});
  refuses({"explain", "Xid", "79"}, {"`xid:79`"});
  refuses({"run", "--jobs", "many"}, {"--jobs", "many"});
  refuses({"run", "--jobs", "0"}, {"--jobs"});
  refuses({"run", "--repeat", "-1"}, {"--repeat"});
  refuses({"run", "--filter"}, {"--filter"});
  refuses({"finish"}, {"needs either a run directory or --slurm-job ID"});
  refuses({"run", "--"}, {"`--`"});
  refuses({"finish", "x", "--", "y"}, {"finish", "`--`"});
  refuses({"run", "--repeat", "until-fail"}, {"--repeat until-fail", "100,until-fail", "--deadline"});
  refuses({"run", "--containment", "cgruop"}, {"cgruop", "`cgroup`"});
  refuses({"run", "--containment", ">=cgruop"}, {">=cgruop", "`cgroup`"});
  refuses({"run", "--containment", ">=auto"}, {">=auto", "subreaper"});
  refuses({"run", "--debugger", "gdb 'x"}, {"gdb 'x", "quote"});
}

TEST_F(BadInput, RejectsBadDurations) {
  for (const char* option : {"--timeout", "--grace", "--stall", "--deadline"}) {
    refuses({"run", option, "5"}, {option, "5"});
    refuses({"run", option, "5 parsecs"}, {option, "5 parsecs"});
    refuses({"run", option, "-5s"}, {option, "-5s"});
  }
}

TEST_F(BadInput, RejectsUnknownSelections) {
  refuses({"run", "mahts"}, {"mahts", "`maths`"});
  refuses({"run", "--filter", "*nothing*"}, {"--filter", "*nothing*"});
  refuses({"run", "--case", "maths/ture"}, {"maths/ture", "`maths/true`"});
  refuses({"run", "--exclude", "*nothing*"}, {"--exclude", "*nothing*"});
  refuses({"run", "--label", "slow"}, {"slow"});
  refuses({"run", "--backend", "cdua"}, {"cdua", "`cuda`"});
  refuses({"run", "--backend", "gpu"}, {"gpu", "NVIDIA devices are `cuda`"});
  refuses({"list", "mahts"}, {"mahts", "`maths`"});
}

TEST_F(BadInput, RejectsRunWithoutSuites) {
  std::filesystem::remove(path("proctor.toml"));
  refuses({"run"}, {"No suites here", "no proctor.toml", "`proctor init`", "`proctor run -- COMMAND`"});
  refuses({"run", "--sim", "xpu:1x1", "--dry-run"}, {"No suites here"});
  write("proctor.toml", "[defaults]\nretries = 1\n");
  refuses({"run"}, {"No suites here: proctor.toml has none"});
}

TEST_F(BadInput, RejectsBadConfigurations) {
  write("unknown_key.toml", "[suite.maths]\ncomand = [\"/bin/true\"]\n");
  refuses({"run", "--config", "unknown_key.toml"}, {"unknown_key.toml:2", "comand", "`command`"});
  write("bad_duration.toml", "[suite.maths]\ncommand = [\"/bin/true\"]\ntimeout = \"soon\"\n");
  refuses({"run", "--config", "bad_duration.toml"}, {"bad_duration.toml:3", "soon"});
  write("too_new.toml", "min_version = \"99.0\"\n");
  refuses({"run", "--config", "too_new.toml"}, {"too_new.toml:1", "99.0"});
  write("no_toml.toml", "[suite\n");
  refuses({"run", "--config", "no_toml.toml"}, {"no_toml.toml"});
  refuses({"run", "--config", "absent.toml"}, {"absent.toml"});
  refuses({"run", "--config", directory()}, {directory()});
  refuses({"run", "--profile", "ngihtly"}, {"ngihtly"});
  write("known.toml", "[[known_failure]]\ncaes = \"*\"\n");
  refuses({"run", "--known-failures", "known.toml"}, {"known.toml", "caes", "`case`"});
  refuses({"run", "--known-failures", "absent.toml"}, {"absent.toml"});
}

TEST_F(BadInput, RejectsBadExecutables) {
  refuses({"run", "--", "./no_such_program"}, {"no_such_program"});
  refuses({"run", "--", "no_such_program_on_path"}, {"no_such_program_on_path"});
  write("not_executable", "#!/bin/sh\n");
  refuses({"run", "--", "./not_executable"}, {"not_executable", "chmod +x"});
  write("notes.txt", "no program\n");
  refuses({"run", "--", "./notes.txt"}, {"notes.txt", "neither ELF"});
  EXPECT_THAT(proctor({"run", "--", "./notes.txt"}).err, testing::Not(HasSubstr("chmod")));
  EXPECT_THAT(proctor({"exec", "--out", "one", "--", "./notes.txt"}).err, testing::Not(HasSubstr("chmod")));
  refuses({"run", "--", "true | wc"}, {"is not in PATH", "sh -c 'true | wc'"});
  EXPECT_THAT(proctor({"exec", "--out", "two", "--", "true | wc"}).err, HasSubstr("sh -c 'true | wc'"));
  refuses({"run", "maths", "--", "/bin/true"}, {"maths"});
}

TEST_F(BadInput, RejectsBadSimulations) {
  refuses({"run", "--sim", "xpu:2by2,driver=intel"}, {"xpu:2by2"});
  refuses({"run", "--sim", "xpu:2x2,driver=itnel"}, {"itnel", "intel"});
  refuses({"run", "--sim", "xpu:2x2,drvier=intel"}, {"drvier", "`driver`"});
  refuses({"run", "--sim", "xpu:2x2", "--suite-arg", "size=cii"}, {"cii", "ci"});
  refuses({"run", "--sim", "driver=intel"}, {"no devices"});
}

TEST_F(BadInput, RejectsUnknownProviders) {
  refuses({"run", "--suite-arg", "provider=glo"}, {"glo", "Did you mean `gloo`?"});
  refuses({"list", "--suite-arg", "provider=mpi"}, {"mpi", "gloo, oneccl, nccl"});
  refuses({"run", "--plan", "any.plan", "--suite-arg", "provider=gloo"}, {"--plan", "--suite-arg"});
  refuses({"run", "maths", "--suite-arg", "provider=gloo"}, {"--suite-arg provider=gloo", "collectives"});
}

TEST_F(BadInput, RejectsUnusableOutputPaths) {
  write("file", "x");
  std::filesystem::create_directory(path("full"));
  write("full/file", "x");
  refuses({"run", "--out", "full"}, {"--out", "full", "not empty"});
  refuses({"run", "--out", "file"}, {"--out", "file", "not a directory"});
  refuses({"run", "--out", "file/below"}, {"--out", "file"});
  refuses({"run", "--out", "/proc/below"}, {"--out", "/proc/below"});
  refuses({"run", "--junit", "absent/junit.xml"}, {"--junit", "absent/junit.xml"});
  refuses({"run", "--junit", directory()}, {"--junit"});
  EXPECT_EQ(read("full/file"), "x");
}

TEST_F(BadInput, RejectsUnwritableOutputDirectory) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directory(path("locked"));
  std::filesystem::permissions(path("locked"), std::filesystem::perms::owner_read);
  refuses({"run", "--out", "locked/below"}, {"--out", "locked"});
}

TEST_F(BadInput, RejectsBadMasks) {
  refuses({"explain", "mask", "xpu", "0x1"}, {"0x1"});
  refuses({"explain", "mask", "cuda", "1gpu"}, {"1gpu"});
}

TEST_F(BadInput, RejectsTerminalForSeveralCases) {
  write("two.toml",
        "[suite.a]\nkind = \"command\"\ncommand = [\"/bin/true\"]\n[suite.b]\nkind = \"command\"\n"
        "command = [\"/bin/true\"]\n");
  refuses({"run", "--config", "two.toml", "--no-capture"}, {"2 are selected", "--case"});
  refuses({"run", "--config", "two.toml", "--debugger", "gdb --args"}, {"2 are selected", "--case"});
}

TEST_F(BadInput, RejectsDebuggerForRanks) {
  write("ranks.toml", "[suite.a]\nkind = \"command\"\ncommand = [\"/bin/true\"]\nranks = 2\n");
  refuses({"run", "--config", "ranks.toml", "--debugger", "gdb --args"}, {"a/true", "2 ranks", "gdb -p"});
}

TEST_F(BadInput, RejectsDirectoriesWithoutJournal) {
  refuses({"report", "render", "absent"}, {"absent"});
  refuses({"finish", "absent"}, {"absent"});
  write("journal.jsonl", "not a journal\n");
  refuses({"report", "render", "."}, {"journal.jsonl"});
}

}  // namespace
}  // namespace proctor::cli
