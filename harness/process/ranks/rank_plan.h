// The plan for the supervisor of a case's ranks, in a file that the runner writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

// One rank.
struct RankSpec {
  // NAME=VALUE, the whole environment without the variables that the supervisor sets
  std::vector<std::string> env;
  std::string log;  // absolute path; the format is that of process/capture.h
};

// All ranks of a case.
struct RankPlan {
  std::vector<std::string> argv;  // of every rank; argv[0] without a slash is searched in PATH
  std::string rendezvous;         // the directory that all ranks share
  bool events = false;            // each rank gets PROCTOR_EVENTS_FD
  int skip_code = 0;              // the exit code of a skipped rank, in addition to 0; 0: none
  Milliseconds grace{10'000};     // time for the other ranks to end by themselves after one ended badly
  std::vector<RankSpec> ranks;
};

std::string to_text(const RankPlan& plan);
// Writes a new file, for the command of supervisor_command().
Result<void> write_rank_plan(const RankPlan& plan, const std::string& path);
// Returns the command that starts the ranks of the plan in `path`. `program` is the path of `proctor`.
std::vector<std::string> supervisor_command(const std::string& program, const std::string& path);
Result<RankPlan> parse_rank_plan(std::string_view text);

// Returns `env` of rank `rank` of `world`, with the variables of journal/child_protocol.h. Values under these
// names in `env` are dropped.
std::vector<std::string> rank_environment(std::vector<std::string> env, int rank, int world, int port,
                                          const std::string& rendezvous);

// Returns an unused TCP port of the loopback interface. For the next minute the kernel assigns this port to
// no program that binds to any free port, because one of its connections is in TIME_WAIT. A program that
// binds to the number with SO_REUSEADDR, as rendezvous servers do, gets it. Two runs therefore never get the
// same port.
Result<int> reserve_port();

}  // namespace proctor
