// From a suite to its cases: the suite's own program lists them, in a contained child with its own deadline.
//
//   kind     list                                                 one case
//   proctor  CMD --proctor-list: events of type `case`            CMD --proctor-case=NAME
//   gtest    CMD --gtest_list_tests: stdout, never its stderr     CMD --gtest_filter=NAME
//   pytest   CMD -p proctor_pytest --proctor-list: `case` events  CMD -p proctor_pytest --proctor-case=NODEID
//   command  nothing to list                                      CMD
//
// Kind gtest with process = "suite" is one case too, unless the program has our listener.
//
// A list that cannot be read completely refuses the plan: a case that silently went
// missing would look like green.
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

// The same for a suite that may list other cases with devices than without: it sees some of its backend. May
// be empty: there are none.
using DeviceListRunner =
    std::function<Result<ListOutput>(const Suite& suite, const std::vector<std::string>& argv)>;

// The cases of `suite` (whose kind is known), without ids clashing inside it; policies are not filled in.
// `suite_index` goes into Case::suite. `listing`: output of the listing command when it has been run already.
Result<std::vector<Case>> discover(const Suite& suite, std::size_t suite_index, const ListRunner& run,
                                   const std::optional<ListOutput>& listing = std::nullopt,
                                   const DeviceListRunner& run_with_devices = {});

// Whether the whole command is one case, which nothing has to list.
bool is_one_case(const Suite& suite);

// What lists the cases of the others.
std::vector<std::string> list_command(const Suite& suite);

// The prefix of ids before '/': "memory.xpu" for proctor suites, the suite's name for foreign ones.
std::string id_prefix(const Suite& suite);

}  // namespace proctor
