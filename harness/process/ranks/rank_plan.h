// The orders for the supervisor of a case's ranks, in a file that the runner writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

struct RankSpec {
  std::vector<std::string> env;  // NAME=VALUE, the whole environment without what the supervisor sets
  std::string log;               // absolute; written as process/capture.h says
};

struct RankPlan {
  std::vector<std::string> argv;  // of every rank; argv[0] is looked up in PATH when it has no slash
  std::string rendezvous;         // the directory that they share
  bool events = false;            // each rank gets PROCTOR_EVENTS_FD
  int skip_code = 0;              // the exit code of a rank that was skipped, besides 0; 0: none
  Milliseconds grace{10'000};     // the time in which the others must end by themselves after one ended badly
  std::vector<RankSpec> ranks;
};

std::string to_text(const RankPlan& plan);
// Writes a new file, for the command of supervisor_command().
Result<void> write_rank_plan(const RankPlan& plan, const std::string& path);
// The command that starts the ranks of the plan in `path`. `program` is the path of `proctor`.
std::vector<std::string> supervisor_command(const std::string& program, const std::string& path);
Result<RankPlan> parse_rank_plan(std::string_view text);

// `env` of rank `rank` of `world`, with the variables of journal/child_protocol.h. Values that `env` had under
// these names are dropped.
std::vector<std::string> rank_environment(std::vector<std::string> env, int rank, int world, int port,
                                          const std::string& rendezvous);

// A TCP port of the loopback interface that nobody uses.
// For the next minute the kernel does not give this port to a program that asks for any port, because a
// connection of it is in TIME_WAIT. A program that binds to its number with SO_REUSEADDR, as rendezvous
// servers do, gets it. So two runs never get the same port.
Result<int> reserve_port();

}  // namespace proctor
