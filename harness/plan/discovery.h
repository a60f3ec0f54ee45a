// Discovers the cases of a suite. The program of the suite lists them in a contained child process with a
// deadline. The kind of the suite defines the listing command and parses its output (frameworks/kind.h).
//
// If a list cannot be read completely, the suite becomes one failing case (unlisted_case()), or the plan is
// refused. Otherwise missing cases would look like a pass.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/frameworks/kind.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"

namespace proctor {

// A command that lists cases.
struct ListCommand {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env = {};  // added to the common environment of listing commands
  std::string directory = {};
  // option (Traits::list_file) for the list file; the runner appends the file name and adds the option to
  // `argv`
  std::string file_option = {};
  bool host_pids = false;  // copy of Suite::host_pids
};

// Runs the command contained and waits for its end. An Error is a failure of the machine.
using ListRunner = std::function<Result<ListOutput>(const ListCommand& command)>;

// Runs the command with devices of the suite's backend, because some programs list more cases if they see
// devices. Empty if there are no devices.
using DeviceListRunner = std::function<Result<ListOutput>(const Suite& suite, const ListCommand& command)>;

// The role of a suite's command, before it is started.
enum class SuiteRole { kTestProgram, kPytest, kCommand };
SuiteRole role_of(const Kind& kind);

// The functions that list the cases of suites.
struct Listers {
  ListRunner run;
  DeviceListRunner run_with_devices = {};
  std::string exec_options = {};  // options of `proctor exec` for the same devices: " --sim xpu:2x2"
  bool may_list_nothing = false;  // an empty list is not a mistake
  // Chooses the devices of a suite without configured devices before it is listed (DevicesBy::kAuto).
  std::function<Result<void>(Suite& suite, SuiteRole role, const std::string& executable,
                             std::vector<Warning>& warnings)>
      choose_devices = {};
  // Chooses them after the list, if only the list determines them. Returns true if the suite must be listed
  // again, with devices.
  std::function<bool(Suite& suite, std::vector<Warning>& warnings)> confirm_devices = {};
};

// Calls Listers::choose_devices. If it is not set, a suite has only its configured devices.
Result<void> choose_devices(const Listers& listers, SuiteRole role, const std::string& executable,
                            Suite& suite, std::vector<Warning>& warnings);

// Runs a listing command of `suite` as for a program of `kind`, with devices if the suite has some.
Result<ListOutput> run_listing_command(const Suite& suite, const Kind& kind,
                                       const std::vector<std::string>& argv, const Listers& listers);

// Returns the cases of `suite`, whose kind is known. Ids are unique. Policies are not filled in yet.
// `suite_index` becomes Case::suite. `listing` is the output of the listing command if it has run already.
// The function may complete settings of `suite` from the list, and warns about that.
Result<std::vector<Case>> discover(Suite& suite, std::size_t suite_index, const Listers& listers,
                                   const std::optional<ListOutput>& listing, std::vector<Warning>& warnings);

// Returns the case for a suite that could not be listed. Its outcome is error(discovery), with the output of
// the program.
Case unlisted_case(const Suite& suite, std::size_t suite_index, const Error& error);

// Returns the part of the ids before '/': "memory.xpu" for Proctor's own suites, the suite name for others.
std::string id_prefix(const Suite& suite);

}  // namespace proctor
