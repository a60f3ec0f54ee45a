// Code that a check calls throws Skipped if the check cannot run here. The check then ends as skip(reason).
// For example, suites/accel throws it for a function that the driver or the loader lacks.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace proctor::suite {

class Skipped : public std::exception {
 public:
  // "needs:devices>=2", "symbol_missing:zesInit", "unsupported:fp64"
  explicit Skipped(std::string reason) : reason_(std::move(reason)) {}
  const std::string& reason() const { return reason_; }
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

}  // namespace proctor::suite
