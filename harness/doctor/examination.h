// The checks of doctor. Each check is a pure function of a Host, and adds its findings to an Examination.
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

// The driver that a stack requires on its host (docker/stacks, [host]).
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
  // Selects the command for a machine, or the one for a container if the examined host is one.
  std::string fix(const std::string& on_machine, const std::string& in_container) const {
    return host_.container ? in_container : on_machine;
  }
  HostFindings take() { return std::move(findings_); }

 private:
  const Host& host_;
  HostFindings findings_;
};

// Returns whether the library is from the toolkit's stub directory. Such libraries are for linking and have no driver.
bool is_stub(const FoundLibrary& library);
// Returns the first library of that name that is not a stub, or null.
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
