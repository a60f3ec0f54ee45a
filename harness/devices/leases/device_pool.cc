#include "harness/devices/leases/device_pool.h"

#include <algorithm>

#include "harness/base/duration.h"
#include "harness/devices/health/drained.h"

namespace proctor {
namespace {

constexpr Milliseconds kLeftOut{1'000};

}  // namespace

DevicePool::DevicePool(std::vector<PoolDevice> devices, std::optional<LeaseDirectory> leases, std::string run,
                       bool retest)
    : devices_(std::move(devices)),
      leases_(std::move(leases)),
      run_(std::move(run)),
      retest_(retest),
      busy_(devices_.size()) {}

std::optional<std::vector<std::string>> DevicePool::lease(const std::string& backend, int count,
                                                          const std::string& what,
                                                          const LeaseRequest& lease_request) {
  held_elsewhere_.clear();
  if (!width(backend)) return shared_ids(backend);
  auto free = free_devices(backend);
  std::erase_if(free, [&](const std::string& id) { return !lease_request.fits(id); });
  if (static_cast<int>(free.size()) < count) return std::nullopt;
  std::vector<std::string> ids;
  for (const auto& id : free) {
    if (static_cast<int>(ids.size()) < count && take(id, what)) ids.push_back(id);
  }
  if (static_cast<int>(ids.size()) < count) {  // another run took one in the meantime
    // A partial lease is never kept: two runs that each hold half would wait for each other.
    for (const auto& id : ids) end_lease(id, &Lease::mark_as_found);
    return std::nullopt;
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (std::find(ids.begin(), ids.end(), devices_[i].device.id) != ids.end()) busy_[i] = true;
  }
  return ids;
}

void DevicePool::drain(const std::string& id, const std::string& reason, const std::string& evidence) {
  if (leases_) {
    const DrainList list(leases_->path());
    auto drained = list.drain({.device = id, .reason = reason, .evidence = evidence, .run = run_});
    if (!drained) warnings_.push_back({WarningCode::kDrainFailed, "failed to " + drained.error().what});
    const auto there = list.find(id);
    const std::string line = there ? slurm_drain_line({*there}) : "";
    if (!line.empty())
      warnings_.push_back({WarningCode::kDeviceDrained, id + " is drained. To drain its node, too: " + line});
  }
  for (const PoolDevice& entry : devices_) {
    if (entry.device.id == id) note_drained(entry.device, reason);
  }
  retire({id});
}

void DevicePool::note_drained(const PlannedDevice& device, const std::string& reason) {
  if (reason != to_string(HealthFact::kLost)) unhealthy_[device.id] = device.backend;
}

// Another run may drain the device while this run lasts.
bool DevicePool::drained_meanwhile(const PlannedDevice& device) {
  const auto drained = leases_ ? DrainList(leases_->path()).find(device.id) : std::nullopt;
  const bool by_person = drained && drained->run.empty();
  if (!drained || (retest_ && !by_person)) return false;
  note_drained(device, drained->reason);
  const std::string line = slurm_drain_line({*drained});
  warnings_.push_back({WarningCode::kDeviceDrained,
                       describe(*drained) + (line.empty() ? "" : ". To drain its node, too: " + line)});
  return true;
}

std::vector<std::string> DevicePool::free_devices(const std::string& backend) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const PlannedDevice& device = devices_[i].device;
    if (device.backend == backend && !busy_[i] && drained_meanwhile(device)) out.push_back(device.id);
  }
  retire(out);
  std::vector<std::string> free;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const std::string& id = devices_[i].device.id;
    if (devices_[i].device.backend != backend || busy_[i]) continue;
    const auto conflict = leases_ ? leases_->conflict(id) : std::nullopt;
    if (conflict) {
      note(*conflict);
    } else if (!is_left_out(id)) {
      free.push_back(id);
    }
  }
  return free;
}

void DevicePool::note(const LeaseConflict& conflict) {
  held_elsewhere_.push_back(conflict.holder ? describe(*conflict.holder)
                                            : conflict.device + " is held by another run");
}

// A lease file that cannot be used counts as held: without the file, exclusivity is not guaranteed.
bool DevicePool::take(const std::string& id, const std::string& what) {
  if (!leases_) return true;
  auto taken = leases_->take(id, {.run = run_, .command = what});
  if (!taken) {
    held_elsewhere_.push_back("failed to " + taken.error().what);
    return false;
  }
  if (const auto* conflict = std::get_if<LeaseConflict>(&*taken)) {
    note(*conflict);
    return false;
  }
  auto& lease = std::get<Lease>(*taken);
  if (lease.left_dirty()) warnings_.push_back({WarningCode::kLeaseDirty, id + ": " + *lease.left_dirty()});
  held_.insert_or_assign(id, std::move(lease));
  return true;
}

std::vector<int> DevicePool::descriptors(const std::vector<std::string>& ids) const {
  std::vector<int> fds;
  for (const auto& id : ids) {
    if (const auto lease = held_.find(id); lease != held_.end()) fds.push_back(lease->second.fd());
  }
  return fds;
}

std::vector<std::string> DevicePool::shared_ids(const std::string& backend) const {
  std::vector<std::string> ids;
  for (const auto& entry : devices_) {
    if (entry.device.backend == backend && entry.shared) ids.push_back(entry.device.id);
  }
  return ids;
}

std::optional<std::string> DevicePool::left_dirty(const std::string& id) const {
  const auto lease = held_.find(id);
  return lease == held_.end() ? std::nullopt : lease->second.left_dirty();
}

void DevicePool::found_well(const std::string& id) {
  if (const auto lease = held_.find(id); lease != held_.end()) lease->second.found_well();
}

std::string DevicePool::endured(const std::string& id) const {
  const auto lease = held_.find(id);
  return lease == held_.end() ? "" : lease->second.endured();
}

void DevicePool::endure(const std::string& id, const std::string& others) {
  const auto lease = held_.find(id);
  if (lease == held_.end()) return;
  if (auto kept = lease->second.endure(others); !kept) {
    warnings_.push_back({WarningCode::kLease, "failed to " + kept.error().what});
  }
}

void DevicePool::leave_out(const std::string& id, const std::string& why) {
  left_out_[id] = {Clock::now() + kLeftOut, why};
}

bool DevicePool::is_left_out(const std::string& id) {
  const auto entry = left_out_.find(id);
  if (entry == left_out_.end()) return false;
  if (Clock::now() >= entry->second.until) {
    left_out_.erase(entry);
    return false;
  }
  held_elsewhere_.push_back(entry->second.why);
  return true;
}

void DevicePool::release(const std::vector<std::string>& ids) { free(ids, &Lease::mark_clean); }

void DevicePool::return_unused(const std::vector<std::string>& ids) { free(ids, &Lease::mark_as_found); }

void DevicePool::free(const std::vector<std::string>& ids, Result<void> (Lease::*mark)()) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (std::find(ids.begin(), ids.end(), devices_[i].device.id) != ids.end()) busy_[i] = false;
  }
  for (const auto& id : ids) end_lease(id, mark);
}

void DevicePool::end_lease(const std::string& id, Result<void> (Lease::*mark)()) {
  const auto lease = held_.find(id);
  if (lease == held_.end()) return;
  if (auto marked = (lease->second.*mark)(); !marked)
    warnings_.push_back({WarningCode::kLeaseRecord, "failed to " + marked.error().what});
  held_.erase(lease);
}

std::vector<std::string> DevicePool::retire_lost() {
  std::vector<std::string> lost;
  for (const auto& [id, lease] : held_) {
    const auto there = lease.still_there();
    if (there) continue;
    warnings_.push_back({WarningCode::kLeaseLost,
                         "failed to " + there.error().what +
                             "; another run may lease the device now, so this one has stopped using it"});
    lost.push_back(id);
  }
  retire(lost);
  return lost;
}

void DevicePool::retire(const std::vector<std::string>& ids) {
  // the record stays dirty; a process that does not die still holds the lease
  for (const auto& id : ids) held_.erase(id);
  for (std::size_t i = devices_.size(); i-- > 0;) {
    if (devices_[i].shared || std::find(ids.begin(), ids.end(), devices_[i].device.id) == ids.end()) continue;
    devices_.erase(devices_.begin() + static_cast<std::ptrdiff_t>(i));
    busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

int DevicePool::idle(const std::string& backend, const LeaseRequest& lease_request) const {
  int count = 0;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const PlannedDevice& device = devices_[i].device;
    if (!busy_[i] && device.backend == backend && lease_request.fits(device.id)) ++count;
  }
  return count;
}

bool DevicePool::can_ever_lease(const std::string& backend, int count,
                                const LeaseRequest& lease_request) const {
  if (!width(backend)) return true;
  return count <= std::count_if(devices_.begin(), devices_.end(), [&](const PoolDevice& entry) {
           return entry.device.backend == backend && lease_request.fits(entry.device.id);
         });
}

Reason DevicePool::why_taken_out(const std::string& backend, const LeaseRequest& lease_request) const {
  const bool unhealthy = std::ranges::any_of(unhealthy_, [&](const auto& device) {
    return device.second == backend && lease_request.fits(device.first);
  });
  return unhealthy ? Reason::kDeviceUnhealthy : Reason::kDeviceLost;
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
