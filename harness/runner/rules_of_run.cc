#include "harness/runner/rules_of_run.h"

#include <utility>

namespace proctor::runner {

std::optional<KnownVerdict> CaseRulesOfRun::known_failure(const Suite& suite, const Case& test,
                                                          const std::vector<std::string>& devices,
                                                          const Verdict& verdict) {
  Surroundings where{.stack = {devices_.stack.begin(), devices_.stack.end()},
                     .backend = std::string(to_string(suite.backend))};
  for (const std::string& id : devices) {
    if (const PoolDevice* entry = devices_.find(id)) where.models.push_back(entry->device.name);
  }
  const KnownFailure* entry = list_.match(test.id, where, today_utc());
  const Verdict known = apply(entry, verdict);
  if (std::string warning = unmet_prediction(entry, verdict, test.id, where); !warning.empty())
    return KnownVerdict{.verdict = known, .warning = std::move(warning)};
  if (known == verdict) return std::nullopt;
  return KnownVerdict{.verdict = known, .source = entry->source, .at = entry->origin};
}

std::optional<HealthRequest> DeviceRulesOfRun::health_request(const std::string& device) {
  auto request = machine_.health_request(devices_, device, environments_, may_reset_);
  return request ? *std::move(request) : std::nullopt;
}

std::string DeviceRulesOfRun::why_lost(const std::string& device) {
  const PoolDevice* entry = devices_.find(device);
  return access_ != nullptr && entry != nullptr ? access_->why_lost(entry->device.backend) : std::string();
}

}  // namespace proctor::runner
