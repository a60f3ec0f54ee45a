#include "reports/accept/attribution.h"

#include <algorithm>
#include <map>
#include <set>

namespace proctor {
namespace {

// The trials of one case, and the parts that they clear.
class Trials {
 public:
  explicit Trials(const std::vector<TrialResult>& trials) {
    std::set<std::vector<TrialPart>> failed;
    for (const TrialResult& trial : trials) {
      if (trial.ok) continue;
      failed.insert(sorted(trial.parts));
      for (const TrialPart& part : trial.parts) failed_with_[part].insert(others_of(trial, part.device));
    }
    for (const TrialResult& trial : trials) {
      if (trial.ok && !failed.contains(sorted(trial.parts)))
        cleared_.insert(trial.parts.begin(), trial.parts.end());
    }
  }

  static std::vector<std::string> devices_of(const TrialResult& trial) {
    std::set<std::string> devices;
    for (const TrialPart& part : trial.parts) devices.insert(part.device);
    return {devices.begin(), devices.end()};
  }

  // Returns the guilty device of a failed trial; "" if no device is proven guilty.
  std::string guilty_of(const TrialResult& trial) const {
    if (devices_of(trial).size() == 1) return trial.parts.front().device;
    const auto suspects = suspects_of(trial);
    if (suspects.size() != 1) return {};
    const auto partners = failed_with_.find(suspects.front());
    return partners != failed_with_.end() && partners->second.size() > 1 ? suspects.front().device : "";
  }

  // Returns the parts that no trial clears.
  std::vector<TrialPart> suspects_of(const TrialResult& trial) const {
    std::vector<TrialPart> suspects;
    for (const TrialPart& part : trial.parts) {
      if (!cleared_.contains(part)) suspects.push_back(part);
    }
    return suspects;
  }

 private:
  static std::vector<TrialPart> sorted(std::vector<TrialPart> parts) {
    std::ranges::sort(parts);
    return parts;
  }

  static std::vector<std::string> others_of(const TrialResult& trial, const std::string& device) {
    auto others = devices_of(trial);
    std::erase(others, device);
    return others;
  }

  std::set<TrialPart> cleared_;
  std::map<TrialPart, std::set<std::vector<std::string>>> failed_with_;
};

}  // namespace

std::vector<std::string> guilty_devices(const std::vector<TrialResult>& trials) {
  const Trials all(trials);
  std::set<std::string> guilty;
  for (const TrialResult& trial : trials) {
    if (std::string device = trial.ok ? "" : all.guilty_of(trial); !device.empty())
      guilty.insert(std::move(device));
  }
  return {guilty.begin(), guilty.end()};
}

std::vector<Attribution> attribute(const std::vector<TrialResult>& trials,
                                   const std::function<bool(const std::string& device)>& is_guilty) {
  using Kind = Attribution::Kind;
  const Trials all(trials);
  std::vector<Attribution> attributions;
  for (const TrialResult& trial : trials) {
    if (trial.ok) continue;
    const auto devices = Trials::devices_of(trial);
    if (const std::string device = all.guilty_of(trial); !device.empty()) {
      attributions.push_back({Kind::kDevice, {device}});
    } else if (std::ranges::any_of(devices, is_guilty)) {
      attributions.push_back({Kind::kExplained, devices});
    } else {
      attributions.push_back(
          {all.suspects_of(trial).empty() ? Kind::kConnection : Kind::kUndecided, devices});
    }
  }
  return attributions;
}

}  // namespace proctor
