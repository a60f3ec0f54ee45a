// What an engine is told: options that are refused, and that a line for people and the words for the system are one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "harness/core/read_file.h"
#include "harness/core/temp_dir.h"
#include "harness/core/words.h"
#include "harness/stack/engine_command.h"
#include "harness/stack/engine_options.h"
#include "harness/stack/mount_rules.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

std::string answer(const std::vector<std::string>& words, Engine engine = Engine::kDocker) {
  const auto options = read_engine_options(engine, words);
  return options ? joined(*options, "|") : "refused: " + options.error().what;
}

TEST(EngineOptions, TakesSecretsModelsAndLimits) {
  EXPECT_EQ(answer({"--env-file", "my secrets", "-v", "/models:/models:ro", "--memory=8g"}),
            "--env-file=my secrets|--volume=/models:/models:ro|--memory=8g");
  EXPECT_EQ(answer({"-it", "-e", "HF_HOME=/models"}), "--interactive|--tty|--env=HF_HOME=/models");
  EXPECT_EQ(answer({"--security-opt=label=disable", "--security-opt", "systempaths=unconfined"}),
            "--security-opt=label=disable|--security-opt=systempaths=unconfined");
  EXPECT_EQ(answer({"--volume=models:/models:ro,z", "--tmpfs=/tmp:size=1g", "--network=host"}),
            "--volume=models:/models:ro,z|--tmpfs=/tmp:size=1g|--network=host");
  EXPECT_EQ(answer({"--device=/dev/dri/renderD128", "--device=/dev/nvidia0", "--device=nvidia.com/gpu=0:1"}),
            "--device=/dev/dri/renderD128|--device=/dev/nvidia0|--device=nvidia.com/gpu=0:1");
  EXPECT_EQ(answer({"--runtime=nvidia", "--security-opt=label=level:s0:c1", "--security-opt=apparmor=ours"}),
            "--runtime=nvidia|--security-opt=label=level:s0:c1|--security-opt=apparmor=ours");
  EXPECT_EQ(answer({"--cap-add=PERFMON", "--cap-add", "CAP_PERFMON"}),
            "--cap-add=PERFMON|--cap-add=CAP_PERFMON");
  EXPECT_EQ(answer({}), "");
}

class RefusedOption : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RefusedOption, IsNamedWithTheReason) {
  std::vector<std::string> words;
  for (const auto word : split(GetParam().first, ' ')) words.emplace_back(word);
  for (const Engine engine : {Engine::kDocker, Engine::kPodman}) {
    EXPECT_THAT(answer(words, engine),
                AllOf(HasSubstr("refused: start the container with "), HasSubstr(words.front().substr(0, 5)),
                      HasSubstr(GetParam().second)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedOption,
    testing::Values(
        std::pair("--privileged", "every device and capability"),
        std::pair("--privileged=true", "every device"), std::pair("--pid=host", "kill processes outside"),
        std::pair("--pid host", "kill processes outside"), std::pair("--ipc=host", "share memory"),
        std::pair("--cap-add=SYS_ADMIN", "only PERFMON is allowed"),
        std::pair("--cap-add=ALL", "only PERFMON is allowed"),
        std::pair("--cap-add=PERFMON,SYS_ADMIN", "only PERFMON is allowed"),
        std::pair("--user=0", "other than root"), std::pair("-u 0", "other than root"),
        std::pair("-itu0", "not known"),
        std::pair("--security-opt=seccomp=unconfined", "the profile of the stack"),
        std::pair("--security-opt seccomp:unconfined", "the profile of the stack"),
        std::pair("--security-opt=no-new-privileges=false", "not known to keep containment"),
        std::pair("--security-opt=apparmor=unconfined", "Ubuntu 24.04"),
        std::pair("--volume=/tmp/x:/run/lock", "two runs could lease the same device"),
        std::pair("--volume=/tmp/x:/run//lock/", "two runs could lease the same device"),
        std::pair("--volume=/tmp/x:/run/lock:ro", "two runs could lease the same device"),
        std::pair("--volume=/run/lock", "two runs could lease the same device"),
        std::pair("--tmpfs=/run", "two runs could lease the same device"),
        std::pair("--tmpfs=/opt/../run/lock:size=1m", "two runs could lease the same device"),
        std::pair("--mount=type=tmpfs,destination=/run/lock", "cannot check it"),
        std::pair("--mount=type=bind,source=/,TARGET=/host", "cannot check it"),
        std::pair("--volume=/tmp/x:/run/lock/cuda:GPU-1.lease", "options ro, rw, z and Z"),
        std::pair("--volume=/tmp/x:/run/lock/one.lease", "two runs could lease the same device"),
        std::pair("--volume=/tmp/x:/var/lock/one.lease", "two runs could lease the same device"),
        std::pair("--tmpfs=/run/lock/x", "two runs could lease the same device"),
        std::pair("--volume=/tmp/x:/opt/proctor/bin", "Proctor itself"),
        std::pair("-v /var/run:/r", "engine's socket"), std::pair("-v /run:/x", "engine's socket"),
        std::pair("-v /run/user/1000:/x", "engine's socket"),
        std::pair("-v /proc/self/root:/host", "all files of the host"),
        std::pair("-v /proc/1/root:/host", ""), std::pair("-v ../../../..:/host", "neither an absolute path"),
        std::pair("-v /usr/../:/host", "all files of the host"),
        std::pair("-v /proc:/hostproc", "control the host"),
        std::pair("-v /sys/kernel:/k", "control the host"), std::pair("-v /dev:/d", "--device"),
        std::pair("-v /dev/shm:/d", "shared by all processes"), std::pair("-v /dev/null:/d", "--device"),
        std::pair("-v /tmp/x:/y:rshared", "options ro"), std::pair("-v /tmp/x:/y:O,upperdir=/", "options ro"),
        std::pair("--device=/dev/mem", "only GPUs"), std::pair("--device=/dev/sda", "only GPUs"),
        std::pair("--device=/dev/dri/../mem", "only GPUs"),
        std::pair("--device=/dev/nvidia0:/opt/proctor/bin/proctor", "only GPUs"),
        std::pair("--security-opt=label=type:spc_t", "not known to keep containment"),
        std::pair("--security-opt=apparmor=:ns:unconfined", "not known to keep containment"),
        std::pair("--runtime=/tmp/mine", "runc, crun and nvidia"),
        std::pair("--runtime=sysbox", "runc, crun"),
        std::pair("--network=ns:/proc/1/ns/net", "name of a network"),
        std::pair("--network=name=container:other", "name of a network"),
        std::pair("--volume=/tmp/x:/opt/proctor/", "Proctor itself"),
        std::pair("--volume=/tmp/x:/proc", "the engine masks"),
        std::pair("--volume=/x:/sys/fs/cgroup", "the engine masks"),
        std::pair("-v /var/run/docker.sock:/s", "engine's socket"),
        std::pair("-v /:/host", "all files of the host"),
        std::pair("--volume=relative", "absolute path in the container"),
        std::pair("--gpus=all", "the stack's lock"),
        std::pair("--network=container:other", "belong to another container"),
        std::pair("--env", "value is missing"), std::pair("--env=", "value is missing"),
        std::pair("--read-only=false", "takes no value"), std::pair("--frobnicate", "not known to keep"),
        std::pair("ubuntu:24.04", "it is not an option"), std::pair("--", "not known")));

// By whatever name or link: what counts is where it leads.
TEST(MountSource, IsFollowed) {
  const TempDir directory;
  EXPECT_EQ(why_no_source(directory.string()), std::nullopt);
  EXPECT_EQ(why_no_source(directory / "not there"), std::nullopt);
  fs::create_symlink("/", directory / "root");
  fs::create_symlink("/run", directory / "run");
  EXPECT_THAT(why_no_source(directory / "root"), Optional(HasSubstr("all files of the host")));
  EXPECT_THAT(why_no_source(directory / "run/docker.sock"), Optional(HasSubstr("engine's socket")));
  EXPECT_THAT(why_no_source(directory / "root/proc"), Optional(HasSubstr("control the host")));
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(why_no_source(directory / "pipe"), Optional(HasSubstr("neither a directory nor a file")));
}

TEST(MountSource, IsNoDirectoryWithAUsersEngine) {
  const TempDir home;
  fs::create_directories(home / ".docker/run");
  std::ofstream(home / ".docker/run/docker.sock") << "";
  ASSERT_EQ(setenv("HOME", home.string().c_str(), 1), 0);
  EXPECT_THAT(why_no_source(home.string()), Optional(HasSubstr("engine's socket")));
  EXPECT_EQ(why_no_source(home / "models"), std::nullopt);
  ASSERT_EQ(setenv("DOCKER_HOST", ("unix://" + (home / "models/s").string()).c_str(), 1), 0);
  EXPECT_THAT(why_no_source(home / "models"), Optional(HasSubstr("engine's socket")));
}

TEST(EngineOptions, WhatBuildahDoesNotHaveIsSaid) {
  EXPECT_EQ(answer({"--env=A=b"}, Engine::kBuildah), "--env=A=b");
  EXPECT_THAT(answer({"--memory=8g"}, Engine::kBuildah), HasSubstr("`buildah run` does not have it"));
}

StackContainer container(Engine engine) {
  StackContainer one;
  one.engine = engine;
  one.lock.name = "xpu-rolling";
  one.lock.backend = "xpu";
  one.lock.shm_size = "8g";
  one.lock.environment = {"ZE_AFFINITY_MASK"};
  one.places = {
      .profile = "/a b/seccomp.json", .gpus = {}, .group = "993", .leases = "/run/lock", .cache = "/c d"};
  one.image = "proctor-xpu-rolling";
  one.image_digest = "sha256:1";
  one.proctor = "/opt/it's proctor";
  one.out = "/out $HOME";
  one.options = {"--env=A=b c"};
  one.command = {"proctor", "run", "a b", "$(touch x)", "'"};
  return one;
}

// An engine that says its own words, one a line.
class EngineWords : public testing::TestWithParam<Engine> {
 protected:
  EngineWords() {
    for (const char* name : {"docker", "podman", "buildah"}) {
      const fs::path file = directory_ / name;
      // buildah tells the name of the container that it made.
      std::ofstream(file) << "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" \"$@\" >>"
                          << (directory_ / "said").string()
                          << "\n[ \"$1\" != from ] || echo box\n[ \"$1\" != run ] || exit 7\n";
      fs::permissions(file, fs::perms::owner_all);
    }
  }

  std::vector<std::string> said_by(std::vector<std::string> argv) const {
    fs::remove(directory_ / "said");
    if (argv.front() != "sh") argv.front() = (directory_ / argv.front()).string();
    code_ = testing_support::run_child(argv, {.env = {"PATH=" + directory_.string() + ":/usr/bin:/bin"}})
                .exit_code;
    std::vector<std::string> lines;
    std::ifstream file(directory_ / "said");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  TempDir directory_;
  mutable int code_ = -1;
};

TEST_P(EngineWords, TheLineForPeopleAndTheWordsForTheSystemAreOne) {
  const StackContainer one = container(GetParam());
  const auto executed = said_by(engine_command(one));
  EXPECT_EQ(code_, 7);
  EXPECT_EQ(said_by({"sh", "-c", engine_line(one)}), executed);
  EXPECT_EQ(code_, 7);
  EXPECT_THAT(executed,
              testing::IsSupersetOf({"--cap-drop=ALL", "--security-opt=seccomp=/a b/seccomp.json",
                                     "--volume=/run/lock:/run/lock", "--volume=/c d:/cache",
                                     "--volume=/opt/it's proctor:/opt/proctor:ro", "--volume=/out $HOME:/out",
                                     "--device=/dev/dri", "--env=ZE_AFFINITY_MASK", "--env=A=b c",
                                     "--env=PROCTOR_IMAGE_DIGEST=sha256:1", "proctor-xpu-rolling",
                                     "/opt/proctor/bin/proctor", "a b", "$(touch x)", "'"}));
}

INSTANTIATE_TEST_SUITE_P(All, EngineWords,
                         testing::Values(Engine::kDocker, Engine::kPodman, Engine::kBuildah));

TEST(EngineCommand, AnImageThatWasBuiltHereIsNotFetched) {
  StackContainer one = container(Engine::kPodman);
  EXPECT_THAT(engine_line(one), HasSubstr("--pull=never"));
  one.image = "ghcr.io/o/i@sha256:" + std::string(64, '1');
  EXPECT_THAT(engine_line(one), HasSubstr("--pull=missing"));
}

TEST(EngineCommand, BuildahHasOneGroup) {
  EXPECT_THAT(engine_line(container(Engine::kBuildah)),
              AllOf(HasSubstr("--user=10001:993"), Not(HasSubstr("--group-add")),
                    Not(HasSubstr("no-new-privileges"))));
}

// What the shell is sent reaches the container, which is removed when it has ended; and it reads what the shell reads.
TEST(EngineCommand, ASignalToBuildahsShellEndsTheContainer) {
  const TempDir directory;
  std::ofstream(directory / "buildah")
      << "#!/bin/sh\ncd " << directory.string() << "\necho \"$1\" >>said\ncase \"$1\" in\nfrom) echo box ;;\n"
      << "run)\n  trap 'echo ended >>said; exit 9' TERM\n  read -r word\n  echo \"$word\"\n"
      << "  while :; do sleep 0.02; done ;;\nesac\n";
  fs::permissions(directory / "buildah", fs::perms::owner_all);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    fs::remove(directory / "said");
    std::vector<std::string> argv = {"env", "PATH=" + directory.string() + ":/usr/bin:/bin"};
    for (const std::string& word : engine_command(container(Engine::kBuildah))) argv.push_back(word);
    testing_support::TalkingChild shell(argv);
    shell.say("hello");
    ASSERT_EQ(shell.line(), "hello");
    ASSERT_EQ(kill(shell.pid(), signal), 0);
    const ChildEnd end = shell.finish();
    EXPECT_EQ(end.exit_code, 128 + signal);
    EXPECT_EQ(read_file_or_empty(directory / "said"), "from\nrun\nended\nrm\n");
  }
}

}  // namespace
}  // namespace proctor
