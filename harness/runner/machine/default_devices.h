// Selects the devices of a suite whose `backend` is "auto". One rule serves a command after `--`, the suites of
// proctor.toml, `init`, `exec` and CTest. The first of these lines that applies determines the vendor:
//
//   1. written values: --gpus, --devices, the keys of the suite, the allocation of CTest. The vendor is that of the
//      library that the program needs, else that of the named devices, of the caller's mask, or of the machine
//   2. the caller's mask, if it names devices
//   3. a test program: the library that it links or opens (program_needs.h); no device if it needs no such library
//   4. pytest: one device while it lists its tests; no device if their modules import no module for GPUs
//   5. a script, another command, `exec`: one device
//
// Lines 4 and 5 select a vendor of which the machine has a discrete device. An integrated device is a default only by
// line 3. If discrete devices of both vendors exist, they select none, and a warning names the option. In a Slurm job
// without a device they select none. A suite with ranks gets no device by lines 2 and 5. Each rank would need a
// separate device, and the cases of a suite that requires too many are skipped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/backend.h"
#include "harness/base/result.h"
#include "harness/devices/environment.h"
#include "harness/frameworks/suite.h"
#include "harness/journal/events.h"
#include "harness/plan/discovery.h"
#include "harness/plan/plan.h"
#include "harness/runner/machine/found_devices.h"
#include "harness/runner/machine/program_needs.h"

namespace proctor {

class Machine;

// The facts about the machine and the caller that the rule uses. They are collected without a driver.
struct DeviceSurroundings {
  std::vector<Backend> present;    // vendors that are present, from device nodes or --sim
  std::vector<Backend> discrete;   // present vendors with a device that is not integrated
  std::map<Backend, int> named{};  // from --devices: vendor -> number of devices
  std::map<Backend, std::string>
      masks{};                    // masks of the caller that name devices: vendor -> "CUDA_VISIBLE_DEVICES=0"
  std::vector<Backend> hidden{};  // vendors whose devices the caller hides
  std::vector<Backend> allocated{};  // vendors of the devices that CTest has assigned to this test
  bool job_without_device = false;   // Slurm: the devices of this machine may belong to other jobs
  bool simulated = false;
};

// The result of the rule for one suite.
struct DefaultDevices {
  Backend backend = Backend::kNone;
  int devices = 0;
  DevicesBy by = DevicesBy::kRule;
  std::string reason{};
  bool all = false;       // every device that the mask, --devices or CTest allows, instead of one
  std::string warning{};  // how the user can assign devices; "": no warning
};

// `needed` is the result of needed_backends() for the program; empty for a script.
Result<DefaultDevices> default_devices(const Suite& suite, SuiteRole role,
                                       const std::vector<NeededBackend>& needed,
                                       const DeviceSurroundings& around);

// Applies the rule to a suite of DevicesBy::kAuto, before its cases are listed. Other suites do not change.
Result<void> choose_devices(Machine& machine, SuiteRole role, const std::string& executable, Suite& suite,
                            std::vector<Warning>& warnings);

// Applies line 4 to a suite that is still DevicesBy::kAuto, after its tests were listed. Returns true if the suite gets
// devices that its list did not have.
bool confirm_devices(const Machine& machine, bool listed_with_devices, Suite& suite,
                     std::vector<Warning>& warnings);

// Returns lines for the head of a run. A suite has a line if the rule selected its devices, or selected none although
// the machine has some: "  devices      1 of 4 for each case: pytest imports torch (--gpus 0: none)".
std::vector<std::string> describe_devices(const Machine& machine, const Plan& plan,
                                          const FoundDevices& devices);

// Warns about masks of the caller that name devices of this machine, if no case uses a device of their vendor.
void warn_of_unused_masks(const Machine& machine, const Plan& plan, std::vector<Warning>& warnings);

// ---- Missing devices ----
// Devices that the command line requests and the machine lacks are a failure of the machine (exit code 75). If only a
// suite requires them, its cases are skipped.

// The devices that the command line requests.
struct AskedDevices {
  bool backend = false;        // --backend
  std::optional<int> count{};  // --gpus, or the number that --devices implies
};

// A backend with too few devices.
struct DeviceShortage {
  std::string backend;
  int asked = 0;
  int present = 0;
  std::string why;  // the reason of the skips: "no_driver"; "" if only the number is too small
};

// Returns one entry for each backend with too few devices for the cases of the plan.
std::vector<DeviceShortage> device_shortages(const Plan& plan, const FoundDevices& devices,
                                             const AskedDevices& asked);

std::string requested(const DeviceShortage& shortage);  // "3 cuda devices requested"
std::string to_string(const DeviceShortage& shortage);  // "3 cuda devices requested, 2 present"

}  // namespace proctor
