// health_xpu, health_cuda [--reset]
//
// Says for every visible device whether it is healthy, or whether it could be reset. It writes one line of
// JSON per device to PROCTOR_EVENTS_FD, else to the standard output:
//
//   {"v":1,"device":"Simulated Intel GPU 0000:03:00.0","result":"pass"|"fail"|"unknown","step":TEXT,
//    "detail":TEXT,"ms":N}
//
// `step` and `detail` are empty for a pass. Without a visible device there is one line, with an empty
// `device`. Exit code: 0 all are healthy; 1 one is not, or none is visible; 3 this cannot be told (a library
// or the kernel is missing); 2 usage. The caller sets the deadline: a device that hangs, hangs this program.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/journal/child_protocol.h"
#include "suites/accel/check_fixture.h"
#include "suites/main/skipped.h"
#include "suites/probe/health.h"

namespace {

using proctor::health::Finding;
using proctor::health::Result;
using Clock = std::chrono::steady_clock;

constexpr int kSomeSick = 1;
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

// None is there to be examined.
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
  if (worst == Result::kFail) return kSomeSick;
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
  // No destructor of a driver may spoil the answer: exit handlers are where sick drivers hang.
  _exit(judge_all(fd, reset ? proctor::health::reset : proctor::health::examine));
}
