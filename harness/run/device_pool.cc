#include "harness/run/device_pool.h"

#include <algorithm>

namespace proctor {

std::optional<std::vector<std::string>> DevicePool::lease(const std::string& backend, int count) {
  if (!width(backend)) return shared_ids(backend);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < devices_.size() && static_cast<int>(chosen.size()) < count; ++i) {
    if (devices_[i].device.backend == backend && !busy_[i]) chosen.push_back(i);
  }
  if (static_cast<int>(chosen.size()) < count) return std::nullopt;
  std::vector<std::string> ids;
  for (const auto i : chosen) {
    busy_[i] = true;
    ids.push_back(devices_[i].device.id);
  }
  return ids;
}

std::vector<std::string> DevicePool::shared_ids(const std::string& backend) const {
  std::vector<std::string> ids;
  for (const auto& entry : devices_) {
    if (entry.device.backend == backend && entry.shared) ids.push_back(entry.device.id);
  }
  return ids;
}

void DevicePool::release(const std::vector<std::string>& ids) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (std::find(ids.begin(), ids.end(), devices_[i].device.id) != ids.end()) busy_[i] = false;
  }
}

void DevicePool::retire(const std::vector<std::string>& ids) {
  for (std::size_t i = devices_.size(); i-- > 0;) {
    if (devices_[i].shared || std::find(ids.begin(), ids.end(), devices_[i].device.id) == ids.end()) continue;
    devices_.erase(devices_.begin() + static_cast<std::ptrdiff_t>(i));
    busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool DevicePool::can_ever_lease(const std::string& backend, int count) const {
  const auto most = width(backend);
  return !most || *most >= count;
}

std::optional<int> DevicePool::width(const std::string& backend) const {
  int count = 0;
  for (const auto& entry : devices_) {
    if (entry.device.backend != backend) continue;
    if (entry.shared) return std::nullopt;
    ++count;
  }
  return count;
}

}  // namespace proctor
