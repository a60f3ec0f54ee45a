// Examines a device under suspicion: a contained program of its own (health_xpu beside proctor, suites/probe)
// copies, computes and compares, under a deadline. A failed examination is repeated once; a device is sick
// after two failures. If the policy allows it, a sick device is then reset and examined a last time.
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

enum class HealthStatus {
  kPass,
  kFail,     // wrong bytes, an error, a crash, or no answer in time
  kUnknown,  // it could not be examined: counts neither as a pass nor as a failure
};

struct HealthAnswer {
  HealthStatus status = HealthStatus::kUnknown;
  std::string words;   // what the program said, or a sentence about it
  bool reset = false;  // the device was reset before the last examination
  bool hung = false;   // the program had to be ended
  bool lost = false;   // the device may be well, but this run cannot reach it any more; `words` says why
};

struct HealthRequest {
  std::vector<std::string> argv;  // the program, with the words that must stand before it
  std::vector<std::string> env;   // NAME=VALUE: shows the program this device and no other
  std::string directory;          // where drivers may write their files
  std::vector<int> leases;        // descriptors of the device's lease
  Milliseconds deadline{10'000};
  std::vector<std::string> reset = {};  // the command that resets the device; empty: it must not be reset
};

class HealthChecks {
 public:
  static constexpr int kExaminations = 2;  // so many failures make a device sick
  // Called from the loop.
  using OnAnswer = std::function<void(const HealthAnswer&)>;

  HealthChecks(boost::asio::io_context& io, Containment& containment) : io_(io), containment_(containment) {}
  HealthChecks(const HealthChecks&) = delete;
  HealthChecks& operator=(const HealthChecks&) = delete;

  // Answers with the last result and with the words of all examinations.
  void examine(HealthRequest request, OnAnswer on_answer);
  // Ends all examinations; their answers are forgotten.
  void give_up();
  // Calls `gone`, from the loop, when no process of the examinations is left.
  void stop(std::function<void()> stopped);

 private:
  struct Examination {
    HealthRequest request;
    OnAnswer on_answer;  // none: the answer is forgotten
    int failed = 0;
    enum class Reset { kNo, kRunning, kDone } reset = Reset::kNo;
    std::string words{};
    std::string line{};  // the program's first line that is no pass, else its last line
    std::shared_ptr<ContainedProcess> process{};
  };
  using Position = std::list<Examination>::iterator;

  void start(Position position, const std::vector<std::string>& argv);
  void on_end(Position position, const ProcessEnd& end);
  // Whether the examination goes on after this answer, and with what.
  const std::vector<std::string>* next(Examination& examination, const HealthAnswer& answer);

  boost::asio::io_context& io_;
  Containment& containment_;
  std::list<Examination> running_;
  std::function<void()> stopped_;
};

// What one run of the program means. `line` is its answer.
HealthAnswer judge_health(const ProcessEnd& end, std::string_view line, Milliseconds deadline);

// Examines one device on a private loop. For commands.
HealthAnswer examine_now(Containment& containment, HealthRequest request);

// "health_xpu" in the directory of the programs; "" when there is none for this backend.
std::string health_program(std::string_view backend, const std::string& programs);

}  // namespace proctor
