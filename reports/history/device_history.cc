#include "reports/history/device_history.h"

#include <algorithm>

namespace proctor {
namespace {

// "xpu.driver" of "xpu:0000:03:00.0" and of "xpu-sim:0".
std::string driver_of(const std::string& device, const std::vector<StackFact>& stack) {
  const std::string name = device.substr(0, device.find_first_of(":-")) + ".driver";
  const auto fact = std::ranges::find(stack, name, &StackFact::name);
  return fact == stack.end() ? "" : fact->value.value_or("");
}

// The columns that are not aggregated are from the newest run of the device, as SQLite defines for max().
constexpr const char* kDeviceSums = R"(
SELECT host, name, model, started, stack, count(*), sum(attempts), sum(failed_attempts), sum(drained),
       max(started || ' ' || run_id)
  FROM used_device JOIN run ON run.id = used_device.run JOIN device ON device.id = used_device.device
 WHERE started >= ? GROUP BY host, name ORDER BY host, name
)";

}  // namespace

Result<DevicesAnswer> devices_in(History& history, const std::string& since) {
  DevicesAnswer answer;
  const auto done = history.read([&](Database& database) {
    Statement count(database, "SELECT count(*) FROM run WHERE started >= ?");
    if (count.bind(since).step()) answer.runs = count.integer(0);
    Statement row(database, kDeviceSums);
    for (row.bind(since); row.step();) {
      const std::string device(row.text(1));
      answer.devices.push_back({.host = std::string(row.text(0)),
                                .device = device,
                                .model = std::string(row.text(2)),
                                .last_seen = std::string(row.text(3)),
                                .driver = driver_of(device, read_stack(database, row.integer(4))),
                                .runs = row.integer(5),
                                .attempts = row.integer(6),
                                .failed_attempts = row.integer(7),
                                .drains = row.integer(8)});
    }
  });
  if (!done) return done.error();
  return answer;
}

}  // namespace proctor
