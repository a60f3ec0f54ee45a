// What the suites on CUDA say if they cannot run: each missing thing has its name, and none of them takes a
// second to find. The suite itself runs, over the simulated runtime or, where there is no driver, over the
// real one.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/core/temp_dir.h"

namespace proctor::accel {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string bin(const std::string& name) { return std::string(PROCTOR_BIN_DIR) + "/" + name; }

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "failed to start: " + command;
  char piece[4096];
  for (std::size_t n = 0; (n = std::fread(piece, 1, sizeof piece, pipe)) != 0;) text.append(piece, n);
  pclose(pipe);
  return text;
}

class Reasons : public testing::Test {
 protected:
  // What the case says of itself on cards as described.
  std::string say(const std::string& program, const std::string& name, const std::string& cards,
                  const std::string& faults = "") const {
    return output_of(
        "PROCTOR_EVENTS_FD=1 PROCTOR_SIM_DRIVER=simgpu PROCTOR_SIM_STATE=" + in_quotes(state_.string()) +
        " PROCTOR_SIM_TOPOLOGY=" + in_quotes(cards) + " PROCTOR_SIM_FAULTS=" + in_quotes(faults) +
        " LD_LIBRARY_PATH=" + in_quotes(bin("cuda_sim")) + " " + in_quotes(bin(program)) +
        " --proctor-case=" + name + " 2>/dev/null");
  }

 private:
  const TempDir state_;
};

TEST_F(Reasons, NothingIsLackingOnASimulatedCard) {
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", "cuda:1"), HasSubstr(R"("result":"pass")"));
  EXPECT_THAT(say("kernels_cuda", "Launch.IdsInOneDimension", "cuda:1"), HasSubstr(R"("result":"pass")"));
}

TEST_F(Reasons, TooFewCards) {
  EXPECT_THAT(say("memory_cuda", "Peer.CopyIsByteExact", "cuda:1"), HasSubstr(R"("needs:devices>=2")"));
}

TEST_F(Reasons, TooLittleMemory) {
  EXPECT_THAT(say("memory_cuda", "Accounting.FreeReturns", "[[cuda]]\nmemory = \"400MiB\"\n"),
              HasSubstr(R"("not_enough_memory:268435456>)"));
}

TEST_F(Reasons, NoCodeForTheCard) {
  const std::string old_card = "[[cuda]]\ncompute_capability = \"7.0\"\n";
  EXPECT_THAT(say("kernels_cuda", "Launch.IdsInOneDimension", old_card),
              HasSubstr(R"("unsupported:compute_capability=7.0")"));
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", old_card), HasSubstr(R"("result":"pass")"))
      << "copies need no code";
}

TEST_F(Reasons, DriverThatFails) {
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", "cuda:1", "visibility.init_fail:err=802"),
              HasSubstr(R"("driver_fails:cudaErrorSystemNotReady")"));
  EXPECT_THAT(say("memory_cuda", "Copy.HostToDeviceIsByteExact", "cuda:1", "visibility.init_fail:err=100"),
              HasSubstr(R"("no_device")"));
}

// The real runtime, on a machine without NVIDIA's driver. With one, it finds a card, or
// says what it finds instead.
TEST_F(Reasons, NoDriver) {
  if (!output_of("ls /dev/nvidiactl 2>/dev/null").empty()) GTEST_SKIP() << "there is a driver";
  const std::string said = output_of("PROCTOR_EVENTS_FD=1 " + in_quotes(bin("memory_cuda")) +
                                     " --proctor-case=Copy.HostToDeviceIsByteExact 2>&1");
  EXPECT_THAT(said, AnyOf(HasSubstr(R"("no_driver")"), HasSubstr("libcudart")));
}

}  // namespace
}  // namespace proctor::accel
