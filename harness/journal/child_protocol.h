// The child protocol: how a test process tells Proctor what happened. It is public. Everything here is text
// on a file descriptor, so that a shell script can speak it as well as a C++ binary. What a child prints on
// stdout is never believed. Example:
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
//   PROCTOR_RUN_ID         id of the run; a process that still has it after the run is swept
//   PROCTOR_CONTAINMENT    id of the run, a slash, a number: all processes of one containment have the same; one
//                          that still has it after its end is swept
//   PROCTOR_DEVICES        JSON array with what was leased: [{"id":..,"uuid":..,"pci":..}]
//   PROCTOR_POOL           CUDA only: the same array for all devices that the run may use, which are those
//                          that the caller's own mask left. No mask that a check builds may show more.
//   PROCTOR_SIM_TOPOLOGY   "xpu:2x2" when the devices are simulated (absent on hardware)
//   PROCTOR_SIM_DRIVER     "simgpu", our own simulator, or "intel", the vendor's driver without hardware
//                          (absent on hardware)
//   PROCTOR_SELF           the path of the case's program. It is set only when the program was started
//                          through a dynamic loader, because /proc/self/exe then names the loader.
//   PROCTOR_LAUNCHER       set together with PROCTOR_SELF: a JSON array of the words that stand before the
//                          program. A program that starts itself again needs both.
//   PROCTOR_SIZE           smoke | ci | full | stress: how much a check does; ci when absent
//   PROCTOR_SEED           which points of its axes a check is tried with: a number; 0 when absent
//   PROCTOR_POINT          this point alone: "bytes=65537,offset=3"; "" or absent: as many as the size asks for
//   PROCTOR_PROVIDER       collectives: gloo | oneccl | nccl, the library that all checks use; when absent,
//                          each check uses its own
//
// A case with ranks is one process for each rank. Each process is told which rank it is in the variables that
// torchrun and its like set. The caller's own values of these variables never reach it:
//   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
//   MASTER_ADDR, MASTER_PORT  127.0.0.1, and a port that was free when the ranks started
//   PROCTOR_RENDEZVOUS        a directory for this case alone, empty at first, for a file store
//
// A `proctor`-kind binary understands two options:
//   --proctor-list         for each case, exits 0; all but event and case are optional:
//     {"v":1,"event":"case","case":"Group.Name","devices":N,"ranks":N,"rule":..,"source":..,
//      "severity":"gate|warn|info",
//      "needs":[TEXT..],                           the case skips itself without them. Needs that no
//                                                  device can show (below), the runner checks beforehand.
//      "sizes":{"smoke":N,"ci":N,"full":N,"stress":N,"unit":TEXT},
//      "axes":[{"name":TEXT,"values":[TEXT..],"full":[TEXT..]}..],  what it is tried with (harness/base/axes.h)
//      "points":N,                                 at how many of their points under size ci
//      "faults":[SPEC..],                          simulator faults that must make the case fail
//      "expects":"hang|lost|abort|mismatch",       how these end it, if not by a failed assertion
//      "batch":true}                               --proctor-cases= may name it
//   --proctor-case=NAME    runs exactly that case, and writes
//     {"v":1,"case":NAME,"event":"start","t_ns":N,"rule":..,"source":..,"severity":..}
//     {"v":1,"case":NAME,"event":"step","t_ns":N,"name":TEXT}
//     {"v":1,"case":NAME,"event":"measure","name":..,"value":..,"unit":..,"n":..,"spread":..}
//     {"v":1,"case":NAME,"event":"property","name":..,"value":..}
//     {"v":1,"case":NAME,"event":"trial","ok":true,"devices":[{"role":TEXT,"device":TEXT}..]}
//                                                 one thing that was tried with several devices, and whether it went
//                                                 right. The roles: "source", "target", "reader", "host", or "".
//     {"v":1,"case":NAME,"event":"skip","reason":"needs:devices>=2"}
//     {"v":1,"case":NAME,"event":"fail","t_ns":N,"rule":..,"message":..,"file":..,"line":..,
//      "expected":..,"got":..,"device":..,
//      "reason":..}                                e.g. "driver_crash:11", becomes fail(reason)
//     {"v":1,"case":NAME,"event":"retry","message":..,"file":..,"line":..}  this try failed, and the program
//                                                 runs the case again: an attempt that passes then is flaky
//     {"v":1,"case":NAME,"event":"warn","message":..}
//     {"v":1,"case":NAME,"event":"end","result":"pass|fail|skip|error","reason":..}
//   and a case with ranks also writes
//     {"v":1,"case":NAME,"event":"leave","how":"signal:9"}  this rank will end like that before the others,
//                                                 because the check wants it: "signal:N", "exit:N", or
//                                                 "ended" by the runner once the others are through. Such
//                                                 a rank needs no `end`. "" takes the announcement back.
//   The events of all ranks come to the runner as lines "R EVENT", with the number of the rank before them.
//
//   --proctor-cases=FILE   runs the cases whose names are in FILE, a JSON array, in one process, one after the other.
//   Each lasts from its own `start` to the `start` of the next one. Asked for only if the list says "batch".
//
// Our pytest plugin speaks the same protocol, and may run several cases in one process, too. A result may also be "xfail" or "xpass". The plugin adds
//     {"v":1,"event":"case",..,"file":..,"classname":..,"name":..,"markers":{NAME:[ARGUMENT..]}}
//     {"v":1,"event":"warn","message":..}         in a list: a warning about the suite
//     {"v":1,"case":NAME,"event":"output","text":..}
//
// The event `end` holds the verdict. Without it the case is error(no_result). When it contradicts the exit
// status (fail with 0, pass with another status) the case is error(result_mismatch).
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
