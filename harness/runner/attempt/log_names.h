// What the files of an attempt are called in the run directory, so that a person finds the one of a case:
//
//   logs/memory.xpu/Copy.UnalignedCopyIsByteExact.1.log
//   logs/tests/t-test_a.py-test_add-fp16.2.r3.log          second attempt of the third repetition
//   logs/collectives.none/AllReduce.Sums.1.rank2.log
//
// All frameworks and commands have this one scheme (docs/how-to/read-a-report.md). Cases that share a process share the
// log that is called after the first of them.
//
// The directory is what stands before the first `/` of the case's id, the name what follows it, with `-` in place of
// bytes that a shell or a file system treats specially. Names that would be equal, or longer than 150 bytes, have a
// hash of the id in them; one that is taken even so, as by a case whose id ends with that hash, has a number.
#pragma once

#include <map>
#include <set>
#include <string>

#include "harness/plan/plan.h"

namespace proctor {

class LogNames {
 public:
  LogNames() = default;
  explicit LogNames(const Plan& plan);

  // "memory.xpu/Copy.UnalignedCopyIsByteExact", without `logs/` and what belongs to an attempt.
  std::string stem(const std::string& case_id) const;

 private:
  std::string usual_stem(const std::string& case_id) const;

  std::set<std::string> shared_;                 // stems that several ids would have
  std::map<std::string, std::string> numbered_;  // stems of ids whose usual one is taken
};

}  // namespace proctor
