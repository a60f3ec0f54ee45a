// The checks of doctor, each a pure function of a host, and what they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"
#include "harness/doctor/host.h"

namespace proctor {

enum class HostState { kOk, kWarn, kBroken };
std::string_view to_string(HostState state);

struct HostFinding {
  HostState state = HostState::kOk;
  std::string check{};  // "host-driver"; "known-bad:ID" for a rule
  std::string what{};   // what was found
  std::string where{};  // the file or device that shows it
  std::string fix{};    // one line that repairs it; "" if there is nothing to repair
  std::vector<std::string> sources{};
};

using HostFindings = std::vector<HostFinding>;

// What a stack demands of the host that runs it (docker/stacks, [host]).
struct HostMinimum {
  std::string stack{};
  std::string driver{};
  std::string minimum{};
  std::string source{};
};

class Examination {
 public:
  explicit Examination(const Host& host) : host_(host) {}

  const Host& host() const { return host_; }
  void ok(std::string check, std::string what, std::string where = {}) {
    add({HostState::kOk, std::move(check), std::move(what), std::move(where), {}, {}});
  }
  void add(HostFinding finding) { findings_.push_back(std::move(finding)); }
  // Chooses between the fix for a machine and the fix for a container on it.
  std::string fix(const std::string& on_machine, const std::string& in_container) const {
    return host_.container ? in_container : on_machine;
  }
  HostFindings take() { return std::move(findings_); }

 private:
  const Host& host_;
  HostFindings findings_;
};

// The toolkit's stub directory holds libraries to link with, without a driver behind them.
bool is_stub(const FoundLibrary& library);
// The first library of that name that is no stub, or null.
const FoundLibrary* real_library(const Host& host, const std::string& name);

void check_nodes(Examination& examination);
void check_permissions(Examination& examination);
void check_device_rules(Examination& examination, Backend backend);
void check_by_path(Examination& examination);
void check_nvidia_driver(Examination& examination);
void check_nvidia_versions(Examination& examination);
void check_host_minimum(Examination& examination, const std::vector<HostMinimum>& table);
void check_cdi(Examination& examination);
void check_mig(Examination& examination);
void check_stubs(Examination& examination);
void check_level_zero(Examination& examination);
void check_intel_generations(Examination& examination);
void check_memory_use(Examination& examination);

}  // namespace proctor
