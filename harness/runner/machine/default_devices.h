// The devices of a suite whose `backend` is "auto": one rule for a command after `--`, the suites of proctor.toml,
// `init`, `exec` and CTest. The first of these lines that applies determines the vendor:
//
//   1. what is written: --gpus, --devices, the keys of the suite, the allocation of CTest. The vendor is that of the
//      library that the program needs, else that of the named devices, of the caller's mask, or of the machine
//   2. the caller's mask, if it names devices
//   3. a test program: the library that it links or opens (program_needs.h); none if it needs no such library
//   4. pytest: one device while it lists its tests; none if their modules import no module for GPUs
//   5. a script, another command, `exec`: one device
//
// Lines 4 and 5 take a vendor of which the machine has a discrete device: an integrated device is a default only by
// line 3. With discrete devices of both vendors they take none, and a warning names the option. In a Slurm job without a
// device they take none. A suite with ranks gets none by lines 2 and 5: each rank would need a device of its own, and
// the cases of a suite that asks for too many are skipped.
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

// What the rule reads of the machine and of the caller. No driver is asked.
struct DeviceSurroundings {
  std::vector<Backend> present;    // vendors, by device nodes or --sim
  std::vector<Backend> discrete;   // those of them with a device that is not integrated
  std::map<Backend, int> named{};  // by --devices: vendor -> number of devices
  std::map<Backend, std::string>
      masks{};  // of the caller, those that name devices: vendor -> "CUDA_VISIBLE_DEVICES=0"
  std::vector<Backend> hidden{};     // vendors whose devices the caller hides
  std::vector<Backend> allocated{};  // vendors of the devices that CTest has given to this test
  bool job_without_device = false;   // of Slurm: the devices that are here may be those of other jobs
  bool simulated = false;
};

struct DefaultDevices {
  Backend backend = Backend::kNone;
  int devices = 0;
  DevicesBy by = DevicesBy::kRule;
  std::string reason{};
  bool all = false;       // every device that the mask, --devices or CTest leaves, and not only one
  std::string warning{};  // what is to be written so that it gets some; "" = nothing
};

// `needed`: needed_backends() of the program; empty for a script.
Result<DefaultDevices> default_devices(const Suite& suite, SuiteRole role,
                                       const std::vector<NeededBackend>& needed,
                                       const DeviceSurroundings& around);

// Applies the rule to a suite of DevicesBy::kAuto, before it is listed. Leaves others alone.
Result<void> choose_devices(Machine& machine, SuiteRole role, const std::string& executable, Suite& suite,
                            std::vector<Warning>& warnings);

// Line 4, for a suite that is still DevicesBy::kAuto, after its tests were listed. True: it gets devices that its list
// has not seen.
bool confirm_devices(const Machine& machine, bool listed_with_devices, Suite& suite,
                     std::vector<Warning>& warnings);

// For people, in the head of a run, a line for each suite that somebody else than the user gave devices, or none although
// the machine has some: "  devices      1 of 4 for each case: pytest imports torch (--gpus 0: none)".
std::vector<std::string> describe_devices(const Machine& machine, const Plan& plan,
                                          const FoundDevices& devices);

// The caller's masks that name devices of this machine, if no case uses a device of their vendor.
void warn_of_unused_masks(const Machine& machine, const Plan& plan, std::vector<Warning>& warnings);

// The one rule for devices that are not here. What the command line asks for and the machine lacks is a trouble of the
// machine (exit 75); what only a suite needs is a reason to skip its cases.

// What the command line says of devices.
struct AskedDevices {
  bool backend = false;        // --backend
  std::optional<int> count{};  // --gpus, or the number that --devices implies
};

struct DeviceShortage {
  std::string backend;
  int asked = 0;
  int present = 0;
  std::string why;  // the reason of the skips: "no_driver"; "" where only the number is too small
};

// One for each backend of which the plan's cases need devices, and of which there are too few.
std::vector<DeviceShortage> device_shortages(const Plan& plan, const FoundDevices& devices,
                                             const AskedDevices& asked);

std::string requested(const DeviceShortage& shortage);  // "3 cuda devices requested"
std::string to_string(const DeviceShortage& shortage);  // "3 cuda devices requested, 2 present"

}  // namespace proctor
