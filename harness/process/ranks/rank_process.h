// One rank as its supervisor sees it: the process, and the pipes that it writes to.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/process/capture.h"
#include "harness/process/line_splitter.h"
#include "harness/process/ranks/rank_plan.h"

namespace proctor {

class RankProcess {
 public:
  enum Source { kOut, kErr, kEvents };
  // Called with a line that the rank wrote, without the newline.
  using OnLine = std::function<void(Source, std::string_view)>;

  RankProcess(std::string log, OnLine on_line);

  // Starts the rank in a process group of its own. Its descriptors are 0-2, the events, and those that the
  // supervisor itself inherited. Returns an errno value, or 0 if the rank runs.
  int start(const RankPlan& plan, const std::vector<std::string>& env);

  pid_t pid() const { return pid_; }
  const std::array<UniqueFd, 3>& pipes() const { return pipes_; }
  // Reads the available bytes, at most 64 KiB. Closes the pipe at end-of-file.
  void read(Source source);
  // Reads the rest of every pipe. For a rank that is dead.
  void read_rest();
  // SIGKILL to its process group.
  void kill() const;
  OutputInfo finish_log() { return log_.finish(); }

  // What the supervisor notes about it.
  std::optional<int> status;  // of waitpid, once it is reaped
  std::string leaves;         // how it said it would end
  bool killed = false;        // by the supervisor

 private:
  bool read_once(Source source);
  void take(Source source, std::string_view bytes);

  OnLine on_line_;
  Capture log_;
  pid_t pid_ = 0;
  std::array<UniqueFd, 3> pipes_;
  std::array<LineSplitter, 3> lines_;
};

}  // namespace proctor
