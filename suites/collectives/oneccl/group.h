// A group of ranks over oneCCL, on host memory: one rank per process.
//
// Nothing ends a waiting operation: oneCCL has neither a timeout nor, on the host, an abort. A rank that
// waits for a rank that is gone spins until the runner ends it.
#pragma once

#include <atomic>
#include <string>

#include "suites/collectives/oneccl/api.h"
#include "suites/collectives/provider.h"

namespace proctor::collectives::oneccl {

bool has(Operation operation, Reduction reduction);

class CclGroup final : public Group {
 public:
  CclGroup(const Api& api, const GroupSpec& spec) : api_(api), spec_(spec) {}
  ~CclGroup() override;

  Answer connect();
  Answer run(const Call& call) noexcept override;
  void set_timeout(std::chrono::milliseconds) noexcept override {}  // it has none
  Answer abort() noexcept override;

 private:
  Answer answer_of(const char* what, Code code) const;
  Code execute(const Call& call);

  const Api& api_;
  const GroupSpec spec_;
  Communicator* communicator_ = nullptr;
  std::atomic<bool> aborted_{false};
};

}  // namespace proctor::collectives::oneccl
