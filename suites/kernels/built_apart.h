// Builds modules in a second process first, because the compiler of a driver may end its process on a construct
// that it lacks. Checks of Level Zero use it. Example:
//
//   Module carry(const Context& context) {
//     return load_built_apart(context, "construct_carry", "OpIAddCarry", "SPIR-V specification, OpIAddCarry");
//   }
#pragma once

#include <string>
#include <vector>

#include "suites/accel/accel.h"

namespace proctor::accel {

// The result of a build in a second process.
struct Build {
  bool survived = false;  // the process did not end during the build
  bool ok = false;        // the module was built
  bool refused = false;   // the compiler ended the process or returned that it cannot build the module
  std::string end = {};   // the result if there is no module: "exit code 12", "signal 11", "ZE_RESULT_..."
  std::string log = {};
};

enum class WithLog { kNo, kYes };

// Builds the file kernels/NAME.spv in a second process. The file is damaged before: `damage` is "truncated",
// "garbage", "header", "bad_opcode", or "" for no damage. If the second process skips, the check skips.
Build build_apart(const std::string& name, const std::string& damage = {}, WithLog log = WithLog::kNo);

// Returns if the module can be built. If the compiler refuses it, warns with `source`, the end and the version of
// the driver, and ends the check as skip(unsupported:CONSTRUCT). A hang, a lost device and any other error fail
// the check.
void need_built_apart(const Context& context, const std::string& name, const std::string& construct,
                      const std::string& source);
// Calls need_built_apart() and then loads the module in this process.
Module load_built_apart(const Context& context, const std::string& name, const std::string& construct,
                        const std::string& source, const ModuleOptions& options = {});

}  // namespace proctor::accel
