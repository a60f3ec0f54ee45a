// proctor stack as a shell starts it: exit codes, and what a wrong word is answered with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "harness/core/read_file.h"
#include "harness/core/temp_dir.h"
#include "harness/testing/child.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kDocker = std::string(PROCTOR_SOURCE_DIR) + "/docker";

struct Answer {
  int code = -1;
  std::string text;
};

// The test run's own lies in the build tree: the socket of an engine may be in it, and then nothing above it is mounted.
Answer answer_of(const std::vector<std::string>& argv, testing_support::ChildOptions options = {}) {
  static const TempDir runtime;
  options.env.push_back("XDG_RUNTIME_DIR=" + runtime.string());
  const auto done = testing_support::run_child(argv, options);
  return {done.exit_code, done.out + done.err};
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

class StackCommand : public testing::Test {
 protected:
  // hadolint is what lies in the directory, or nothing.
  Answer run(const std::string& arguments) const {
    std::vector<std::string> argv = {PROCTOR_BIN_DIR "/proctor", "stack"};
    for (const auto& word : words(arguments)) argv.push_back(word);
    return answer_of(argv, {.env = {"PATH=" + directory_.string()}});
  }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }

  TempDir directory_;
};

TEST_F(StackCommand, TheCommittedFilesAreThoseOfTheLocks) {
  const Answer answer = run("render --check --dir " + kDocker);
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("26 files match their locks"));
}

TEST_F(StackCommand, AFileThatDiffersOrIsMissingIsNamed) {
  fs::create_directory(directory_ / "stacks");
  fs::copy_file(kDocker + "/stacks/cuda-13.toml", directory_ / "stacks/cuda-13.toml");
  ASSERT_EQ(run("render --dir " + directory_.string()).code, 0);
  EXPECT_EQ(run("render --check --dir " + directory_.string()).code, 0);
  std::ofstream(directory_ / "cuda-13/Dockerfile", std::ios::app) << "USER root\n";
  fs::remove(directory_ / "seccomp.json");
  const Answer answer = run("render --check --dir " + directory_.string());
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("cuda-13/Dockerfile: differs from what its lock renders to"),
                                 HasSubstr("/seccomp.json: cannot"), Not(HasSubstr("compose.yaml"))));
}

TEST_F(StackCommand, AnUnknownStackIsAnsweredWithTheNearest) {
  const Answer answer = run("render --check --dir " + kDocker + " xpu-roling");
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("There is no stack `xpu-roling`"), HasSubstr("Did you mean `xpu-rolling`?")));
}

TEST_F(StackCommand, NoLocksAtAll) {
  const Answer answer = run("render --dir " + directory_.string());
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.text, HasSubstr("--dir"));
}

TEST_F(StackCommand, LintIsRedWithLineAndFix) {
  const Answer answer = run("lint " + file("a", "FROM debian:bookworm\nUSER 7\n"));
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("/a:1: image-without-digest: "), HasSubstr("\n  Write debian:bookworm@"),
                    HasSubstr("hadolint is not installed")));
}

TEST_F(StackCommand, LintIsGreenOnARenderedFile) {
  EXPECT_EQ(run("lint " + kDocker + "/xpu-rolling/Dockerfile").code, 0);
}

TEST_F(StackCommand, HadolintFindsNothingInTheCommittedFiles) {
  const std::string tools = std::string(PROCTOR_SOURCE_DIR) + "/build/lint/bin";
  if (!fs::exists(tools + "/hadolint"))
    GTEST_SKIP() << "needs build/lint/bin/hadolint, which ./dev test installs";
  std::vector<std::string> argv = {PROCTOR_BIN_DIR "/proctor", "stack", "lint"};
  for (const auto& entry : fs::recursive_directory_iterator(kDocker)) {
    if (entry.path().filename().string().starts_with("Dockerfile")) argv.push_back(entry.path().string());
  }
  ASSERT_GE(argv.size(), 3 + 9U);
  const Answer answer = answer_of(argv, {.env = {"PATH=" + tools}});
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_EQ(answer.text, "");
}

TEST_F(StackCommand, WhatHadolintFindsCountsToo) {
  fs::permissions(file("hadolint", "#!/bin/sh\necho \"$3:7 DL3000 found\"\nexit 1\n"), fs::perms::owner_all);
  const Answer answer = run("lint " + kDocker + "/cuda-13/Dockerfile");
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("cuda-13/Dockerfile:7 DL3000 found"));
}

TEST_F(StackCommand, AHadolintThatDiesIsNoClean) {
  fs::permissions(file("hadolint", "#!/bin/sh\nkill -SEGV $$\n"), fs::perms::owner_all);
  const Answer answer = run("lint " + kDocker + "/cuda-13/Dockerfile");
  EXPECT_EQ(answer.code, 75);
  EXPECT_THAT(answer.text, HasSubstr("failed to run hadolint: it was ended by SIGSEGV"));
}

TEST_F(StackCommand, LintOfAMissingFileIsAMistake) { EXPECT_EQ(run("lint /nowhere/Dockerfile").code, 2); }

// Engines that are scripts: what they say of themselves and of an image, and how they were started.
class StackContainerCommand : public StackCommand {
 protected:
  StackContainerCommand() {
    fs::create_directory(directory_ / "out");
    fs::permissions(directory_ / "out", fs::perms::all);
    const std::string dockerfile = read_file_or_empty(kDocker + "/cpu-sim/Dockerfile");
    lock_ = dockerfile.substr(dockerfile.find("lock sha256:") + 5, 71);
  }

  // Nothing is started where the host does not lease there.
  void SetUp() override {
    struct stat lock {};
    if (::stat("/run/lock", &lock) != 0 || lock.st_uid != 0 || (lock.st_mode & 01777) != 01777)
      GTEST_SKIP() << "needs /run/lock of root's with mode 1777";
  }

  void engine(const std::string& name, const std::string& version, const std::string& image,
              int image_code = 0) const {
    fs::permissions(file(name, "#!/bin/sh\ncase \"$1\" in\n--version) printf '%s\\n' \"" + version +
                                   "\" ;;\nimage | inspect) printf '%s\\n' \"" + image + "\"; exit " +
                                   std::to_string(image_code) + " ;;\n*) echo \"$@\"; exit 5 ;;\nesac\n"),
                    fs::perms::owner_all);
  }
  void good_engine() const { engine("podman", "podman version 4.3.1", id_ + " " + lock_); }

  Answer start(const std::string& words_before, const std::vector<std::string>& environment = {}) const {
    std::vector<std::string> argv = {PROCTOR_BIN_DIR "/proctor", "stack", "run"};
    for (const auto& word : words(words_before)) argv.push_back(word);
    argv.insert(argv.end(),
                {"--dir", kDocker, "--out", (directory_ / "out").string(), "--", "proctor", "doctor"});
    std::vector<std::string> all = {"PATH=" + directory_.string(), "PROCTOR_RUN_ARGS", "OUT", "CACHE",
                                    "GPUS"};
    all.insert(all.end(), environment.begin(), environment.end());
    return answer_of(argv, {.env = all});
  }

  std::string id_ = "sha256:" + std::string(64, 'a');
  std::string lock_;
};

TEST_F(StackContainerCommand, BecomesTheEngineWithItsExitCode) {
  good_engine();
  const Answer answer = start("cpu-sim --option=--memory=1g", {"PROCTOR_RUN_ARGS=--env-file=/s  --env A=b"});
  EXPECT_EQ(answer.code, 5) << answer.text;
  EXPECT_THAT(
      answer.text,
      AllOf(
          HasSubstr("run --rm --pull=never --init"), HasSubstr("--cap-drop=ALL"),
          HasSubstr("--security-opt=seccomp="), HasSubstr("/share/proctor/seccomp.json"),
          HasSubstr(":/run/lock"), HasSubstr("--env=PROCTOR_IMAGE_DIGEST=" + id_),
          HasSubstr("--memory=1g --env-file=/s --env=A=b proctor-cpu-sim /opt/proctor/bin/proctor doctor")));
}

TEST_F(StackContainerCommand, PrintsTheLineWhereThereIsNoEngine) {
  const Answer answer = start("cuda-13 --flavour base --print");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text,
              AllOf(testing::StartsWith("docker run \\\n  --rm"), HasSubstr("--gpus=all"),
                    HasSubstr("proctor-cuda-13-all-1:/cache"), HasSubstr("  proctor-cuda-13-base /opt/")));
}

TEST_F(StackContainerCommand, AnEngineThatIsMissingOldOrNoneIsNamed) {
  EXPECT_THAT(start("cpu-sim").text, AllOf(HasSubstr("There is no docker, podman or buildah in PATH"),
                                           HasSubstr("sudo apt-get install podman")));
  EXPECT_EQ(start("cpu-sim").code, 2);
  EXPECT_THAT(start("cpu-sim --engine buildah").text, HasSubstr("Install the package buildah."));
  engine("docker", "Docker version 19.03.15, build 99e3ed8919", "");
  EXPECT_THAT(start("cpu-sim").text, HasSubstr("docker 19.03.15 is older than 20.10"));
  for (const char* garbage : {"", "no", "version", "version x", "\\033[31m\\377 version -1"}) {
    engine("docker", garbage, "");
    const Answer answer = start("cpu-sim");
    EXPECT_EQ(answer.code, 2) << garbage;
    EXPECT_THAT(answer.text, AllOf(HasSubstr("`docker --version` prints `"), Not(HasSubstr("\033"))))
        << garbage;
  }
  EXPECT_EQ(start("cpu-sim --engine rkt").code, 2);
}

TEST_F(StackContainerCommand, AnImageThatIsMissingOrOfAnotherLockIsNamedWithTheLineThatBuildsIt) {
  const std::string build =
      "podman build --tag proctor-cpu-sim --file " + kDocker + "/cpu-sim/Dockerfile " + kDocker + "/cpu-sim";
  engine("podman", "podman version 4.3.1", "Error: no such image", 125);
  EXPECT_THAT(start("cpu-sim").text,
              AllOf(HasSubstr("inspect the image proctor-cpu-sim with podman: Error: no such image"),
                    HasSubstr(build)));
  for (const std::string& other : {id_ + " sha256:" + std::string(64, 'b'), id_ + " <no value>"}) {
    engine("podman", "podman version 4.3.1", other);
    const Answer answer = start("cpu-sim");
    EXPECT_EQ(answer.code, 2);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("it was built "), HasSubstr(build)));
  }
  for (const char* garbage : {"", "x", "sha256:12 sha256:34", "{}"}) {
    engine("podman", "podman version 4.3.1", garbage);
    EXPECT_THAT(start("cpu-sim").text, HasSubstr("not a digest and a label")) << garbage;
  }
  EXPECT_EQ(start("cpu-sim --image=--privileged").code, 2);
  EXPECT_THAT(start("xpu-rolling --print --flavour devel").text, HasSubstr("proctor-xpu-rolling-devel"));
}

// Only its digest says what it is, so nobody needs to have it beforehand.
TEST_F(StackContainerCommand, AnImageByItsDigestIsFetched) {
  const std::string there = (directory_ / "there").string();
  fs::permissions(file("podman",
                       "#!/bin/sh\ncase \"$1\" in\n--version) echo podman version 4.3.1 ;;\n"
                       "image) [ -e " +
                           there + " ] || exit 125; echo " + id_ + " " + lock_ +
                           " ;;\n"
                           "pull) [ \"$2\" != ghcr.io/o/i@" +
                           id_ + " ] || : >" + there +
                           "; echo pulled ;;\n"
                           "*) echo \"$@\"; exit 5 ;;\nesac\n"),
                  fs::perms::owner_all);
  EXPECT_EQ(start("cpu-sim --image ghcr.io/o/i:new").code, 2);
  const Answer answer = start("cpu-sim --image ghcr.io/o/i@" + id_);
  EXPECT_EQ(answer.code, 5) << answer.text;
  EXPECT_THAT(answer.text, AllOf(HasSubstr("Fetching ghcr.io/o/i@"), HasSubstr("--pull=missing")));
}

TEST_F(StackContainerCommand, WhatMendsAnImageIsALineThatCanBeTyped) {
  engine("podman", "podman version 4.3.1", "Error: no such image", 125);
  EXPECT_THAT(start("cpu-sim --image ghcr.io/o/i@" + id_).text,
              AllOf(HasSubstr("omit --image"), Not(HasSubstr("--tag"))));
  const Answer elsewhere =
      answer_of({PROCTOR_BIN_DIR "/proctor", "stack", "run", "cpu-sim", "--out",
                 (directory_ / "out").string(), "--", "true"},
                {.env = {"PATH=" + directory_.string()}, .directory = directory_.string()});
  EXPECT_THAT(elsewhere.text, HasSubstr("Build it in a checkout of Proctor: podman build --tag"));
}

TEST_F(StackContainerCommand, WhatLosesContainmentOrExclusivityIsRefused) {
  good_engine();
  EXPECT_THAT(start("cpu-sim", {"PROCTOR_RUN_ARGS=--privileged"}).text, HasSubstr("with --privileged: "));
  EXPECT_THAT(start("cpu-sim --option=--pid=host --print").text, HasSubstr("with --pid=host: "));
  const Answer alone = start("cpu-sim --state-dir " + directory_.string());
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.text,
              AllOf(HasSubstr("share the leases in "), HasSubstr("install --directory --mode=1777")));
}

TEST_F(StackContainerCommand, PlacesThatCannotBeMountedAreRefused) {
  good_engine();
  fs::permissions(directory_ / "out", fs::perms::owner_all);
  EXPECT_THAT(start("cpu-sim").text, HasSubstr("The image's user 10001 cannot write to"));
  fs::permissions(directory_ / "out", fs::perms::all);
  EXPECT_THAT(start("cpu-sim", {"PROCTOR=" + directory_.string()}).text, HasSubstr("has no bin/proctor"));
  const Answer colon = answer_of({PROCTOR_BIN_DIR "/proctor", "stack", "run", "cpu-sim", "--dir", kDocker,
                                  "--print", "--out", "/a:b", "--", "true"});
  EXPECT_THAT(colon.text, HasSubstr("/a:b cannot be mounted as OUT"));
  EXPECT_THAT(start("cuda-13 --print", {"CACHE=/a:/run/lock"}).text,
              HasSubstr("/a:/run/lock cannot be mounted as CACHE"));
  for (const char* cache :
       {"CACHE=/", "CACHE=/var/run/docker.sock", "CACHE=/proc/1/root", "CACHE=../../../../../.."})
    EXPECT_THAT(start("cuda-13 --print", {cache}).text, HasSubstr(" as CACHE: ")) << cache;
  EXPECT_THAT(answer_of({PROCTOR_BIN_DIR "/proctor", "stack", "run", "cpu-sim", "--dir", kDocker, "--print",
                         "--out", "/", "--", "true"})
                  .text,
              HasSubstr("/ cannot be mounted as OUT: the container would see all files of the host"));
  const Answer shm = start("cpu-sim --print --state-dir /dev/../dev/shm");
  EXPECT_EQ(shm.code, 2);
  EXPECT_THAT(shm.text, AllOf(HasSubstr("share the leases in /dev/shm"), HasSubstr("--state-dir")));
  EXPECT_THAT(start("cuda-13 --print", {"GPUS=--privileged"}).text, HasSubstr("(got --privileged)"));
}

TEST_F(StackContainerCommand, AWrongWordIsAMistake) {
  EXPECT_THAT(start("cpu-simm").text, HasSubstr("Did you mean `cpu-sim`?"));
  EXPECT_THAT(start("cpu-sim --flavour devel").text, HasSubstr("It has none."));
  EXPECT_THAT(start("cuda-13 --flavour x").text, HasSubstr("It has: devel, base."));
  EXPECT_EQ(run("run cpu-sim --print --dir " + kDocker).code, 2);
  EXPECT_EQ(run("render --dir " + kDocker + " -- x").code, 2);
}

// A machine whose driver is replaced by the very command that is run on it.
class StackOfARun : public StackCommand {
 protected:
  StackOfARun() {
    fs::create_directories(directory_ / "root/sys/module/nvidia");
    std::ofstream(directory_ / "root/sys/module/nvidia/version") << "580.65.06\n";
  }

  Answer proctor(const std::string& command, const std::string& script) const {
    return answer_of({PROCTOR_BIN_DIR "/proctor", command, "--stack-root", (directory_ / "root").string(),
                      "--out", (directory_ / "out").string(), "--", "sh", "-c", script});
  }
  std::string update() const {
    return "echo 580.95.05 > " + (directory_ / "root/sys/module/nvidia/version").string();
  }
  std::string report() const { return read_file_or_empty(directory_ / "out/report.json"); }
};

TEST_F(StackOfARun, IsInTheReport) {
  const Answer answer = proctor("run", "true");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(report(), AllOf(HasSubstr("\"kmd.nvidia\":\"580.65.06\""),
                              HasSubstr("the module xe is not loaded"), Not(HasSubstr("stack_changed"))));
}

TEST_F(StackOfARun, AChangeIsTheMachines) {
  const Answer answer = proctor("run", update());
  EXPECT_EQ(answer.code, 75) << answer.text;
  EXPECT_THAT(report(),
              AllOf(HasSubstr("stack_changed"), HasSubstr("kmd.nvidia: 580.65.06, then 580.95.05")));
}

TEST_F(StackOfARun, AChangeUnderExecIsTheMachinesUnlessTheCommandFailed) {
  EXPECT_EQ(proctor("exec", update()).code, 75);
  fs::remove_all(directory_ / "out");
  EXPECT_EQ(
      proctor("exec", "echo 1 > " + (directory_ / "root/sys/module/nvidia/version").string() + "; exit 5")
          .code,
      5);
}

TEST_F(StackOfARun, ARootThatIsNotThereIsAMistake) {
  fs::remove_all(directory_ / "root");
  EXPECT_EQ(proctor("run", "true").code, 2);
}

}  // namespace
}  // namespace proctor::cli
