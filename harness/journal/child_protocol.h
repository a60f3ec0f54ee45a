// The child protocol: the lines of JSON through which a test process reports its results to Proctor. The
// protocol is public. It is text on a file descriptor, so a shell script can write it as well as a C++
// program. Proctor never reads a result from the stdout of a child. Example:
//
//   if (const char* fd = std::getenv(child::kEventsFdVariable))
//     dprintf(std::atoi(fd), "{\"v\":1,\"case\":\"Group.Name\",\"event\":\"end\",\"result\":\"pass\"}\n");
//
// Environment of every child:
//   PROCTOR_EVENTS_FD      number of an inherited descriptor; one JSON object per line, at most 64 KiB each,
//                          one write
//   PROCTOR_CASE           full id of the case (absent in discovery, and where a process runs several)
//   PROCTOR_ATTEMPT        1..
//   PROCTOR_RUN_DIR        absolute path of the run directory
//   PROCTOR_RUN_ID         id of the run. Proctor kills a process that still has it after the run.
//   PROCTOR_CONTAINMENT    id of the run, a slash, a number. All processes of one containment have the same value.
//                          Proctor kills a process that still has it after the end of this containment.
//   PROCTOR_DEVICES        JSON array with what was leased: [{"id":..,"uuid":..,"pci":..}]
//   PROCTOR_POOL           CUDA only: the same array for all devices that the run may use, which are those
//                          that the caller's own mask selects. No mask that a check builds may show more.
//   PROCTOR_SIM_TOPOLOGY   "xpu:2x2" when the devices are simulated (absent on hardware)
//   PROCTOR_SIM_DRIVER     "simgpu", Proctor's simulator, or "intel", the vendor's driver without hardware
//                          (absent on hardware)
//   PROCTOR_SELF           the path of the case's program. It is set only when the program was started
//                          through a dynamic loader, because /proc/self/exe then names the loader.
//   PROCTOR_LAUNCHER       set together with PROCTOR_SELF: a JSON array of the words that precede the program in
//                          the command. A program that starts itself again needs both.
//   PROCTOR_SIZE           smoke | ci | full | stress: how much a check does; ci when absent
//   PROCTOR_SEED           a number that selects the points of its axes at which a check runs; 0 when absent
//   PROCTOR_POINT          the only point at which the check runs: "bytes=65537,offset=3". If it is "" or absent,
//                          the check runs at as many points as the size requires.
//   PROCTOR_PROVIDER       collectives: gloo | oneccl | nccl, the library that all checks use; when absent,
//                          each check uses its own
//
// A case with ranks is one process for each rank. Each process gets its rank in the variables that torchrun
// and similar launchers set. The caller's own values of these variables never reach it:
//   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
//   MASTER_ADDR, MASTER_PORT  127.0.0.1, and a port that was free when the ranks started
//   PROCTOR_RENDEZVOUS        a directory for this case alone, empty at first, for a file store
//
// A `proctor`-kind binary understands two options:
//   --proctor-list         for each case, exits 0; all but event and case are optional:
//     {"v":1,"event":"case","case":"Group.Name","devices":N,"ranks":N,"rule":..,"source":..,
//      "severity":"gate|warn|info",
//      "needs":[TEXT..],                          the case skips itself if one is missing. The runner checks
//                                                 in advance the needs that no device can show (below).
//      "sizes":{"smoke":N,"ci":N,"full":N,"stress":N,"unit":TEXT},
//      "axes":[{"name":TEXT,"values":[TEXT..],"full":[TEXT..]}..], axes of the check (harness/base/axes.h)
//      "points":N,                                number of their points that size ci uses
//      "faults":[SPEC..],                          simulator faults that must make the case fail
//      "expects":"hang|lost|abort|mismatch",      how such a fault ends the case, if not by a failed assertion
//      "batch":true}                               --proctor-cases= may name it
//   --proctor-case=NAME    runs exactly that case, and writes
//     {"v":1,"case":NAME,"event":"start","t_ns":N,"rule":..,"source":..,"severity":..}
//     {"v":1,"case":NAME,"event":"step","t_ns":N,"name":TEXT}
//     {"v":1,"case":NAME,"event":"measure","name":..,"value":..,"unit":..,"n":..,"spread":..}
//     {"v":1,"case":NAME,"event":"property","name":..,"value":..}
//     {"v":1,"case":NAME,"event":"trial","ok":true,"devices":[{"role":TEXT,"device":TEXT}..]}
//                                                 one operation with several devices, and whether it was correct.
//                                                 The roles: "source", "target", "reader", "host", or "".
//     {"v":1,"case":NAME,"event":"skip","reason":"needs:devices>=2"}
//     {"v":1,"case":NAME,"event":"fail","t_ns":N,"rule":..,"message":..,"file":..,"line":..,
//      "expected":..,"got":..,"device":..,
//      "reason":..}                                e.g. "driver_crash:11", becomes fail(reason)
//     {"v":1,"case":NAME,"event":"retry","message":..,"file":..,"line":..}  this try failed, and the program
//                                                 runs the case again: an attempt that passes then is flaky
//     {"v":1,"case":NAME,"event":"warn","message":..}
//     {"v":1,"case":NAME,"event":"end","result":"pass|fail|skip|error","reason":..}
//   and a case with ranks also writes
//     {"v":1,"case":NAME,"event":"leave","how":"signal:9"}  announces that this rank will end in this way before
//                                                 the others, because the check requires it: "signal:N", "exit:N",
//                                                 or "ended" by the runner after the end of the other ranks. Such
//                                                 a rank needs no `end`. "" withdraws the announcement.
//   The runner receives the events of all ranks as lines "R EVENT". R is the number of the rank.
//
//   --proctor-cases=FILE   runs the cases whose names are in FILE, a JSON array, in one process, one after the other.
//   Each lasts from its own `start` to the `start` of the next one. The runner uses it only if the list has "batch".
//
// Proctor's pytest plugin uses the same protocol, and may also run several cases in one process. A result may
// also be "xfail" or "xpass". The plugin adds
//     {"v":1,"event":"case",..,"file":..,"classname":..,"name":..,"markers":{NAME:[ARGUMENT..]}}
//     {"v":1,"event":"warn","message":..}         in a list: a warning about the suite
//     {"v":1,"case":NAME,"event":"output","text":..}
//
// The event `end` contains the verdict. If `end` is missing, the case is error(no_result). If `end`
// contradicts the exit status (fail with 0, pass with another status), the case is error(result_mismatch).
#pragma once

#include <array>
#include <cstddef>

namespace proctor::child {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kMaxEventBytes = 64 * 1024;

inline constexpr const char* kEventsFdVariable = "PROCTOR_EVENTS_FD";
inline constexpr const char* kCaseVariable = "PROCTOR_CASE";
inline constexpr const char* kAttemptVariable = "PROCTOR_ATTEMPT";
inline constexpr const char* kRunDirVariable = "PROCTOR_RUN_DIR";
inline constexpr const char* kRunIdVariable = "PROCTOR_RUN_ID";
inline constexpr const char* kContainmentVariable = "PROCTOR_CONTAINMENT";
inline constexpr const char* kDevicesVariable = "PROCTOR_DEVICES";
inline constexpr const char* kPoolVariable = "PROCTOR_POOL";
inline constexpr const char* kSimTopologyVariable = "PROCTOR_SIM_TOPOLOGY";
inline constexpr const char* kSimDriverVariable = "PROCTOR_SIM_DRIVER";
inline constexpr const char* kSelfVariable = "PROCTOR_SELF";
inline constexpr const char* kLauncherVariable = "PROCTOR_LAUNCHER";
inline constexpr const char* kSizeVariable = "PROCTOR_SIZE";
inline constexpr const char* kSeedVariable = "PROCTOR_SEED";
inline constexpr const char* kPointVariable = "PROCTOR_POINT";

inline constexpr const char* kProviderVariable = "PROCTOR_PROVIDER";
inline constexpr std::array<const char*, 3> kProviders{"gloo", "oneccl", "nccl"};

inline constexpr const char* kRankVariable = "RANK";
inline constexpr const char* kWorldSizeVariable = "WORLD_SIZE";
inline constexpr const char* kLocalRankVariable = "LOCAL_RANK";
inline constexpr const char* kLocalWorldSizeVariable = "LOCAL_WORLD_SIZE";
inline constexpr const char* kMasterAddressVariable = "MASTER_ADDR";
inline constexpr const char* kMasterPortVariable = "MASTER_PORT";
inline constexpr const char* kRendezvousVariable = "PROCTOR_RENDEZVOUS";

inline constexpr const char* kSimgpuDriver = "simgpu";  // a value of PROCTOR_SIM_DRIVER
inline constexpr const char* kIntelDriver = "intel";

// Needs that a case cannot check by itself. A vendor's driver without hardware accepts all work, reports
// success and executes nothing. Its management interface reads hardware, so it does not start.
inline constexpr const char* kExecutionNeed = "execution";
inline constexpr const char* kManagementNeed = "management";

inline constexpr const char* kListOption = "--proctor-list";
inline constexpr const char* kCaseOption = "--proctor-case=";
inline constexpr const char* kCasesOption = "--proctor-cases=";

}  // namespace proctor::child
