// Queries of the management interface, made by a second process that does nothing else. The checks of this folder
// use them. A query that hangs costs no more than its time limit, and the failure names the query. Example:
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

// Result: {"used": bytes, "total": bytes}, the memory on the card.
inline constexpr const char* kMemoryQuery = by_vendor("zesMemoryGetState", "nvmlDeviceGetMemoryInfo");
// Result: {"PID": bytes, ...}, the memory of each process.
inline constexpr const char* kProcessesQuery =
    by_vendor("zesDeviceProcessesGetState", "nvmlDeviceGetComputeRunningProcesses_v3");
// Result: {"corrected": number, "uncorrected": number}, the errors that the card has counted since its driver
// started.
inline constexpr const char* kErrorsQuery = by_vendor("zesRasGetState", "nvmlDeviceGetTotalEccErrors");
// Result: {"width", "generation", "max_width", "max_generation"} of the link to the host.
inline constexpr const char* kLinkQuery = by_vendor("zesDevicePciGetState", "nvmlDeviceGetCurrPcieLinkWidth");
// Result: {"replays": number}, the packets that the link to the host has repeated.
inline constexpr const char* kReplaysQuery =
    by_vendor("zesDevicePciGetStats", "nvmlDeviceGetPcieReplayCounter");
// Result: {"reason": text}, the cause for which the card requires a reset; "": the card requires none.
inline constexpr const char* kResetQuery = by_vendor("zesDeviceGetState", "nvmlDeviceGetFieldValues");
// Result: {"throttled": [word, ...]}, the causes of a reduced clock: heat or insufficient power.
inline constexpr const char* kThrottleQuery =
    by_vendor("zesFrequencyGetState", "nvmlDeviceGetCurrentClocksThrottleReasons");
// Result: {"pci": "0000:03:00.0"}, the address of the card.
inline constexpr const char* kAddressQuery =
    by_vendor("zesDevicePciGetProperties", "nvmlDeviceGetPciInfo_v3");

// A query, named after its function. The second process runs `ask`. If the card or the library lacks the function,
// the result is a skip.
struct Query {
  std::string function;
  nlohmann::json (*ask)(const Device& card);
};
// All queries of the vendor. The queries above are among them.
const std::vector<Query>& management_queries();

// A second process that makes queries, seen from the check. The constructor starts it and waits until the
// management interface has started.
class Asker {
 public:
  Asker();
  // Makes one query. The check fails if no reply comes in time. It is skipped if the card does not support the
  // query, or if the user lacks the permission. An error of the driver is reported as a failure.
  nlohmann::json ask(const std::string& function);
  // Like ask(), but returns null instead of skipping the check.
  nlohmann::json try_ask(const std::string& function);

 private:
  suite::Helper helper_;
};

}  // namespace proctor::accel
