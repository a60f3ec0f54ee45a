// The checks of a suite process, and the translation of GoogleTest's events to Proctor's. check.cc and run_main.cc
// use them. A process has one such object, because it has one GoogleTest registry.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suites/main/check_info.h"
#include "suites/main/lease_check.h"

namespace proctor::suite {

// Writes the events of a case to the descriptor from Proctor, with one write() per line. Writes nothing if there
// is no descriptor.
class EventWriter {
 public:
  // If `fd` is negative, nothing is written.
  explicit EventWriter(int fd) : fd_(fd) {}
  // The writer for PROCTOR_EVENTS_FD. It is an error if the variable is set but is not an open descriptor. The
  // caller must not ignore this error.
  static EventWriter from_environment();

  bool listening() const { return fd_ >= 0; }
  // Adds "v", "case" and "event". Shortens texts that are too long for one line.
  void write(std::string_view case_name, std::string_view event,
             nlohmann::json fields = nlohmann::json::object());

 private:
  int fd_;
};

// Shortens the text to at most `most` bytes, with a visible mark at removed text.
std::string shortened(const std::string& text, std::size_t most);

// The checks of this process and the state of the current one.
class Session {
 public:
  static Session& get();

  void add(const CheckInfo& info);
  // All checks, in the order of registration.
  const std::vector<CheckInfo>& checks() const { return checks_; }
  const CheckInfo* find(const std::string& full_name) const;

  // Installs the GoogleTest listener, which writes the events.
  void listen(EventWriter writer);

  void emit(std::string_view event, nlohmann::json fields);
  // Adds the time (CLOCK_MONOTONIC, as in the simulator's fault log).
  void emit_timed(std::string_view event, nlohmann::json fields);
  void skip(const std::string& reason);
  // The current check; null outside of a check.
  const CheckInfo* current() const { return current_; }
  const std::string& parameter() const { return parameter_; }
  // smoke, ci, full or stress, from PROCTOR_SIZE (default: ci). Any other value ends the process.
  const std::string& size();
  // Makes each check compare the visible devices with its lease before its body.
  void compare_with_lease(VisibleDevices visible) { visible_ = std::move(visible); }
  // The difference between the lease and the visible devices; "": there is none, or there is nothing to compare.
  std::string difference_from_lease();
  // Makes the current check end as error(reason).
  void end_as_error(std::string reason) { error_reason_ = std::move(reason); }
  void expect_failure(Mismatch mismatch) {
    next_failure_ = std::move(mismatch);
    ++failures_;
  }
  // The number of failures of the current check.
  std::size_t failures() const { return failures_; }
  // The current point of the check's axes, for messages; "": none.
  const std::string& point() const { return point_; }
  void set_point(std::string point) { point_ = std::move(point); }

 private:
  class Listener;

  void start(const std::string& case_name);
  void fail(const testing::TestPartResult& part);
  void end(const testing::TestResult& result);

  std::vector<CheckInfo> checks_;
  std::map<std::string, std::size_t> index_;
  EventWriter writer_{-1};
  VisibleDevices visible_;
  std::string size_;

  // The state of the current case.
  std::string case_name_;
  const CheckInfo* current_ = nullptr;
  std::string parameter_;
  std::string skip_reason_;
  std::string fail_reason_;
  std::string error_reason_;
  std::optional<Mismatch> next_failure_;
  std::size_t failures_ = 0;
  std::string point_;
};

}  // namespace proctor::suite
