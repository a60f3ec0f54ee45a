// Checks of processes that fork. A fork before the first CUDA call does no harm. After a fork that follows the
// first call, the child cannot use CUDA, and must get an error.
#include <sys/wait.h>
#include <unistd.h>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kFork =
    "PyTorch: Cannot re-initialize CUDA in forked subprocess; cudaErrorInitializationError";

constexpr int kNoRoom = 77;  // Exit code of a child that has no room for a context.

// Forks after initialisation. The exit code of the child shows whether its allocation was refused.
PROCTOR_HELPER(fork_after_init) {
  const auto context = leased();
  const Buffer held = device_memory(context, 4096);
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(kPatience.count()));  // Ends the child if a call hangs.
    void* pointer = nullptr;
    _exit(cudaMalloc(&pointer, 4096) == cudaSuccess ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  suite::answer({{"refused", WIFEXITED(status) && WEXITSTATUS(status) == 0}});
}

// Forks before the first CUDA call. Parent and child each use the device.
PROCTOR_HELPER(fork_before_init) {
  const pid_t child = fork();
  bool same = false;
  try {
    const auto context = leased();
    Queue queue(context);
    const auto sent = noise(10000, 1);
    const auto buffer = device_copy(queue, context, sent);
    same = read_bytes(queue, context, buffer.data(), sent.size()) == sent;
  } catch (const suite::Skipped&) {
    if (child != 0) throw;
    _exit(kNoRoom);
  } catch (const std::exception&) {
    if (child != 0) throw;
  }
  if (child == 0) _exit(same ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoRoom) suite::skip("not_enough_memory:context");
  suite::answer({{"parent", same}, {"child", WIFEXITED(status) && WEXITSTATUS(status) == 0}});
}

}  // namespace

PROCTOR_CHECK(Fork, ChildOfInitializedProcessCannotAllocate, "K50", kFork, kGate,
              {"host.allow_calls_after_fork"}) {
  step("given a second process that forks after its first call");
  Helper helper("fork_after_init");
  expect_true(helper.answer().at("refused").get<bool>(), "the child is refused memory, at once");
}

PROCTOR_CHECK(Fork, ForkBeforeInitializationLeavesCudaUsable, "K50", kFork, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.skip:times=1"}) {
  step("given a second process that forks before its first call");
  Helper helper("fork_before_init");
  const auto answer = helper.answer();
  expect_true(answer.at("parent").get<bool>(), "the parent's copies are byte-exact");
  expect_true(answer.at("child").get<bool>(), "the child's copies are byte-exact");
}

}  // namespace proctor::accel
