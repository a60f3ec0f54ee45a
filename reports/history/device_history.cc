#include "reports/history/device_history.h"

#include <algorithm>
#include <map>
#include <utility>

namespace proctor {
namespace {

// "xpu.driver" of "xpu:0000:03:00.0" and of "xpu-sim:0".
std::string driver_of(const std::string& device, const std::vector<StackFact>& stack) {
  const std::string name = device.substr(0, device.find_first_of(":-")) + ".driver";
  const auto fact = std::ranges::find(stack, name, &StackFact::name);
  return fact == stack.end() ? "" : fact->value.value_or("");
}

}  // namespace

Result<DevicesAnswer> devices_in(History& history, const std::string& since) {
  DevicesAnswer answer;
  const auto done = history.read([&](Database& database) {
    std::map<std::pair<std::string, std::string>, DeviceHistory> found;
    std::map<std::pair<std::string, std::string>, std::int64_t> stacks;
    Statement count(database, "SELECT count(*) FROM run WHERE started >= ?");
    if (count.bind(since).step()) answer.runs = count.integer(0);
    Statement row(
        database,
        "SELECT host, name, model, started, attempts, failed_attempts, drained, stack FROM used_device "
        "JOIN run ON run.id = used_device.run JOIN device ON device.id = used_device.device "
        "WHERE started >= ? ORDER BY started, run_id");
    for (row.bind(since); row.step();) {
      const std::pair<std::string, std::string> key(row.text(0), row.text(1));
      DeviceHistory& device = found[key];
      device.host = key.first;
      device.device = key.second;
      device.model = row.text(2);
      device.last_seen = row.text(3);
      ++device.runs;
      device.attempts += row.integer(4);
      device.failed_attempts += row.integer(5);
      device.drains += row.integer(6);
      stacks[key] = row.integer(7);
    }
    for (auto& [key, device] : found) {
      device.driver = driver_of(device.device, read_stack(database, stacks[key]));
      answer.devices.push_back(std::move(device));
    }
  });
  if (!done) return done.error();
  return answer;
}

}  // namespace proctor
