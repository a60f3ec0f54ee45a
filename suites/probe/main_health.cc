// health_xpu, health_cuda [--reset]
//
// Tests every visible device, or resets it with --reset. It writes one line of JSON for each device to
// PROCTOR_EVENTS_FD, or to stdout:
//
//   {"v":1,"device":"Simulated Intel GPU 0000:03:00.0","result":"pass"|"fail"|"unknown","step":TEXT,
//    "detail":TEXT,"ms":N}
//
// `step` and `detail` are empty for a pass. If no device is visible, there is one line with an empty `device`.
// Exit codes: 0 all devices are healthy; 1 a device failed, or none is visible; 3 the result is unknown (a library
// or the kernel is missing); 2 usage. The caller sets the deadline, because a hanging device makes this program hang.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/child_protocol.h"
#include "suites/accel/accel.h"
#include "suites/accel/check_fixture.h"
#include "suites/main/skipped.h"

namespace proctor::health {
namespace {

// The result of a health test, which copies bytes to a device, computes with them and copies them back. The
// test is small and fast, so that it can run whenever a device is suspect.
enum class Result {
  kPass,
  kFail,     // wrong bytes, or a call that returns an error
  kUnknown,  // this build or this machine lacks something that the test needs
};

struct Finding {
  Result result = Result::kPass;
  std::string step;    // the failed step: "copy to the device", "run the kernel", ...
  std::string detail;  // "word 17 is 3, expected 54 (1 of 16384 differ)"
};

using Words = std::vector<std::uint32_t>;

constexpr std::size_t kWords = 16 * 1024;
constexpr std::uint64_t kNoise = 1;
constexpr std::uint32_t kSeed = 5;
constexpr std::uint32_t kGroup = 64;

// Returns the expected result of the kernel `transform` of kernels/device/basic.cl for each word.
Words transformed(Words words) {
  for (auto& word : words) word = word * 3 + kSeed;
  return words;
}

std::string first_difference(const Words& expected, const Words& got) {
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != got[i] && wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return "word " + std::to_string(first) + " is " + std::to_string(got[first]) + ", expected " +
         std::to_string(expected[first]) + " (" + std::to_string(wrong) + " of " +
         std::to_string(expected.size()) + " differ)";
}

// Runs the test. `step` always names the current step, for the handler of an exception.
Finding copy_and_compute(const accel::Device& device, std::string& step) {
  step = "initialise the device";
  const accel::Context context(device);
  accel::Queue queue(context);
  const auto module = accel::Module::load(context, "basic");
  const accel::Kernel transform(module, "transform");

  step = "copy to the device";
  const Words sent = accel::noise_words(kWords, kNoise);
  const auto in = accel::device_copy(queue, context, sent);
  const auto out = accel::device_copy(queue, context, Words(kWords));
  step = "run the kernel";
  queue.launch(transform, accel::cover(kWords, kGroup),
               accel::arguments(in, out, kSeed, static_cast<std::uint32_t>(kWords)));
  queue.synchronize();
  step = "copy from the device";
  const Words kept = accel::read_as<std::uint32_t>(queue, context, in);
  const Words made = accel::read_as<std::uint32_t>(queue, context, out);

  if (auto wrong = first_difference(sent, kept); !wrong.empty())
    return {Result::kFail, "compare the copied bytes", wrong};
  if (auto wrong = first_difference(transformed(sent), made); !wrong.empty())
    return {Result::kFail, "compare the result of the kernel", wrong};
  return {};
}

const char* to_string(Result result) {
  switch (result) {
    case Result::kPass:
      return "pass";
    case Result::kFail:
      return "fail";
    case Result::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Finding examine(accel::Device device) {
  std::string step;
  try {
    return copy_and_compute(device, step);
  } catch (const suite::Skipped& skipped) {
    return {Result::kUnknown, step, skipped.reason()};
  } catch (const std::exception& error) {
    return {Result::kFail, step, error.what()};
  }
}

// Resets the card of the device and all work on it.
Finding reset(accel::Device device) {
  const std::string step = "reset the device";
  try {
    device.try_reset().or_throw();
    return {};
  } catch (const suite::Skipped& skipped) {
    return {Result::kUnknown, step, skipped.reason()};
  } catch (const std::exception& error) {
    return {Result::kFail, step, error.what()};
  }
}

}  // namespace
}  // namespace proctor::health

namespace {

using proctor::health::Finding;
using proctor::health::Result;
using Clock = std::chrono::steady_clock;

constexpr int kSomeUnhealthy = 1;
constexpr int kUsage = 2;
constexpr int kUnknown = 3;

bool write_line(int fd, const std::string& device, const Finding& finding, Clock::duration spent) {
  const nlohmann::json document = {
      {"v", 1},
      {"device", device},
      {"result", to_string(finding.result)},
      {"step", finding.result == Result::kPass ? "" : finding.step},
      {"detail", finding.detail},
      {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(spent).count()}};
  const std::string line = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

// Returns the finding if there is no visible device.
Finding without_device() {
  try {
    if (!proctor::accel::Device::list().empty()) return {};
    return {Result::kFail, "list the devices", "none is visible"};
  } catch (const proctor::suite::Skipped& skipped) {
    if (skipped.reason() == "no_device") return {Result::kFail, "list the devices", "none is visible"};
    return {Result::kUnknown, "list the devices", skipped.reason()};
  } catch (const std::exception& error) {
    return {Result::kFail, "list the devices", error.what()};
  }
}

int exit_code(Result worst) {
  if (worst == Result::kFail) return kSomeUnhealthy;
  return worst == Result::kUnknown ? kUnknown : 0;
}

int judge_all(int fd, Finding (*judge)(proctor::accel::Device)) {
  const auto began = Clock::now();
  if (const Finding none = without_device(); none.result != Result::kPass) {
    return write_line(fd, "", none, Clock::now() - began) ? exit_code(none.result) : kUnknown;
  }
  Result worst = Result::kPass;
  for (const auto& device : proctor::accel::Device::list()) {
    const auto start = Clock::now();
    const Finding finding = judge(device);
    if (!write_line(fd, proctor::accel::describe(device), finding, Clock::now() - start)) return kUnknown;
    if (worst != Result::kFail && finding.result != Result::kPass) worst = finding.result;
  }
  return exit_code(worst);
}

}  // namespace

int main(int argc, char** argv) {
  const bool reset = argc == 2 && std::string_view(argv[1]) == "--reset";
  if (argc > 1 && !reset) {
    std::cerr << "usage: " << argv[0] << " [--reset]\n";
    return kUsage;
  }
  const char* events = std::getenv(proctor::child::kEventsFdVariable);
  const int fd = events != nullptr && *events != '\0' ? std::atoi(events) : STDOUT_FILENO;
  // Exits without destructors and exit handlers. The exit handlers of a driver can hang on a faulty device.
  _exit(judge_all(fd, reset ? proctor::health::reset : proctor::health::examine));
}
