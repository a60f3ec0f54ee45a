// Checks of hazards: kernels that hang, kernels that access memory out of bounds, processes that fork, and printf.
// Each hazard runs in a separate process. Its result must be right, and the next process must find a healthy
// device.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <limits>

#include "harness/base/read_file.h"
#include "suites/accel/check_fixture.h"
#include "suites/kernels/device/print_lines.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kLost = by_vendor("Level Zero specification, ZE_RESULT_ERROR_DEVICE_LOST",
                                        "CUDA Runtime API, cudaErrorIllegalAddress");
constexpr const char* kPrintf = by_vendor("OpenCL C specification, printf; OpenCL-CTS, printf",
                                          "CUDA Programming Guide, Formatted Output");

// Sends {"right":BOOL}, the result of a transform of a thousand words.
PROCTOR_HELPER(smoke) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  auto expected = noise_words(1000, 1);
  const auto from = device_copy(queue, context, expected);
  const Buffer to = device_memory(context, 4000);
  queue.launch(Kernel(module, "transform"), cover(1000, 50), arguments(from, to, 3u, 1000u));
  queue.synchronize();
  for (auto& word : expected) word = word * 3 + 3;
  suite::answer({{"right", read_as<std::uint32_t>(queue, context, to) == expected}});
}

// Starts a kernel that never ends, reports that it runs, and waits until the process is killed.
PROCTOR_HELPER(hang) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  const auto stop = device_copy(queue, context, std::vector<std::uint32_t>(2));
  queue.launch(Kernel(module, "spin_for_ever"), groups_of(1, 1), arguments(stop));
  const Status status = queue.try_synchronize(std::chrono::milliseconds(50));
  suite::answer({{"ready", status.ok()}});
  queue.try_synchronize(Nanoseconds::max());
  suite::answer({{"ended", true}});
}

// Stores to an unmapped address. Sends the results of the following calls.
PROCTOR_HELPER(store_out_of_bounds) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  suite::answer({{"launched", true}});
  Status status =
      queue.try_launch(Kernel(module, "store_at"), groups_of(1, 1), arguments(std::uint64_t{0xdead0000}, 1u));
  if (status.ok()) status = queue.try_synchronize(kPatience);
  const Status device = context.device().try_status();
  suite::answer({{"status", status.name()}, {"ok", status.ok()}, {"device_ok", device.ok()}});
  _exit(0);  // The broken context needs no cleanup.
}

PROCTOR_HELPER(read_null) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  const auto address = device_copy(queue, context, std::vector<std::uint64_t>(1));
  const Buffer out = device_memory(context, 4);
  suite::answer({{"launched", true}});
  Status status = queue.try_launch(Kernel(module, "chase"), groups_of(1, 1), arguments(address, out));
  if (status.ok()) status = queue.try_synchronize(kPatience);
  suite::answer({{"status", status.name()}, {"ok", status.ok()}});
  _exit(0);
}

// A kernel of print.cl and the text that it must print.
struct Print {
  const char* module;
  const char* kernel;
  Arguments arguments;
  std::string text;
};

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  char text[512];
  std::va_list values;
  va_start(values, format);
  const int size = std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return std::string(text, static_cast<std::size_t>(size));
}

const std::vector<std::string> kPrints = by_vendor<std::vector<std::string>>(
    {"line", "integers", "doubles", "vectors"}, {"line", "integers", "doubles"});

// This is less than the smallest print buffer: CUDA's is one mebibyte.
constexpr std::uint32_t kManyLines = 2000;

Print print_of(const std::string& which) {
#define LINE_OF_HOST(...) +formatted(__VA_ARGS__)
  if (which == "integers") {
    const std::int32_t negative = -2147483647;
    const std::uint32_t large = 0xfedcba98;
    const long long_negative = -1234567890123456789;
    const unsigned long huge = 0xfedcba9876543210;
    return {"print", "print_integers", arguments(negative, large, long_negative, huge),
            std::string() INTEGER_LINES(LINE_OF_HOST, negative, large, long_negative, huge)};
  }
  if (which == "doubles") {
    const double third = 1.0 / 3, small = 5e-310, huge = -1.7976931348623157e308,
                 infinite = std::numeric_limits<double>::infinity();
    return {"print_f64", "print_doubles", arguments(third, small, huge, infinite),
            std::string() DOUBLE_LINES(LINE_OF_HOST, third, small, huge, infinite)};
  }
  if (which == "vectors") {
    const std::array<std::int32_t, 4> four = {1, -2, 345, -67890};
    const std::array<std::uint64_t, 2> two = {0xfedcba9876543210, 1};
    const std::array<std::int8_t, 4> three = {1, -2, 127, 0};
    return {"print", "print_vectors", arguments(four, two, three),
            "1,-2,345,-67890 [  1, -2,345,-67890]\n18364758544493064720,1 fedcba9876543210,1\n"
            "0.500000,-2.250000 [0.50    ,-2.25   ]\n1,-2,3,-32768 1,2,3,65535 abc,0,1,ffff\n1,-2,127\n0, "
            "and no more\n"};
  }
  if (which == "many_lines") {
    std::string all;
    for (std::uint32_t line = 0; line < kManyLines; ++line)
      all += formatted("line %u of %u\n", line, kManyLines);
    return {"print", "print_lines", arguments(kManyLines), all};
  }
  return {"print", "print_line", arguments(7u), "device prints 7 -5 text\n"};
#undef LINE_OF_HOST
}

// Runs the printing kernel that the second word names, twice. Redirects standard output to the file that the first
// word names.
PROCTOR_HELPER(print) {
  if (std::freopen(words.at(0).c_str(), "w", stdout) == nullptr)
    suite::fail_because("setup", "failed to reopen stdout");
  const auto context = leased();
  need(context.device().properties().printf, "unsupported:printf");
  const Print print = print_of(words.at(1));
  Queue queue(context);
  const Module module = Module::load(context, print.module);
  for (int launch = 0; launch < 2; ++launch)
    queue.launch(Kernel(module, print.kernel), groups_of(1, 4), print.arguments);
  queue.synchronize();
  std::fflush(stdout);
  suite::answer({{"printed", true}});
  suite::wait_for_input();
}

// Forks after initialisation. The child only exits; the parent continues to use the device.
PROCTOR_HELPER(fork_and_go_on) {
  const auto context = leased();
  Queue queue(context);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  const auto sent = noise(10000, 1);
  const auto buffer = device_copy(queue, context, sent);
  suite::answer({{"same", read_bytes(queue, context, buffer.data(), sent.size()) == sent}});
}

// Requires that a new process gets the right result.
void expect_healthy(const std::string& after) {
  Helper helper("smoke");
  expect_true(helper.answer().at("right").get<bool>(), "the next process computes correctly after " + after);
}

// The outcome of an access to unmapped memory. It is silent if neither the driver reports it nor the process ends.
struct LeakedProcess {
  explicit LeakedProcess(const std::string& mode) {
    Helper helper(mode);
    helper.answer();
    const auto outcome = helper.try_answer();
    const auto end = helper.finish();
    silent = outcome ? outcome->at("ok").get<bool>() : end.signal == 0 && end.exit_code == 0;
    hung = end.hung;
    status = outcome ? outcome->at("status").get<std::string>() : "";
  }
  bool silent, hung;
  std::string status;
};

// Level Zero does not require that the driver detects an access to unmapped memory. The kernel driver can map a
// scratch page at all such addresses (DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE). A device that detects `other` must also
// detect `mode`.
void expect_fault_is_reported(const std::string& mode, const std::string& other) {
  const LeakedProcess leaked(mode);
  if (kVendor == Vendor::kIntel && leaked.silent)
    need(!LeakedProcess(other).silent, "unsupported:page_faults");
  expect_true(!leaked.silent,
              "the next synchronise reports the access, or the process ends, got " + leaked.status);
  expect_true(!leaked.hung, "the call does not hang");
}

}  // namespace

PROCTOR_CHECK(HungKernel, KilledProcessFreesDevice, "K49",
              "project rule: A deadline must be enough to end a kernel.", kWarn,
              {"kernel.skip:kernel=spin_for_ever"}) {
  step("given a second process with a kernel that never ends");
  Helper helper("hang");
  expect_true(!helper.answer().at("ready").get<bool>(), "the kernel is not done after 50 ms");
  expect_true(!helper.try_answer(std::chrono::milliseconds(200)).has_value(),
              "the kernel is not done 200 ms later");
  helper.kill();
  expect_healthy("a kernel that hung");
}

PROCTOR_CHECK(DeviceFault, OutOfBoundsStoreIsReported, "K47", kLost, kGate,
              {"kernel.hide_out_of_bounds_access:kernel=store_at"}) {
  step("given a second process whose kernel writes to an invalid address");
  expect_fault_is_reported("store_out_of_bounds", "read_null");
}

PROCTOR_CHECK(DeviceFault, NullReadIsReported, "K47", kLost, kGate,
              {"kernel.hide_out_of_bounds_access:kernel=chase"}) {
  step("given a second process whose kernel reads through a null pointer");
  expect_fault_is_reported("read_null", "store_out_of_bounds");
}

PROCTOR_CHECK(
    DeviceFault, NextProcessComputesCorrectly, "K48",
    by_vendor("project rule: A device works after the process that broke it has ended.",
              "CUDA Runtime API, cudaErrorIllegalAddress: \"the process must be terminated and relaunched\""),
    by_vendor(kWarn, kGate), {"kernel.wrong_result:kernel=transform,arg=1,at=4"}) {
  step("given a second process whose kernel writes to an invalid address");
  {
    Helper helper("store_out_of_bounds");
    helper.answer();
    helper.try_answer();
  }
  expect_healthy("an access out of bounds");
}

PROCTOR_CHECK(Fork, TransfersInParentStayExact, "K50",
              "project rule: A child without calls of the driver does not affect its parent.", kWarn,
              {"memory.corrupt_copy:at=17,times=1", "copy.skip"}) {
  step("given a process that forks after initialisation and continues");
  Helper helper("fork_and_go_on");
  expect_true(helper.answer().at("same").get<bool>(),
              "the copies of the parent are byte-exact after the fork");
}

namespace {

void expect_printed(const std::string& which) {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/printf-XXXXXX";
  const int file = mkstemp(path.data());
  expect_true(file >= 0, "a scratch file can be made");
  close(file);
  step("given two launches of a kernel that prints " + which);
  Helper helper("print", {path, which});
  helper.answer();
  const std::string text = read_file_or_empty(path);
  unlink(path.c_str());
  expect_same("standard output", print_of(which).text + print_of(which).text, text);
}

}  // namespace

PROCTOR_CHECK_EACH(kPrints, Printf, OutputAppearsAfterSynchronize, "K51", kPrintf, by_vendor(kWarn, kGate),
                   .faults = {"kernel.printf_lost"}, .needs = {"printf"}) {
  const std::string& which = suite::parameter();
  need(which != "doubles" || leased_device().properties().fp64, "unsupported:fp64");
  expect_printed(which);
}

PROCTOR_CHECK(Printf, LongOutputIsComplete, "K51", kPrintf, by_vendor(kWarn, kGate),
              .faults = {"kernel.truncate_printf", "kernel.truncate_printf:bytes=30000"},
              .needs = {"printf"}) {
  expect_printed("many_lines");
}

}  // namespace proctor::accel
