#include "harness/runner/schedule/group_devices.h"

#include <algorithm>

namespace proctor {

void GroupDevices::enter(const std::string& case_id, bool doubt, DeviceVisits::OnEntry done) {
  visits_.enter(ids_, case_id, doubt, std::move(done));
}

void GroupDevices::leave(const std::string& case_id, bool doubt, DeviceVisits::OnLeft done) {
  visits_.leave(ids_, case_id, doubt, [this, done = std::move(done)](const DeviceVisits::Left& left) {
    lost_ = lost_ || left.any_sick;
    done(left);
  });
}

void GroupDevices::drain_unreapable(const std::string& case_id) {
  lost_ = true;
  for (const auto& device : ids_)
    visits_.drain(device, "unreapable", "a process of " + case_id + " does not die", case_id);
}

bool GroupDevices::lose(const std::string& device) {
  if (std::ranges::find(ids_, device) == ids_.end()) return false;
  lost_ = true;
  retire();  // dirty: nobody waits for the others' memory either
  return true;
}

}  // namespace proctor
