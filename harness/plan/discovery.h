// Finds the cases of a suite: the suite's own program lists them, in a contained child with its own deadline.
//
//   kind     list                                                 one case
//   proctor  CMD --proctor-list: events of type `case`            CMD --proctor-case=NAME
//   gtest    CMD --gtest_list_tests: stdout, never its stderr     CMD --gtest_filter=NAME
//   pytest   CMD -p proctor_pytest --proctor-list: `case` events  CMD -p proctor_pytest --proctor-case=NODEID
//   command  nothing to list                                      CMD
//
// A suite of kind gtest with process = "suite" is one case too, unless the program has our listener.
//
// When a list cannot be read completely, the plan is refused: a case that is silently missing would look
// green.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/plan/plan.h"

namespace proctor {

// How one listing command ended.
struct ListOutput {
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  bool timed_out = false;
  std::string spawn_error;        // "exec: No such file or directory"; empty when it ran
  std::string stdout_text;        // all of it
  bool stdout_truncated = false;  // it was more than could be kept
  std::string stderr_tail;
  std::vector<std::string> event_lines;  // from PROCTOR_EVENTS_FD, in order
  std::uint64_t events_too_long = 0;
};

// Runs `argv` contained and to its end. An Error means that the machine could not do it.
using ListRunner = std::function<Result<ListOutput>(const std::vector<std::string>& argv,
                                                    const std::map<std::string, std::string>& extra_env,
                                                    const std::string& directory)>;

// The same for a suite that may list more cases when it sees devices: it is shown some of its backend. Empty
// when there are none.
using DeviceListRunner =
    std::function<Result<ListOutput>(const Suite& suite, const std::vector<std::string>& argv)>;

// The cases of `suite`, whose kind is known. No two of them have the same id. Their policies are
// not filled in yet. `suite_index` goes into Case::suite. `listing` is the output of the listing
// command if it has been run already.
Result<std::vector<Case>> discover(const Suite& suite, std::size_t suite_index, const ListRunner& run,
                                   const std::optional<ListOutput>& listing = std::nullopt,
                                   const DeviceListRunner& run_with_devices = {});

// Whether the whole command is one case, so that there is nothing to list.
bool is_one_case(const Suite& suite);

// The command that lists the cases of a suite that is not one case.
std::vector<std::string> list_command(const Suite& suite);

// What stands before '/' in the ids: "memory.xpu" for our suites, the suite's name for foreign ones.
std::string id_prefix(const Suite& suite);

}  // namespace proctor
