// Examines a suspect device. A separate contained program (health_xpu beside proctor, suites/probe) copies,
// computes and compares within a deadline. A failed examination is repeated once; after two failures a device
// is unhealthy. If the policy allows it, an unhealthy device is then reset and examined a last time. Devices
// are drained by the caller.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"

namespace boost::asio {
class io_context;
}

namespace proctor {

class ContainedProcess;
class Containment;
struct ProcessEnd;

// The result of an examination.
enum class HealthStatus {
  kPass,
  kFail,     // wrong bytes, an error, a crash, or no result in time
  kUnknown,  // no examination was possible: neither a pass nor a failure
};

// The result of all examinations of one device, with its reason.
struct HealthAnswer {
  HealthStatus status = HealthStatus::kUnknown;
  std::string words;   // the output of the program, or a sentence about the program
  bool reset = false;  // the device was reset before the last examination
  bool hung = false;   // the program did not end by itself
  // this run can no longer access the device, which may be healthy; `words` has the reason
  bool lost = false;
};

// The commands and limits for the examination of one device.
struct HealthRequest {
  std::vector<std::string> argv;  // the program, preceded by the words of a launcher
  std::vector<std::string> env;   // NAME=VALUE: makes this device, and no other, visible
  std::string directory;          // where drivers may write their files
  std::vector<int> leases;        // descriptors of the device's lease
  Milliseconds deadline{10'000};
  std::vector<std::string> reset = {};  // the command that resets the device; empty: no reset is allowed
};

// Runs examinations of devices on the loop, any number at the same time.
class HealthChecks {
 public:
  static constexpr int kExaminations = 2;  // failures after which a device is unhealthy
  // Called from the loop.
  using OnAnswer = std::function<void(const HealthAnswer&)>;

  HealthChecks(boost::asio::io_context& io, Containment& containment) : io_(io), containment_(containment) {}
  HealthChecks(const HealthChecks&) = delete;
  HealthChecks& operator=(const HealthChecks&) = delete;

  // Calls `on_answer` with the last result and with the words of all examinations.
  void examine(HealthRequest request, OnAnswer on_answer);
  // Ends all examinations and drops their callbacks.
  void give_up();
  // Calls `stopped`, from the loop, when all processes of the examinations have ended.
  void stop(std::function<void()> stopped);

 private:
  struct Examination {
    HealthRequest request;
    OnAnswer on_answer;  // empty: the result is dropped
    int failed = 0;
    enum class Reset { kNo, kRunning, kDone } reset = Reset::kNo;
    std::string words{};
    std::string line{};  // the program's first line that is not a pass, else its last line
    std::shared_ptr<ContainedProcess> process{};
  };
  using Position = std::list<Examination>::iterator;

  void start(Position position, const std::vector<std::string>& argv);
  void on_end(Position position, const ProcessEnd& end);
  // Returns the command of the next step of the examination; null if this result is final.
  const std::vector<std::string>* next(Examination& examination, const HealthAnswer& answer);

  boost::asio::io_context& io_;
  Containment& containment_;
  std::list<Examination> running_;
  std::function<void()> stopped_;
};

// Returns the result of one run of the program. `line` is its output.
HealthAnswer judge_health(const ProcessEnd& end, std::string_view line, Milliseconds deadline);

// Examines one device on a private loop. Used by commands.
HealthAnswer examine_now(Containment& containment, HealthRequest request);

// Returns the path of "health_xpu" in the directory of the programs; "" if this backend has no such program.
std::string health_program(std::string_view backend, const std::string& programs);

}  // namespace proctor
