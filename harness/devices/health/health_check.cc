#include "harness/devices/health/health_check.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <filesystem>
#include <utility>

#include "harness/base/json.h"
#include "harness/process/contained_process.h"

namespace proctor {
namespace {

using nlohmann::json;

// Exit codes of the program (suites/probe/main_health.cc).
constexpr int kWell = 0;
constexpr int kUnhealthy = 1;

struct Said {
  std::string result;  // "": the line could not be parsed
  std::string words;
};

Said parse_line(std::string_view line) {
  const json document = parse_json(line);
  try {  // nlohmann::json throws
    Said said{.result = document.at("result"), .words = ""};
    const std::string step = document.at("step");
    const std::string detail = document.at("detail");
    said.words = step.empty() ? detail : step + (detail.empty() ? "" : ": " + detail);
    return said;
  } catch (const json::exception&) {
    return {};
  }
}

HealthAnswer judge_exit(int code, const Said& said) {
  if (code == kWell && said.result == "pass") return {HealthStatus::kPass, "copied, computed and compared"};
  if (code == kUnhealthy && said.result == "fail") return {HealthStatus::kFail, "failed to " + said.words};
  const std::string about = said.words.empty() ? "" : " (" + said.words + ")";
  return {HealthStatus::kUnknown, fmt::format("the health probe ended with exit code {}{}", code, about)};
}

}  // namespace

HealthAnswer judge_health(const ProcessEnd& end, std::string_view line, Milliseconds deadline) {
  const Said said = parse_line(line);
  switch (end.cause) {
    case EndCause::kTimeout:
    case EndCause::kStall:
      return {.status = HealthStatus::kFail,
              .words = fmt::format("the health probe did not finish within {}", format_duration(deadline)),
              .hung = true};
    case EndCause::kSpawnFailed:
      return {HealthStatus::kUnknown,
              fmt::format("the health probe cannot be started: {}: {}", end.spawn_error->step,
                          std::strerror(end.spawn_error->err))};
    case EndCause::kGuardLost:
    case EndCause::kStopped:
      return {HealthStatus::kUnknown, "the health probe was stopped"};
    case EndCause::kExited:
      break;
  }
  if (end.exit_signal)
    return {HealthStatus::kFail, fmt::format("the health probe was killed by signal {}", *end.exit_signal)};
  return judge_exit(end.exit_code.value_or(-1), said);
}

void HealthChecks::examine(HealthRequest request, OnAnswer on_answer) {
  running_.push_back({.request = std::move(request), .on_answer = std::move(on_answer)});
  start(std::prev(running_.end()), running_.back().request.argv);
}

void HealthChecks::start(Position position, const std::vector<std::string>& argv) {
  position->line.clear();
  ProcessSpec spec;
  spec.argv = argv;
  spec.env = position->request.env;
  spec.directory = position->request.directory;
  spec.leases = position->request.leases;
  spec.events = true;
  spec.limits.timeout = position->request.deadline;
  spec.limits.fair = true;
  spec.limits.grace = Milliseconds(0);
  spec.on_event_line = [position](std::string_view line) {
    if (position->line.empty() || parse_line(position->line).result == "pass") position->line = line;
  };
  position->process = ContainedProcess::start(
      io_, containment_, std::move(spec), [this, position](const ProcessEnd& end) { on_end(position, end); });
}

void HealthChecks::on_end(Position position, const ProcessEnd& end) {
  HealthAnswer answer = judge_health(end, position->line, position->request.deadline);
  // A process that cannot be killed would still use the device during a second examination.
  const bool may_go_on = position->on_answer && !end.termination.unkillable;
  if (const auto* argv = may_go_on ? next(*position, answer) : nullptr) return start(position, *argv);
  if (position->reset == Examination::Reset::kRunning) answer.status = HealthStatus::kFail;
  answer.reset = position->reset == Examination::Reset::kDone;
  if (!position->words.empty() && position->words != answer.words)
    answer.words = position->words + "; then " + answer.words;
  const auto on_answer = std::move(position->on_answer);
  running_.erase(position);
  if (on_answer) on_answer(answer);
  if (running_.empty() && stopped_) std::exchange(stopped_, nullptr)();
}

const std::vector<std::string>* HealthChecks::next(Examination& examination, const HealthAnswer& answer) {
  using Reset = Examination::Reset;
  if (examination.reset == Reset::kRunning) {
    if (answer.status != HealthStatus::kPass) return nullptr;
    examination.reset = Reset::kDone;
    examination.words += "; then it was reset";
    return &examination.request.argv;
  }
  if (answer.status != HealthStatus::kFail || examination.reset == Reset::kDone) return nullptr;
  if (++examination.failed < kExaminations) {
    examination.words = answer.words;
    return &examination.request.argv;
  }
  if (examination.request.reset.empty()) return nullptr;
  examination.reset = Reset::kRunning;
  return &examination.request.reset;
}

void HealthChecks::give_up() {
  for (auto& examination : running_) {
    examination.on_answer = nullptr;
    examination.process->stop(SIGKILL, Milliseconds(0));
  }
}

void HealthChecks::stop(std::function<void()> stopped) {
  give_up();
  stopped_ = std::move(stopped);
  if (running_.empty()) boost::asio::post(io_, std::exchange(stopped_, nullptr));
}

HealthAnswer examine_now(Containment& containment, HealthRequest request) {
  boost::asio::io_context io(1);
  HealthChecks checks(io, containment);
  HealthAnswer result;
  checks.examine(std::move(request), [&](const HealthAnswer& answer) { result = answer; });
  io.run();
  return result;
}

std::string health_program(std::string_view backend, const std::string& programs) {
  const std::string path = fmt::format("{}/health_{}", programs, backend);
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

}  // namespace proctor
