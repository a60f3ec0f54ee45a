// Finds the cases of a suite: the suite's own program lists them, in a contained child with its own deadline.
// How it is asked, and what it prints, its kind knows (frameworks/kind.h).
//
// When a list cannot be read completely, the suite is one red case (unlisted_case()), or the plan is refused: a
// case that is silently missing would look green.
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

// A command that lists.
struct ListCommand {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env = {};  // besides what every listing gets
  std::string directory = {};
  std::string file_option =
      {};                  // Traits::list_file: the name of a file is added to it, and the whole to `argv`
  bool host_pids = false;  // as of its suite
};

// Runs it contained and to its end. An Error means that the machine could not do it.
using ListRunner = std::function<Result<ListOutput>(const ListCommand& command)>;

// The same for a suite that may list more cases when it sees devices: it is shown some of its backend. Empty
// when there are none.
using DeviceListRunner = std::function<Result<ListOutput>(const Suite& suite, const ListCommand& command)>;

// What kind of command a suite is, before it is started.
enum class SuiteRole { kTestProgram, kPytest, kCommand };
SuiteRole role_of(const Kind& kind);

// Who lists the cases of a suite.
struct Listers {
  ListRunner run;
  DeviceListRunner run_with_devices = {};
  std::string exec_options = {};  // with which `proctor exec` sees the same devices: " --sim xpu:2x2"
  bool may_list_nothing = false;  // a list without a case is no mistake
  // Determines the devices of a suite for which nobody wrote them, before it is listed (DevicesBy::kAuto).
  std::function<Result<void>(Suite& suite, SuiteRole role, const std::string& executable,
                             std::vector<Warning>& warnings)>
      choose_devices = {};
  // The same after the list, where only that determines them. True: it is to be listed again, with its devices.
  std::function<bool(Suite& suite, std::vector<Warning>& warnings)> confirm_devices = {};
};

// Calls Listers::choose_devices; without it, nothing but what is written gives a suite devices.
Result<void> choose_devices(const Listers& listers, SuiteRole role, const std::string& executable,
                            Suite& suite, std::vector<Warning>& warnings);

// Runs a listing command of `suite` as a program of `kind` is listed: with devices, where it gets some.
Result<ListOutput> run_listing_command(const Suite& suite, const Kind& kind,
                                       const std::vector<std::string>& argv, const Listers& listers);

// The cases of `suite`, whose kind is known. No two of them have the same id. Their policies are not filled in
// yet. `suite_index` goes into Case::suite. `listing` is the output of the listing command if it has been run
// already. May settle what only the list can tell of `suite`, and warn of it.
Result<std::vector<Case>> discover(Suite& suite, std::size_t suite_index, const Listers& listers,
                                   const std::optional<ListOutput>& listing, std::vector<Warning>& warnings);

// The case that stands for a suite that could not be listed, and why: error(discovery), with the program's words.
Case unlisted_case(const Suite& suite, std::size_t suite_index, const Error& error);

// What stands before '/' in the ids: "memory.xpu" for our suites, the suite's name for foreign ones.
std::string id_prefix(const Suite& suite);

}  // namespace proctor
