// These classes give a run the rules for its cases and its devices, from the results of the earlier steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan/known_failures.h"
#include "harness/runner/device_access.h"
#include "harness/runner/machine/case_environment.h"
#include "harness/runner/machine/found_devices.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/schedule/run_setup.h"

namespace proctor::runner {

class CaseRulesOfRun : public CaseRules {
 public:
  CaseRulesOfRun(const KnownFailures& list, const FoundDevices& devices, CaseEnvironments& environments)
      : list_(list), devices_(devices), environments_(environments) {}

  Result<CaseEnvironment> environment(const Suite& suite, const std::vector<std::string>& devices) override {
    return environments_.of(suite, devices);
  }
  std::optional<KnownVerdict> known_failure(const Suite& suite, const Case& test,
                                            const std::vector<std::string>& devices,
                                            const Verdict& verdict) override;

 private:
  const KnownFailures& list_;
  const FoundDevices& devices_;
  CaseEnvironments& environments_;
};

class DeviceRulesOfRun : public DeviceRules {
 public:
  // `access`: null: no case needs a device of this machine. `may_reset`: a device that fails its probe is reset.
  DeviceRulesOfRun(Machine& machine, const FoundDevices& devices, CaseEnvironments& environments,
                   const DeviceAccess* access, bool may_reset)
      : machine_(machine),
        devices_(devices),
        environments_(environments),
        access_(access),
        may_reset_(may_reset) {}

  // None as well where the environment of the device cannot be made.
  std::optional<HealthRequest> health_request(const std::string& device) override;
  std::string why_lost(const std::string& device) override;

 private:
  Machine& machine_;
  const FoundDevices& devices_;
  CaseEnvironments& environments_;
  const DeviceAccess* access_;
  bool may_reset_;
};

}  // namespace proctor::runner
