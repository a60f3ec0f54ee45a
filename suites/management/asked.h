// Queries of the management interface that a second process asks, which does nothing else. A query that hangs costs
// no more than its limit, and the failure names it. Example:
//
//   Asker asker;
//   const auto used = asker.ask(kMemoryQuery).at("used").get<std::uint64_t>();
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "suites/accel/accel.h"
#include "suites/accel/vendor.h"
#include "suites/main/helper.h"

namespace proctor::accel {

inline constexpr std::chrono::seconds kQueryLimit{5};

// {"used": bytes, "total": bytes} of the card's own memory.
inline constexpr const char* kMemoryQuery = by_vendor("zesMemoryGetState", "nvmlDeviceGetMemoryInfo");
// {"PID": bytes, ...}
inline constexpr const char* kProcessesQuery =
    by_vendor("zesDeviceProcessesGetState", "nvmlDeviceGetComputeRunningProcesses_v3");
// {"corrected": number, "uncorrected": number} of errors that the card has counted since the start of its driver.
inline constexpr const char* kErrorsQuery = by_vendor("zesRasGetState", "nvmlDeviceGetTotalEccErrors");
// {"width", "generation", "max_width", "max_generation"} of the link to the host.
inline constexpr const char* kLinkQuery = by_vendor("zesDevicePciGetState", "nvmlDeviceGetCurrPcieLinkWidth");
// {"replays": number} of packets that this link has repeated.
inline constexpr const char* kReplaysQuery =
    by_vendor("zesDevicePciGetStats", "nvmlDeviceGetPcieReplayCounter");
// {"reason": text}: why the card wants to be reset; "": it does not.
inline constexpr const char* kResetQuery = by_vendor("zesDeviceGetState", "nvmlDeviceGetFieldValues");
// {"throttled": [word, ...]}: why the clock is held down by heat or for want of power.
inline constexpr const char* kThrottleQuery =
    by_vendor("zesFrequencyGetState", "nvmlDeviceGetCurrentClocksThrottleReasons");
// {"pci": "0000:03:00.0"}
inline constexpr const char* kAddressQuery =
    by_vendor("zesDevicePciGetProperties", "nvmlDeviceGetPciInfo_v3");

// A query has the name of its function. A card or a library that lacks it: the second process says so as a skip.
struct Query {
  std::string function;
  nlohmann::json (*ask)(const Device& card);
};
// Each vendor has its own. Those above are among them.
const std::vector<Query>& management_queries();

class Asker {
 public:
  Asker();
  // The check ends as a failure where there is no answer, and as a skip where the card does not support the query or
  // this user may not ask. An error of the driver is reported.
  nlohmann::json ask(const std::string& function);
  // The same, and null instead of the skip.
  nlohmann::json try_ask(const std::string& function);

 private:
  suite::Helper helper_;
};

}  // namespace proctor::accel
