// Merges runs that together have the whole of a plan into one run, as a journal, which can be read like that of any other
// run: the shards of the plan, and runs of what shards left (`run --resume`, `plan --rest`).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct MergeInput {
  std::string name;   // for messages: the run directory as typed
  std::string place;  // "shard-2/", "rest-1/": where its files are in the directory of the merged run
};

// Reads a run by its name.
using LoadRun = std::function<Result<ResolvedRun>(const std::string& name)>;

// Every run is read twice, one at a time: the memory that is needed grows with the cases of the plan and not with the
// number of its shards.
class Merge {
 public:
  // Reads each run. It refuses, and names: a run that is neither a shard nor what one left; runs of different plans, of
  // different stacks, or run under different rules; a shard that is missing or given twice; what a run left without that
  // run; a case that has an outcome twice, and cases that are not in the plan.
  static Result<Merge> of(const std::vector<std::string>& names, LoadRun load);
  ~Merge();
  Merge(Merge&&) noexcept;
  Merge& operator=(Merge&&) noexcept;

  const std::vector<MergeInput>& inputs() const;  // shards by their number, then the others as they began

  // Reads each run again, and passes the journal of the whole on. A run that has changed since is an error.
  //
  // Every case keeps its verdict, also those of a shard that was stopped or killed. Of a case without an outcome there
  // that another run has executed, that run is told alone. The log of a case is `place` with its old name; with several
  // hosts, a device is HOST/ID.
  Result<void> write(EventSink& journal) const;

 private:
  struct Parts;
  explicit Merge(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace proctor
