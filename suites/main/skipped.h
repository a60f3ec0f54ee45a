// How code that a check calls says that the check cannot run here: it throws Skipped, and the check ends as
// skip(reason). The layers below the suites use it for what a driver or a loader does not have.
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
